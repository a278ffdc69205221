"""What `nvidia-smi -q -x` reports of a GPU: one row for each element, and the field it becomes.

Elements as drivers 390 to 615 write them; where one was renamed, the newer name comes first.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from exporter.collectors.gpu.words import REASON_BITS
from exporter.collectors.pcie.address import pci_address
from exporter.model.label import clean_text
from exporter.record import dataclass

MIB = 1024 * 1024
MEGAHERTZ = 1_000_000
MICROSECONDS_PER_SECOND = 1_000_000

ABSENT = {
    "": "not_said",
    "n/a": "not_supported",
    "not available": "not_supported",
    "not supported": "not_supported",
    "requested functionality has been deprecated": "deprecated",
    "unknown error": "unknown_error",
    "gpu requires reset": "reset_required",
    "reset required": "reset_required",
    "gpu is lost": "gpu_lost",
    "insufficient permissions": "no_permission",
    "no data": "no_data",
    "not found": "not_found",
    "err!": "unknown_error",
    "unknown": "unknown_error",
}
"""What nvidia-smi writes where it has no value, without brackets, in lower case; and the reason."""

_NUMBER = re.compile(r"(-?[0-9]{1,20}(?:[.,][0-9]{1,9})?)(?: ?[A-Za-z%()]{1,8})?")
_BOARD_PART = re.compile(r"[0-9]{3}-[0-9A-Z]{4,8}-[0-9A-Z-]{1,16}")
_RECOVERY = {
    "none": "none",
    "reset": "reset",
    "gpu reset": "reset",
    "reboot": "reboot",
    "node reboot": "reboot",
    "drain p2p": "drain_p2p",
    "drain and reset": "drain_and_reset",
    "recover imex domain": "recover_imex",
    "recover imex": "recover_imex",
    "bus reset": "bus_reset",
    "system reboot": "reboot",
}
_ARCHITECTURES = {"Ada Lovelace": "Ada"}

Convert = Callable[[str], Any]
"""Converts a cell that has a value; None if the value is impossible."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One field, or with `labels` one number of it: the paths it may stand at, newest first."""

    field: str
    paths: tuple[str, ...]
    convert: Convert
    labels: tuple[str, ...] = ()


def absence(cell: str) -> str | None:
    """Name the reason why a cell has no value, in one word; None for a cell with a value."""
    return ABSENT.get(clean_text(cell).strip("[]").strip().lower())


def number(cell: str) -> float | None:
    """Read the number of a cell, decimal comma and unit tolerated; None for everything else."""
    if absence(cell) is not None:
        return None
    match = _NUMBER.fullmatch(cell.strip())
    return float(match[1].replace(",", ".")) if match else None


def whole(cell: str) -> int | None:
    """Read the whole number of a cell."""
    found = number(cell)
    return None if found is None else round(found)


def mib(cell: str) -> int | None:
    """Read the bytes of a cell in MiB."""
    found = number(cell)
    return None if found is None else round(found * MIB)


def _hertz(cell: str) -> float | None:
    """Read the hertz of a cell in megahertz."""
    found = number(cell)
    return None if found is None else found * MEGAHERTZ


def _seconds(cell: str) -> float | None:
    """Read the seconds of a cell in microseconds."""
    found = number(cell)
    return None if found is None else found / MICROSECONDS_PER_SECOND


def word(words: dict[str, Any]) -> Convert:
    """Make the conversion that looks the cell up in these words, in lower case."""
    return lambda cell: words.get(cell.lower())


_yes = word({"enabled": True, "disabled": False, "yes": True, "no": False, "1": True, "0": False})


def _architecture(cell: str) -> str:
    name = clean_text(cell)
    return _ARCHITECTURES.get(name, name)


def _performance_state(cell: str) -> int | None:
    return whole(cell[1:]) if cell[:1] in ("P", "p") else None


def _board_part(cell: str) -> str | None:
    """Older drivers print the part number of the board where newer ones print the chip's."""
    return clean_text(cell) if _BOARD_PART.fullmatch(cell) else None


def _named(*names: str) -> dict[str, str]:
    return dict(zip(names, names, strict=True))


def _each(field: str, names: Mapping[str, str], convert: Convert, *paths: str) -> Iterator[Cell]:
    """Yield the cell of each label; `{}` in a path is how nvidia-smi names the label."""
    for label, name in names.items():
        yield Cell(field, tuple(path.format(name) for path in paths), convert, (label,))


_THRESHOLDS = {
    "shutdown": "max",
    "slowdown": "slow",
    "max_operating": "max_gpu",
    "memory_max": "max_mem",
}
_CLOCKS = _named("graphics", "sm") | {"memory": "mem", "video": "video"}
_COMPUTE_MODES = _named("default", "exclusive_thread", "exclusive_process", "prohibited")
_REASONS = _named(*REASON_BITS) | {"display_clock_setting": "display_clocks_setting"}
_COUNTED_REASONS = {
    "sw_power_cap": "sw_power_cap",
    "sync_boost": "sync_boost",
    "sw_thermal_slowdown": "sw_therm_slowdown",
    "hw_thermal_slowdown": "hw_therm_slowdown",
    "hw_power_brake_slowdown": "hw_power_brake",
}
_POWER = ("gpu_power_readings", "power_readings")
_LINK = "pci/pci_gpu_link_info"


def _power(*names: str) -> tuple[str, ...]:
    return tuple(f"{group}/{name}" for name in names for group in _POWER)


CELLS = (
    Cell("pci_bus_id", ("pci/pci_bus_id",), pci_address),
    Cell("serial", ("serial",), clean_text),
    Cell("architecture", ("product_architecture",), _architecture),
    Cell("vbios_version", ("vbios_version",), clean_text),
    Cell("board_part_number", ("board_part_number", "gpu_part_number"), _board_part),
    Cell("minor_number", ("minor_number",), whole),
    Cell("memory_total_bytes", ("fb_memory_usage/total",), mib),
    Cell("memory_used_bytes", ("fb_memory_usage/used",), mib),
    Cell("memory_free_bytes", ("fb_memory_usage/free",), mib),
    Cell("memory_reserved_bytes", ("fb_memory_usage/reserved",), mib),
    Cell("bar1_memory_total_bytes", ("bar1_memory_usage/total",), mib),
    Cell("bar1_memory_used_bytes", ("bar1_memory_usage/used",), mib),
    Cell("utilization_percent", ("utilization/gpu_util",), number),
    Cell("memory_controller_utilization_percent", ("utilization/memory_util",), number),
    *(
        Cell(f"{engine}_utilization_percent", (f"utilization/{engine}_util",), number)
        for engine in ("encoder", "decoder", "jpeg", "ofa")
    ),
    Cell("temperature_celsius", ("temperature/gpu_temp",), number),
    Cell("memory_temperature_celsius", ("temperature/memory_temp",), number),
    Cell("thermal_margin_celsius", ("temperature/gpu_temp_tlimit",), number),
    *_each(
        "temperature_threshold_celsius",
        {label: f"gpu_temp_{name}_threshold" for label, name in _THRESHOLDS.items()}
        | {"target": "gpu_target_temperature"},
        number,
        "temperature/{}",
    ),
    *_each(
        "thermal_margin_threshold_celsius",
        _THRESHOLDS,
        number,
        "temperature/gpu_temp_{}_tlimit_threshold",
    ),
    Cell("fan_speed_percent", ("fan_speed",), number, ("0",)),
    # Like NVML: the average over a second where the board measures it, else the last sample.
    Cell(
        "power_draw_watts", _power("power_draw", "average_power_draw", "instant_power_draw"), number
    ),
    Cell("power_average_watts", _power("average_power_draw"), number),
    Cell("power_limit_watts", _power("current_power_limit", "enforced_power_limit"), number),
    *_each(
        "power_limit_range_watts",
        _named("min", "max", "default"),
        number,
        *_power("{}_power_limit"),
    ),
    Cell(
        "power_limit_range_watts",
        ("gpu_power_readings/requested_power_limit", "power_readings/power_limit"),
        number,
        ("requested",),
    ),
    *_each("clock_hertz", _CLOCKS, _hertz, "clocks/{}_clock"),
    *_each("clock_max_hertz", _CLOCKS, _hertz, "max_clocks/{}_clock"),
    Cell("performance_state", ("performance_state",), _performance_state),
    *_each(
        "throttle_active",
        _REASONS,
        word({"active": 1, "not active": 0}),
        "clocks_event_reasons/clocks_event_reason_{}",
        "clocks_throttle_reasons/clocks_throttle_reason_{}",
    ),
    *_each(
        "throttle_seconds_total",
        _COUNTED_REASONS,
        _seconds,
        "clocks_event_reasons_counters/clocks_event_reasons_counters_{}",
    ),
    Cell("ecc_enabled", ("ecc_mode/current_ecc",), _yes),
    Cell("ecc_mode_pending", ("ecc_mode/pending_ecc",), _yes),
    *(
        Cell(
            "sram_ecc_errors_total",
            (f"ecc_errors/{counter}/sram_uncorrectable_{kind}",),
            whole,
            (f"uncorrected_{kind}", counter),
        )
        for counter in ("volatile", "aggregate")
        for kind in ("parity", "secded")
    ),
    *_each(
        "sram_ecc_sources_total",
        _named("l2", "sm", "microcontroller", "pcie", "other"),
        whole,
        "ecc_errors/aggregate_uncorrectable_sram_sources/sram_{}",
    ),
    *(
        Cell(field, (f"ecc_errors/{field}",), _yes)
        for field in ("channel_repair_pending", "tpc_repair_pending", "unrepairable_memory")
    ),
    Cell("sram_threshold_exceeded", ("ecc_errors/aggregate/sram_threshold_exceeded",), _yes),
    *_each(
        "remapped_rows_total",
        {"corrected": "corr", "uncorrected": "unc"},
        whole,
        "remapped_rows/remapped_row_{}",
    ),
    Cell("row_remap_pending", ("remapped_rows/remapped_row_pending",), _yes),
    Cell("row_remap_failed", ("remapped_rows/remapped_row_failure",), _yes),
    *_each(
        "row_remap_banks",
        _named("max", "high", "partial", "low", "none"),
        whole,
        "remapped_rows/row_remapper_histogram/row_remapper_histogram_{}",
    ),
    *_each(
        "retired_pages_total",
        {"single_bit": "multiple_single_bit", "double_bit": "double_bit"},
        whole,
        "retired_pages/{}_retirement/retired_count",
    ),
    Cell(
        "retired_pages_pending",
        ("retired_pages/pending_retirement", "retired_pages/pending_blacklist"),
        _yes,
    ),
    Cell("recovery_action", ("gpu_recovery_action",), word(_RECOVERY)),
    Cell("pcie_link_generation", (f"{_LINK}/pcie_gen/current_link_gen",), whole),
    Cell("pcie_link_generation_max", (f"{_LINK}/pcie_gen/max_link_gen",), whole),
    Cell("pcie_link_width", (f"{_LINK}/link_widths/current_link_width",), whole),
    Cell("pcie_link_width_max", (f"{_LINK}/link_widths/max_link_width",), whole),
    Cell("pcie_replays_total", ("pci/replay_counter",), whole),
    Cell("mig_mode_pending", ("mig_mode/pending_mig",), _yes),
    Cell("mig_enabled", ("mig_mode/current_mig",), _yes),
    Cell("persistence_mode", ("persistence_mode",), _yes),
    Cell("compute_mode", ("compute_mode",), word(_COMPUTE_MODES)),
    Cell("gsp_enabled", ("gsp_firmware_version",), bool),  # it is printed only where it runs
)

_ECC_PARTS = {
    "corrected": (("sram_correctable", "dram_correctable"), ("single_bit/total",)),
    "uncorrected": (
        ("sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable"),
        ("sram_uncorrectable", "dram_uncorrectable"),
        ("double_bit/total",),
    ),
}
ECC_SUMS = tuple(
    (
        (error_type, counter),
        tuple(tuple(f"ecc_errors/{counter}/{name}" for name in names) for names in sums),
    )
    for counter in ("volatile", "aggregate")
    for error_type, sums in _ECC_PARTS.items()
)
"""By error type and counter: the sets of elements whose sum is the total, newest first."""
