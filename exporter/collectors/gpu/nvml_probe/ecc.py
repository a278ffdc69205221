"""ECC errors, and what the board did about them: repairs, remapped rows, retired pages."""

import ctypes
from itertools import product

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import (
    FieldId,
    NvmlDevice,
    available_values,
    call_each,
)
from exporter.collectors.gpu.nvml_probe.library import reason_of
from exporter.collectors.gpu.nvml_probe.nvml import NVMLError
from exporter.collectors.gpu.nvml_probe.structs import c_nvmlEccSramErrorStatus_v1_t
from exporter.collectors.gpu.words import RECOVERY_ACTIONS

ERROR_TYPES = {"corrected": 0, "uncorrected": 1}
COUNTERS = {"volatile": 0, "aggregate": 1}
TOTALS = {
    ("corrected", "volatile"): 3,
    ("uncorrected", "volatile"): 4,
    ("corrected", "aggregate"): 5,
    ("uncorrected", "aggregate"): 6,
}
LOCATIONS = {
    "l1": 0,
    "l2": 1,
    "dram": 2,
    "register": 3,
    "texture": 4,
    "texture_shm": 5,
    "cbu": 6,
    "sram": 7,
}
RETIRED_PAGES: dict[str, FieldId] = {"single_bit": 29, "double_bit": 30}
AVAILABILITIES = ("max", "high", "partial", "low", "none")
SRAM_UNITS = {"l2": "L2", "sm": "Sm", "microcontroller": "Mcu", "pcie": "Pcie", "other": "Other"}
RECOVERY_ACTION = 230
"""The field value."""


def ecc_errors(card: NvmlDevice) -> Any:
    """Read errors by type, since the driver was loaded and since the board was made."""
    found = card.field_values("ecc", {"/".join(key): number for key, number in TOTALS.items()})
    return available_values({key: found["/".join(key)] for key in TOTALS})


def ecc_location_errors(card: NvmlDevice) -> Any:
    """Read the same by the part of the chip."""
    name = "nvmlDeviceGetMemoryErrorCounter"
    wanted = product(ERROR_TYPES, COUNTERS, LOCATIONS)
    calls = [
        ((kind, counter, place), name, (ERROR_TYPES[kind], COUNTERS[counter], LOCATIONS[place]))
        for kind, counter, place in wanted
    ]
    return available_values(call_each(card, calls))


def sram_errors(card: NvmlDevice) -> dict[str, Any]:
    """Read uncorrected errors of SRAM by kind and by unit, and whether they are too many."""
    status = c_nvmlEccSramErrorStatus_v1_t()
    card.ask("nvmlDeviceGetSramEccErrorStatus", ctypes.byref(status))
    return {
        "sram_threshold_exceeded": bool(status.bThresholdExceeded),
        "sram_ecc_errors_total": [
            (f"uncorrected_{kind.lower()}", counter, getattr(status, f"{counter}Unc{kind}"))
            for counter in COUNTERS
            for kind in ("Parity", "SecDed")
        ],
        "sram_ecc_sources_total": [
            (unit, getattr(status, f"aggregateUncBucket{name}"))
            for unit, name in SRAM_UNITS.items()
        ],
    }


def remapped_rows(card: NvmlDevice) -> dict[str, Any]:
    """Read remapped rows of memory, on Ampere and newer."""
    corrected, uncorrected, pending, failed = card.ask("nvmlDeviceGetRemappedRows")
    return {
        "remapped_rows_total": [("corrected", corrected), ("uncorrected", uncorrected)],
        "row_remap_pending": bool(pending),
        "row_remap_failed": bool(failed),
    }


def remap_banks(card: NvmlDevice) -> list[tuple[str, int]]:
    """Read banks of memory by how many spare rows they have left."""
    banks = card.ask("nvmlDeviceGetRowRemapperHistogram")
    return [(word, getattr(banks, word)) for word in AVAILABILITIES]


def retired_pages(card: NvmlDevice) -> Any:
    """Read retired pages of memory, on boards before Ampere."""
    return available_values(card.field_values("retired_pages", RETIRED_PAGES))


def inforom_valid(card: NvmlDevice) -> bool:
    """Verify the checksums of the infoROM, which holds what the board remembers of its errors."""
    try:
        card.ask("nvmlDeviceValidateInforom")
    except NVMLError as error:
        if reason_of(error) != "corrupted_inforom":
            raise
        return False
    return True


def recovery_action(card: NvmlDevice) -> str:
    """Read what the driver wants done to the GPU; raises ValueError for a word not known here."""
    action = card.field_values("recovery_action", {"action": RECOVERY_ACTION})["action"]
    if isinstance(action, Exception):
        raise action
    if action not in RECOVERY_ACTIONS:
        raise ValueError(f"recovery action {action}")
    return RECOVERY_ACTIONS[action]
