"""GPUs: their values, the backend that read them, and the age of the data."""

from exporter.collectors.gpu.gpu import IDENTITY_FIELDS, LASTING_FIELDS, Gpu
from exporter.collectors.gpu.parts import GpuProcess, MigInstance
from exporter.collectors.kernel_log.values import XidCount
from exporter.model.event import Event
from exporter.record import dataclass, replace

__all__ = [
    "Gpu",
    "GpuBackend",
    "GpuProcess",
    "GpuState",
    "Gpus",
    "MigInstance",
]

EXPIRED = "expired"
"""Why a GPU is not up that nothing was read of for longer than the cache may serve."""


@dataclass(frozen=True, slots=True)
class GpuState:
    """What is known of one GPU: the last good reading, and whether it still answers.

    `read_boottime` is when `gpu` was really read; `up` is False for a GPU that was there and is
    lost or unreadable; `stale` is True when the reading is served from the cache; one that is
    `suspended` sleeps to save power: it is well as far as known, and is asked for nothing.
    """

    gpu: Gpu
    read_boottime: float
    up: bool = True
    reason: str | None = None
    stale: bool = False
    expired: bool = False  # only the identity in `gpu` is left
    suspended: bool = False
    dynamic_expires: float | None = None
    expires: float | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether its values were read lately: neither from the cache nor expired."""
        return not self.stale and not self.expired

    @property
    def is_unread(self) -> bool:
        """Whether it counts as up although nothing is known of it now."""
        return self.up and not self.is_fresh and not self.suspended

    def at(self, boottime: float) -> "GpuState":
        """Drop what has expired at this boot time in seconds."""
        if self.expires is not None and boottime >= self.expires:
            return replace(
                self,
                gpu=_only(self.gpu, IDENTITY_FIELDS),
                up=self.suspended,
                reason=self.reason if self.suspended or self.reason else EXPIRED,
                expired=True,
                expires=None,
                dynamic_expires=None,
            )
        if self.dynamic_expires is not None and boottime >= self.dynamic_expires:
            return replace(self, gpu=_only(self.gpu, LASTING_FIELDS), dynamic_expires=None)
        return self

    def asleep(self) -> "GpuState":
        """Mark the GPU suspended: what moved when it was awake says nothing about it now."""
        return replace(
            self,
            gpu=_only(self.gpu, LASTING_FIELDS),
            up=True,
            reason=None,
            stale=True,
            suspended=True,
        )

    def next_expiry(self) -> float | None:
        """Give the boot time in seconds at which `at` will give something else, if ever."""
        moments = [moment for moment in (self.dynamic_expires, self.expires) if moment is not None]
        return min(moments, default=None)


def _only(gpu: Gpu, names: tuple[str, ...]) -> Gpu:
    return Gpu(**{name: getattr(gpu, name) for name in names})


@dataclass(frozen=True, slots=True)
class GpuBackend:
    """Which way the GPUs were read, and why not the better one.

    `backend` is nvml, nvidia-smi, cache, demo or none, of another vendor its driver or program;
    `reason` is ok or one of the words of docs/troubleshooting.md. `nvml_up` is None where no
    driver of NVIDIA is detected. `tried` is False for a failure that was said before, and that no
    further try has confirmed since.
    """

    backend: str
    reason: str
    driver_version: str | None = None
    cuda_version: str | None = None
    nvml_up: bool | None = None
    tried: bool = True


@dataclass(frozen=True, slots=True)
class DisabledCall:
    """A call of the library that crashed it too often and is not made at present.

    `index` is the GPU it is not made on; without it, it is not made on any.
    """

    call: str
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Gpus:
    """All GPUs of the node, lost ones included, ordered by index.

    `backend` is about those of NVIDIA; `others` are the backends of other vendors found here.
    """

    backend: GpuBackend
    states: tuple[GpuState, ...] = ()
    xids: tuple[XidCount, ...] = ()  # that NVML has reported since the start, by UUID
    events: tuple[Event, ...] = ()  # the latest Xids, oldest first
    probe_restarts: int | None = None
    releases: int = 0  # requests to let go of the GPUs, since the start
    release_overdue: bool = False  # let go of for longer than one request may ask for
    disabled_calls: tuple[DisabledCall, ...] = ()
    others: tuple[GpuBackend, ...] = ()

    @property
    def backends(self) -> tuple[GpuBackend, ...]:
        """All backends; that of NVIDIA is left out where another vendor has the only driver."""
        is_nvidia_here = self.backend.reason != "no_driver" or not self.others
        return (self.backend, *self.others) if is_nvidia_here else self.others

    def at(self, boottime: float) -> "Gpus":
        """Drop what has expired at this boot time in seconds."""
        states = tuple(state.at(boottime) for state in self.states)
        backend = self.backend
        if backend.backend == "cache" and all(
            state.expired for state in states if state.gpu.vendor == "nvidia"
        ):
            backend = replace(backend, backend="none")
        return replace(self, backend=backend, states=states)

    def next_expiry(self) -> float | None:
        """Give the boot time in seconds at which `at` will give something else, if ever."""
        expiries = [state.next_expiry() for state in self.states]
        return min((moment for moment in expiries if moment is not None), default=None)
