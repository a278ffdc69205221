"""What nvidia-smi is asked for: one row for each column, and the field of a GPU it becomes.

Names of columns: `nvidia-smi --help-query-gpu`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exporter.model.label import clean_text
from exporter.model.pci import pci_address
from exporter.model.throttle import active_reasons

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

_NUMBER = re.compile(r"(-?[0-9]{1,20}(?:[.,][0-9]{1,9})?)(?: ?[A-Za-z%]{1,8})?")
_YES = {"enabled": True, "disabled": False, "yes": True, "no": False, "1": True, "0": False}
_RECOVERY = {
    "none": "none",
    "reset": "reset",
    "gpu reset": "reset",
    "reboot": "reboot",
    "node reboot": "reboot",
    "drain p2p": "drain_p2p",
    "drain and reset": "drain_and_reset",
    "recover imex domain": "recover_imex",
    "bus reset": "bus_reset",
    "system reboot": "reboot",
}
_FABRIC = {"not started": "not_started", "in progress": "in_progress", "completed": "completed"}
_COMPUTE_MODES = {
    "default": "default",
    "exclusive_thread": "exclusive_thread",
    "exclusive_process": "exclusive_process",
    "prohibited": "prohibited",
}

Convert = Callable[[str], Any]
"""The value of a cell that has one; None for what it cannot be."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: what is asked for, the field it becomes, and how.

    With `labels` the field has several numbers, of which this column is one. `older` is the
    name the column had before.
    """

    query: str
    field: str
    convert: Convert
    labels: tuple[str, ...] = ()
    older: str | None = None


def absence(cell: str) -> str | None:
    """Why the cell says nothing, in one word; None for a cell with a value."""
    return ABSENT.get(clean_text(cell).strip("[]").strip().lower())


def number(cell: str) -> float | None:
    """The number of a cell, decimal comma and unit tolerated; None for everything else."""
    if absence(cell) is not None:
        return None
    match = _NUMBER.fullmatch(cell.strip())
    return float(match[1].replace(",", ".")) if match else None


def _scaled(times: int = 1, per: int = 1) -> Convert:
    def convert(cell: str) -> float | None:
        found = number(cell)
        if found is None:
            return None
        return found * times if per == 1 else found * times / per

    return convert


def whole(cell: str) -> int | None:
    """The whole number of a cell."""
    found = number(cell)
    return None if found is None else round(found)


def _mib(cell: str) -> int | None:
    found = number(cell)
    return None if found is None else round(found * MIB)


def _yes(cell: str) -> bool | None:
    return _YES.get(cell.lower())


def _word(words: dict[str, str]) -> Convert:
    return lambda cell: words.get(cell.lower())


def _limits(cell: str) -> tuple[tuple[str, int], ...] | None:
    try:
        mask = int(cell, 16)
    except ValueError:
        return None
    return active_reasons(mask)


def _performance_state(cell: str) -> int | None:
    return whole(cell[1:]) if cell[:1] in ("P", "p") else None


COLUMNS = (
    Column("pci.bus_id", "pci_bus_id", pci_address),
    Column("serial", "serial", clean_text),
    Column("compute_cap", "compute_capability", clean_text),
    Column("vbios_version", "vbios_version", clean_text),
    Column("memory.total", "memory_total_bytes", _mib),
    Column("memory.used", "memory_used_bytes", _mib),
    Column("memory.free", "memory_free_bytes", _mib),
    Column("memory.reserved", "memory_reserved_bytes", _mib),
    Column("utilization.gpu", "utilization_percent", number),
    Column("utilization.memory", "memory_controller_utilization_percent", number),
    Column("utilization.encoder", "encoder_utilization_percent", number),
    Column("utilization.decoder", "decoder_utilization_percent", number),
    Column("utilization.jpeg", "jpeg_utilization_percent", number),
    Column("utilization.ofa", "ofa_utilization_percent", number),
    Column("temperature.gpu", "temperature_celsius", number),
    Column("temperature.memory", "memory_temperature_celsius", number),
    Column("temperature.gpu.tlimit", "thermal_margin_celsius", number),
    Column("fan.speed", "fan_speed_percent", number, ("0",)),
    Column("power.draw", "power_draw_watts", number),
    Column("power.draw.average", "power_average_watts", number),
    Column("enforced.power.limit", "power_limit_watts", number),
    Column("power.min_limit", "power_limit_range_watts", number, ("min",)),
    Column("power.max_limit", "power_limit_range_watts", number, ("max",)),
    Column("power.default_limit", "power_limit_range_watts", number, ("default",)),
    Column("power.limit", "power_limit_range_watts", number, ("requested",)),
    *(
        Column(f"clocks.current.{clock}", "clock_hertz", _scaled(MEGAHERTZ), (clock,))
        for clock in ("graphics", "sm", "memory", "video")
    ),
    *(
        Column(f"clocks.max.{clock}", "clock_max_hertz", _scaled(MEGAHERTZ), (clock,))
        for clock in ("graphics", "sm", "memory")
    ),
    Column("pstate", "performance_state", _performance_state),
    Column(
        "clocks_event_reasons.active",
        "throttle_active",
        _limits,
        older="clocks_throttle_reasons.active",
    ),
    *(
        Column(
            f"clocks_event_reasons_counters.{reason}",
            "throttle_seconds_total",
            _scaled(per=MICROSECONDS_PER_SECOND),
            (reason,),
        )
        for reason in (
            "sw_power_cap",
            "sync_boost",
            "sw_thermal_slowdown",
            "hw_thermal_slowdown",
            "hw_power_brake_slowdown",
        )
    ),
    Column("ecc.mode.current", "ecc_enabled", _yes),
    *(
        Column(f"ecc.errors.{kind}.{counter}.total", "ecc_errors_total", whole, (kind, counter))
        for counter in ("volatile", "aggregate")
        for kind in ("corrected", "uncorrected")
    ),
    Column(
        "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded", "sram_threshold_exceeded", _yes
    ),
    Column("remapped_rows.correctable", "remapped_rows_total", whole, ("corrected",)),
    Column("remapped_rows.uncorrectable", "remapped_rows_total", whole, ("uncorrected",)),
    Column("remapped_rows.pending", "row_remap_pending", _yes),
    Column("remapped_rows.failure", "row_remap_failed", _yes),
    *(
        Column(f"remapped_rows.histogram.{word}", "row_remap_banks", whole, (word,))
        for word in ("max", "high", "partial", "low", "none")
    ),
    Column("retired_pages.single_bit_ecc.count", "retired_pages_total", whole, ("single_bit",)),
    Column("retired_pages.double_bit.count", "retired_pages_total", whole, ("double_bit",)),
    Column("retired_pages.pending", "retired_pages_pending", _yes),
    Column("gpu_recovery_action", "recovery_action", _word(_RECOVERY)),
    Column("pcie.link.gen.current", "pcie_link_generation", whole),
    Column("pcie.link.gen.max", "pcie_link_generation_max", whole),
    Column("pcie.link.width.current", "pcie_link_width", whole),
    Column("pcie.link.width.max", "pcie_link_width_max", whole),
    Column("fabric.state", "fabric_state", _word(_FABRIC)),
    Column("mig.mode.current", "mig_enabled", _yes),
    Column("persistence_mode", "persistence_mode", _yes),
    Column("compute_mode", "compute_mode", _word(_COMPUTE_MODES)),
    Column("gsp.mode.current", "gsp_enabled", _yes),
)
