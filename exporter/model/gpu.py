"""GPUs: what a card said, which way it was asked, and how old the answer is."""

from dataclasses import dataclass, replace

DRIVERS_OWN_BYTES = 64 * 1024 * 1024
DRIVERS_OWN_SHARE = 0.01
"""Memory that an idle card shows as used: old drivers count what they reserve (under 1 %)."""


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """One process on a GPU; utilization is its share of the time since the pass before.

    `kind` is compute, graphics or mps; the instances are those of MIG.
    """

    pid: int
    kind: str
    used_memory_bytes: int | None = None
    sm_utilization_percent: float | None = None
    memory_utilization_percent: float | None = None
    encoder_utilization_percent: float | None = None
    decoder_utilization_percent: float | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as one pass read it; `None` is what the driver did not say.

    Identity (the first fields) is read once and kept; everything else moves and expires.
    """

    index: int
    uuid: str
    name: str
    # -- moving values -------------------------------------------------------------------------
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None  # without the driver's reserved part where it says so
    memory_free_bytes: int | None = None
    utilization_percent: float | None = None
    temperature_celsius: float | None = None
    power_draw_watts: float | None = None
    power_limit_watts: float | None = None  # the enforced limit
    processes: tuple[GpuProcess, ...] | None = None  # None: they cannot be seen

    @property
    def is_used(self) -> bool | None:
        """Whether somebody computes on it; None when nothing that tells was said."""
        if self.processes is not None:
            return any(process.kind != "graphics" for process in self.processes)
        if self.utilization_percent or self._holds_memory:
            return True
        return None if self.utilization_percent is None else False

    @property
    def _holds_memory(self) -> bool:
        if self.memory_used_bytes is None or self.memory_total_bytes is None:
            return False
        return (
            self.memory_used_bytes > DRIVERS_OWN_BYTES + DRIVERS_OWN_SHARE * self.memory_total_bytes
        )


@dataclass(frozen=True, slots=True)
class GpuState:
    """What is known of one GPU: the last good reading, and whether it still answers.

    `read_boottime` is when `gpu` was really read; `up` is False for a GPU that was there and is
    lost or unreadable; `stale` is True when the reading is served from the cache.
    """

    gpu: Gpu
    read_boottime: float
    up: bool = True
    reason: str | None = None
    stale: bool = False
    expired: bool = False  # only the identity in `gpu` is left
    dynamic_expires: float | None = None
    expires: float | None = None

    def at(self, boottime: float) -> "GpuState":
        """The state without what has expired at this boot time in seconds."""
        if self.expires is not None and boottime >= self.expires:
            return replace(
                self,
                gpu=_identity(self.gpu),
                up=False,
                expired=True,
                expires=None,
                dynamic_expires=None,
            )
        if self.dynamic_expires is not None and boottime >= self.dynamic_expires:
            return replace(self, gpu=_lasting(self.gpu), dynamic_expires=None)
        return self

    def next_expiry(self) -> float | None:
        """The boot time in seconds at which `at` will give something else, if ever."""
        moments = [moment for moment in (self.dynamic_expires, self.expires) if moment is not None]
        return min(moments, default=None)


def _identity(gpu: Gpu) -> Gpu:
    return Gpu(index=gpu.index, uuid=gpu.uuid, name=gpu.name)


def _lasting(gpu: Gpu) -> Gpu:
    """What does not move while a card is in use: the size of its memory and its limit."""
    return replace(
        _identity(gpu),
        memory_total_bytes=gpu.memory_total_bytes,
        power_limit_watts=gpu.power_limit_watts,
    )


@dataclass(frozen=True, slots=True)
class GpuBackend:
    """Which way the GPUs were read, and why not the better one.

    `backend` is nvml, nvidia-smi, cache, demo or none; `reason` is ok or one of the words of
    docs/troubleshooting.md. `nvml_up` is None where no driver is detected.
    """

    backend: str
    reason: str
    driver_version: str | None = None
    cuda_version: str | None = None
    nvml_up: bool | None = None


@dataclass(frozen=True, slots=True)
class Gpus:
    """All GPUs of the node, lost ones included, ordered by index."""

    backend: GpuBackend
    states: tuple[GpuState, ...] = ()

    def at(self, boottime: float) -> "Gpus":
        """The same GPUs without what has expired at this boot time in seconds."""
        states = tuple(state.at(boottime) for state in self.states)
        backend = self.backend
        if backend.backend == "cache" and all(state.expired for state in states):
            backend = replace(backend, backend="none")
        return replace(self, backend=backend, states=states)

    def next_expiry(self) -> float | None:
        """The boot time in seconds at which `at` will give something else, if ever."""
        expiries = [state.next_expiry() for state in self.states]
        return min((moment for moment in expiries if moment is not None), default=None)
