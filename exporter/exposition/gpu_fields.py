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
    Row("memory_reserved_bytes", "Memory that the driver and the firmware keep for themselves."),
    Row(
        "memory_controller_utilization_percent",
        "Share of the driver's last sample period in which memory was read or written.",
    ),
    Row("bar1_memory_total_bytes", "Size of the window through which the bus sees the memory."),
    Row("bar1_memory_used_bytes", "Part of that window that is mapped."),
)
ENGINES = (
    Row("encoder_utilization_percent", "Use of the video encoders."),
    Row("decoder_utilization_percent", "Use of the video decoders."),
    Row("jpeg_utilization_percent", "Use of the JPEG decoders."),
    Row("ofa_utilization_percent", "Use of the optical-flow engines."),
)
THERMAL = (
    Row("memory_temperature_celsius", "Temperature of the memory."),
    Row(
        "temperature_threshold_celsius",
        "Temperatures at which the board acts (shutdown, slowdown, max_operating, memory_max, "
        "target).",
        ("threshold",),
    ),
    Row("thermal_margin_celsius", "How much hotter it may get before the clocks are lowered."),
    Row("fan_speed_percent", "Speed the fan is asked for, of its full speed.", ("fan",)),
)
POWER = (
    Row("power_average_watts", "Power drawn on average over the last second."),
    Row(
        "power_limit_range_watts",
        "Limits of the power limit (min, max, default), and the one asked for (requested).",
        ("limit",),
    ),
    Row("energy_joules_total", "Energy drawn since the driver was loaded."),
)
CLOCKS = (
    Row("clock_hertz", "Clocks now.", ("clock",)),
    Row("clock_max_hertz", "Highest clocks of the board.", ("clock",)),
    Row("performance_state", "Performance state: 0 is the fastest, 15 the slowest."),
    Row("clock_limit_active", "Whether this holds the clocks down now.", ("reason",)),
    Row(
        "clock_limit_seconds_total",
        "How long this has held the clocks down since the driver was loaded.",
        ("reason",),
    ),
)
ECC = (
    Row("ecc_enabled", "Whether memory errors are found and corrected."),
    Row(
        "ecc_errors_total",
        "Memory errors since the driver was loaded (volatile), or of the board's whole life "
        "(aggregate).",
        ("error_type", "counter"),
    ),
    Row(
        "ecc_location_errors_total",
        "The same by the part of the chip.",
        ("error_type", "counter", "location"),
    ),
    Row("sram_threshold_exceeded", "Whether SRAM had so many errors that the board should go."),
)
REPAIR = (
    Row("remapped_rows_total", "Rows of memory that were replaced.", ("error_type",)),
    Row("row_remap_pending", "Whether a row waits for the next reset to be replaced."),
    Row("row_remap_failed", "Whether a row could not be replaced."),
    Row(
        "row_remap_banks",
        "Banks of memory by the spare rows they have left (max, high, partial, low, none); "
        "without those that no bank is in.",
        ("availability",),
        without_zeros=True,
    ),
    Row("retired_pages_total", "Pages of memory that are not used any more.", ("cause",)),
    Row("retired_pages_pending", "Whether a page waits for the next reset to be retired."),
    Row(
        "recovery_action",
        "What the driver wants done to the GPU; 1 for the action, 0 for the others.",
        ("action",),
        ("none", "reset", "reboot", "drain_p2p", "drain_and_reset", "recover_imex"),
    ),
)
PCIE = (
    Row("pcie_link_generation", "Generation the PCIe link runs at."),
    Row("pcie_link_generation_max", "Highest generation of the GPU in this slot."),
    Row("pcie_link_width", "Lanes of the PCIe link in use."),
    Row("pcie_link_width_max", "Most lanes of the GPU in this slot."),
    Row("pcie_replays_total", "Packets that had to be sent again over PCIe."),
    Row("pcie_receive_bytes_per_second", "Bytes received over PCIe, measured for 20 ms."),
    Row("pcie_transmit_bytes_per_second", "Bytes sent over PCIe, measured for 20 ms."),
)
NVLINK = (
    Row(
        "nvlink_up",
        "Whether all links are active, and each one that is not; every link with "
        "gpu.nvlink_per_link.",
        ("link",),
    ),
    Row("nvlink_errors_total", "Errors of all links together.", ("error",)),
    Row("nvlink_link_errors_total", "Errors of each link.", ("link", "error")),
    Row("nvlink_receive_bytes_total", "Bytes received over all links, without headers."),
    Row("nvlink_transmit_bytes_total", "Bytes sent over all links, without headers."),
    Row(
        "fabric_state",
        "How far the GPU has come in joining its NVLink fabric (not_started, in_progress, "
        "completed); 1 for the state it is in.",
        ("state",),
    ),
    Row("fabric_healthy", "Whether the GPU's part of the fabric is healthy."),
)
PROFILING = (
    Row("activity_ratio", "Share of the interval in which the unit worked.", ("unit",)),
    Row(
        "pcie_profile_bytes_per_second",
        "Bytes over PCIe in the interval, headers included.",
        ("direction",),
    ),
    Row(
        "nvlink_profile_bytes_per_second",
        "Bytes over all NVLinks in the interval, headers included.",
        ("direction",),
    ),
)
MODES = (
    Row("mig_enabled", "Whether the GPU is cut into instances."),
    Row("persistence_mode", "Whether the driver keeps the GPU initialised while it is unused."),
    Row(
        "compute_mode",
        "Who may compute on it (default, exclusive_process, prohibited); 1 for the mode it is in.",
        ("mode",),
    ),
    Row("gsp_enabled", "Whether firmware on the GPU does the driver's work."),
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
