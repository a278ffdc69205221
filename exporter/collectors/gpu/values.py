"""GPUs: their values, the backend that read them, and the age of the data."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

from exporter.model.event import Event
from exporter.model.reading import Labeled, Labeled2, Labeled3

IDLE_MEMORY_BYTES = 64 * 1024 * 1024
"""What a driver may hold of a card that nobody uses, beside the part it calls reserved."""

EXPIRED = "expired"
"""Why a GPU is not up that nothing was read of for longer than the cache may serve."""

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
class MigInstance:
    """One slice of a GPU in MIG mode, as somebody can be given it."""

    gpu_instance: int
    compute_instance: int
    mig_uuid: str
    profile: str
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    activity_ratio: Labeled | None = None  # by unit, of its GPU instance


_IDENTITY = {"shown": "always"}
"""Metadata of a field that is shown for as long as the GPU is known."""

_LASTING = {"shown": "cached"}
"""Metadata of a field that does not move: shown while the cache lives."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as one pass read it; `None` is what the driver did not report.

    A field is named as its family without `hw_gpu_`. What a field declares says for how long the
    cache may show it; a field that declares nothing moves, and may expire sooner than the rest.
    """

    # -- identity ------------------------------------------------------------------------------
    index: int
    uuid: str
    name: str
    pci_bus_id: str | None = field(default=None, metadata=_IDENTITY)
    serial: str | None = field(default=None, metadata=_IDENTITY)
    architecture: str | None = field(default=None, metadata=_IDENTITY)
    compute_capability: str | None = field(default=None, metadata=_IDENTITY)
    vbios_version: str | None = field(default=None, metadata=_IDENTITY)
    board_part_number: str | None = field(default=None, metadata=_IDENTITY)
    numa_node: int | None = field(default=None, metadata=_IDENTITY)
    minor_number: int | None = field(default=None, metadata=_IDENTITY)
    vendor: str | None = field(default=None, metadata=_IDENTITY)  # nvidia, amd, intel, ascend
    # -- lasting: what a board can do ----------------------------------------------------------
    memory_total_bytes: int | None = field(default=None, metadata=_LASTING)
    bar1_memory_total_bytes: int | None = field(default=None, metadata=_LASTING)
    power_limit_watts: float | None = field(default=None, metadata=_LASTING)  # the enforced limit
    power_limit_range_watts: Labeled | None = field(
        default=None, metadata=_LASTING
    )  # min, max, default, requested
    temperature_threshold_celsius: Labeled | None = field(default=None, metadata=_LASTING)
    clock_max_hertz: Labeled | None = field(default=None, metadata=_LASTING)
    pcie_link_generation_max: int | None = field(default=None, metadata=_LASTING)
    pcie_link_width_max: int | None = field(default=None, metadata=_LASTING)
    persistence_mode: bool | None = field(default=None, metadata=_LASTING)
    compute_mode: str | None = field(default=None, metadata=_LASTING)
    gsp_enabled: bool | None = field(default=None, metadata=_LASTING)
    mig_enabled: bool | None = field(default=None, metadata=_LASTING)
    mig_mode_pending: bool | None = field(default=None, metadata=_LASTING)  # after the next reset
    ecc_enabled: bool | None = field(default=None, metadata=_LASTING)
    ecc_mode_pending: bool | None = field(default=None, metadata=_LASTING)  # likewise
    # -- moving: memory and engines ------------------------------------------------------------
    memory_used_bytes: int | None = None  # without the driver's reserved part where it says so
    memory_free_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    bar1_memory_used_bytes: int | None = None
    utilization_percent: float | None = None
    memory_controller_utilization_percent: float | None = None
    encoder_utilization_percent: float | None = None
    decoder_utilization_percent: float | None = None
    jpeg_utilization_percent: float | None = None
    ofa_utilization_percent: float | None = None
    activity_ratio: Labeled | None = None  # by unit
    pcie_profile_bytes_per_second: Labeled | None = None  # by direction
    nvlink_profile_bytes_per_second: Labeled | None = None
    # -- moving: heat, power, clocks -----------------------------------------------------------
    temperature_celsius: float | None = None
    memory_temperature_celsius: float | None = None
    thermal_margin_celsius: float | None = None
    thermal_margin_threshold_celsius: Labeled | None = None  # T.Limit margins, by threshold
    fan_speed_percent: Labeled | None = None  # by fan
    power_draw_watts: float | None = None
    power_average_watts: float | None = None
    energy_joules_total: float | None = None
    clock_hertz: Labeled | None = None
    performance_state: int | None = None
    throttle_active: Labeled | None = None  # by reason, 0 or 1
    throttle_seconds_total: Labeled | None = None
    # -- moving: errors and repair -------------------------------------------------------------
    ecc_errors_total: Labeled2 | None = None  # by error type and counter
    ecc_location_errors_total: Labeled3 | None = None  # the same by location
    sram_threshold_exceeded: bool | None = None
    sram_ecc_errors_total: Labeled2 | None = None  # uncorrected, by parity or SEC-DED, and counter
    sram_ecc_sources_total: Labeled | None = None  # uncorrected, aggregate, by unit
    channel_repair_pending: bool | None = None
    tpc_repair_pending: bool | None = None
    unrepairable_memory: bool | None = None
    remapped_rows_total: Labeled | None = None  # by error type
    row_remap_pending: bool | None = None
    row_remap_failed: bool | None = None
    row_remap_banks: Labeled | None = None  # by availability
    retired_pages_total: Labeled | None = None  # by cause
    retired_pages_pending: bool | None = None
    recovery_action: str | None = None
    inforom_valid: bool | None = None
    health: str | None = None  # what Ascend says of a chip: ok, warning, alarm, critical
    # -- moving: links -------------------------------------------------------------------------
    pcie_link_generation: int | None = None
    pcie_link_width: int | None = None
    pcie_replays_total: int | None = None
    pcie_receive_bytes_per_second: float | None = None
    pcie_transmit_bytes_per_second: float | None = None
    nvlink_up: Labeled | None = None  # by link, 0 or 1
    nvlink_errors_total: Labeled | None = None  # by error, summed over links
    nvlink_link_errors_total: Labeled2 | None = None  # by link and error
    nvlink_receive_bytes_total: int | None = None
    nvlink_transmit_bytes_total: int | None = None
    fabric_state: str | None = None
    fabric_healthy: bool | None = None
    fabric_condition: Labeled | None = None  # by health condition, 0 or 1
    fabric_clique: int | None = None
    fabric_cluster: str | None = None
    # -- moving: who is on it ------------------------------------------------------------------
    mig_instances: tuple[MigInstance, ...] | None = None
    processes: tuple[GpuProcess, ...] | None = None  # None: they cannot be seen
    unprinted: tuple[str, ...] | None = None  # what may be there and this backend cannot tell

    def with_identity_of(self, known: "Gpu") -> "Gpu":
        """Add what was known of the GPU's identity and is not reported now."""
        unsaid = [name for name in IDENTITY_FIELDS if getattr(self, name) is None]
        reported: dict[str, Any] = {name: getattr(known, name) for name in unsaid}
        return replace(self, **reported) if any(v is not None for v in reported.values()) else self

    @property
    def fabric_standing(self) -> str | None:
        """Say in a few words how it stands in the NVLink fabric; None for a GPU outside any."""
        if self.fabric_healthy is False:
            held = [name for name, holds in self.fabric_condition or () if holds]
            return ", ".join(held).replace("_", " ") or "unhealthy"
        return self.fabric_state and self.fabric_state.replace("_", " ")

    @property
    def is_used(self) -> bool | None:
        """Tell whether somebody computes on it; None when nothing that tells was said."""
        if self.processes is not None:
            return any(process.kind != "graphics" for process in self.processes)
        if self.utilization_percent or self._holds_memory:
            return True
        if self.memory_reserved_bytes is not None and self.memory_used_bytes is not None:
            return self.memory_used_bytes > IDLE_MEMORY_BYTES
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


def _names(*shown: str) -> tuple[str, ...]:
    return tuple(item.name for item in fields(Gpu) if item.metadata.get("shown") in shown)


_REQUIRED = ("index", "uuid", "name")
IDENTITY_FIELDS = (*_REQUIRED, *_names("always"))
LASTING_FIELDS = (*IDENTITY_FIELDS, *_names("cached"))


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
class GpuXid:
    """How often NVML reported this Xid for this GPU since the start, and when last.

    `last_at` is wall clock, seconds since the epoch.
    """

    uuid: str
    code: int
    count: int
    last_at: float


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
    xids: tuple[GpuXid, ...] = ()
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
