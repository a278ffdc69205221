"""Families that are one field of a GPU each: a row of the table below says all of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from exporter.exposition.family import Family, Kind, Sample
from exporter.exposition.gpu_labels import GPU_LABELS, gpu_label_values, states
from exporter.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Row:
    """A field of `Gpu` and the family that says it: `hw_gpu_` and the field's name.

    `labels` are those behind the labels of the GPU. With `words` the field is one of them and
    the family is a state set: 1 for what it is, 0 for the others. `without_zeros` leaves out
    what there is none of.
    """

    field: str
    help: str
    labels: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    without_zeros: bool = False

    def family(self) -> Family:
        """The family of this row; a name that ends in `_total` is a counter."""
        kind = Kind.COUNTER if self.field.endswith("_total") else Kind.GAUGE
        labels = (*GPU_LABELS, *self.labels)
        return Family(f"hw_gpu_{self.field}", self.help, kind, labels, self._samples())

    def _samples(self) -> Callable[[Snapshot], Iterable[Sample]]:
        rows_of = _state_set(self.words) if self.words else _rows

        def samples(snapshot: Snapshot) -> Iterable[Sample]:
            for state in states(snapshot):
                value = getattr(state.gpu, self.field)
                if value is not None:
                    gpu = gpu_label_values(state.gpu)
                    for *labels, number in rows_of(value):
                        if number or not self.without_zeros:
                            yield (*gpu, *labels), number

        return samples


def _rows(value: Any) -> Iterable[tuple[Any, ...]]:  # noqa: ANN401 - any type a field may have
    if isinstance(value, str):
        return ((value, 1),)
    return value if isinstance(value, tuple) else ((value,),)


def _state_set(words: tuple[str, ...]) -> Callable[[str], Iterable[tuple[str, int]]]:
    def rows(value: str) -> Iterable[tuple[str, int]]:
        known = words if value in words else (*words, value)
        return ((word, int(word == value)) for word in known)

    return rows


MEMORY = (
    Row(
        "memory_reserved_bytes", "Framebuffer (FB) memory reserved by the driver and the firmware."
    ),
    Row(
        "memory_controller_utilization_percent",
        "Memory utilization: share of the driver's last sample period in which memory was "
        "read or written.",
    ),
    Row(
        "bar1_memory_total_bytes",
        "BAR1 memory: size of the window through which PCIe maps the GPU's memory.",
    ),
    Row("bar1_memory_used_bytes", "BAR1 memory in use (mapped)."),
)
ENGINES = (
    Row("encoder_utilization_percent", "Video encoder (NVENC) utilization."),
    Row("decoder_utilization_percent", "Video decoder (NVDEC) utilization."),
    Row("jpeg_utilization_percent", "JPEG decoder (NVJPG) utilization."),
    Row("ofa_utilization_percent", "Optical flow accelerator (OFA) utilization."),
)
THERMAL = (
    Row("memory_temperature_celsius", "Memory (HBM or GDDR) temperature."),
    Row(
        "temperature_threshold_celsius",
        "Temperature thresholds: shutdown, slowdown, max_operating, memory_max, target.",
        ("threshold",),
    ),
    Row(
        "thermal_margin_celsius",
        "Thermal margin (T.Limit): degrees left before the clocks are throttled.",
    ),
    Row("fan_speed_percent", "Requested fan speed, in percent of the maximum speed.", ("fan",)),
)
POWER = (
    Row("power_average_watts", "Average power usage over the last second."),
    Row(
        "power_limit_range_watts",
        "Power management limits: min, max, default, and the requested one.",
        ("limit",),
    ),
    Row("energy_joules_total", "Total energy consumption since the driver was loaded."),
)
CLOCKS = (
    Row("clock_hertz", "Current clocks: graphics, sm, memory, video.", ("clock",)),
    Row("clock_max_hertz", "Maximum clocks.", ("clock",)),
    Row("performance_state", "Performance state (P-state): 0 is the fastest, 15 the slowest."),
    Row(
        "throttle_active",
        "Clocks event (throttle) reason: 1 while it throttles the clocks, else 0.",
        ("reason",),
    ),
    Row(
        "throttle_seconds_total",
        "Time throttled by clocks event (throttle) reason since the driver was loaded "
        "(violation time).",
        ("reason",),
    ),
)
ECC = (
    Row("ecc_enabled", "ECC mode: 1 when ECC protection of the memory is enabled."),
    Row(
        "ecc_errors_total",
        "ECC errors, corrected and uncorrected: volatile since the driver was loaded, "
        "aggregate over the life of the board.",
        ("error_type", "counter"),
    ),
    Row(
        "ecc_location_errors_total",
        "ECC errors by location on the GPU: device memory, SRAM, caches.",
        ("error_type", "counter", "location"),
    ),
    Row(
        "sram_threshold_exceeded",
        "Whether uncorrectable SRAM ECC errors exceeded the threshold for replacing the "
        "board (RMA).",
    ),
)
REPAIR = (
    Row("remapped_rows_total", "Remapped rows of memory (row remapping).", ("error_type",)),
    Row("row_remap_pending", "Row remapping pending: a row is replaced at the next GPU reset."),
    Row("row_remap_failed", "Row remapping failed: a row could not be replaced."),
    Row(
        "row_remap_banks",
        "Row remapper histogram: memory banks by remaining spare rows (max, high, partial, "
        "low, none); zeros are not shown.",
        ("availability",),
        without_zeros=True,
    ),
    Row("retired_pages_total", "Retired pages of memory (page retirement).", ("cause",)),
    Row(
        "retired_pages_pending", "Page retirement pending: a page is retired at the next GPU reset."
    ),
    Row(
        "recovery_action",
        "GPU recovery action the driver asks for; 1 for the action, 0 for the others.",
        ("action",),
        ("none", "reset", "reboot", "drain_p2p", "drain_and_reset", "recover_imex"),
    ),
)
PCIE = (
    Row("pcie_link_generation", "Current PCIe link generation."),
    Row("pcie_link_generation_max", "Maximum PCIe link generation of this GPU in this slot."),
    Row("pcie_link_width", "Current PCIe link width, in lanes."),
    Row("pcie_link_width_max", "Maximum PCIe link width of this GPU in this slot, in lanes."),
    Row("pcie_replays_total", "PCIe replay counter: packets that were retransmitted."),
    Row("pcie_receive_bytes_per_second", "PCIe RX throughput, sampled over 20 ms."),
    Row("pcie_transmit_bytes_per_second", "PCIe TX throughput, sampled over 20 ms."),
)
NVLINK = (
    Row(
        "nvlink_up",
        "NVLink state: one sample for all links while they are active, and one for each "
        "that is not; every link with gpu.nvlink_per_link.",
        ("link",),
    ),
    Row(
        "nvlink_errors_total",
        "NVLink errors of all links together: CRC, replay, recovery.",
        ("error",),
    ),
    Row(
        "nvlink_link_errors_total",
        "NVLink errors of each link: CRC, replay, recovery.",
        ("link", "error"),
    ),
    Row("nvlink_receive_bytes_total", "NVLink RX data (payload) over all links."),
    Row("nvlink_transmit_bytes_total", "NVLink TX data (payload) over all links."),
    Row(
        "fabric_state",
        "NVLink fabric registration state (not_started, in_progress, completed); 1 for the "
        "current one.",
        ("state",),
    ),
    Row("fabric_healthy", "NVLink fabric health: whether the GPU's part of the fabric is healthy."),
)
PROFILING = (
    Row(
        "activity_ratio",
        "GPM activity (DCGM profiling): share of the interval in which the unit was active.",
        ("unit",),
    ),
    Row(
        "pcie_profile_bytes_per_second",
        "GPM (DCGM profiling) PCIe throughput over the interval, headers included.",
        ("direction",),
    ),
    Row(
        "nvlink_profile_bytes_per_second",
        "GPM (DCGM profiling) NVLink throughput over the interval, headers included.",
        ("direction",),
    ),
)
MODES = (
    Row("mig_enabled", "MIG mode: 1 when Multi-Instance GPU is enabled."),
    Row(
        "persistence_mode",
        "Persistence mode: 1 when the driver keeps the GPU initialized while it is unused.",
    ),
    Row(
        "compute_mode",
        "Compute mode (default, exclusive_process, prohibited); 1 for the current one.",
        ("mode",),
    ),
    Row("gsp_enabled", "GSP firmware: 1 when driver tasks run on the GPU System Processor."),
)

ROWS = (
    *MEMORY,
    *ENGINES,
    *THERMAL,
    *POWER,
    *CLOCKS,
    *ECC,
    *REPAIR,
    *PCIE,
    *NVLINK,
    *PROFILING,
    *MODES,
)
FAMILIES = tuple(row.family() for row in ROWS)
