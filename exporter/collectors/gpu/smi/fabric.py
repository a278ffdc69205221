"""What `nvidia-smi -q -x` reports of the NVLink fabric, and what it can never report of NVLink."""

from collections.abc import Iterator, Mapping
from typing import Any

from exporter.collectors.gpu.fabric import MISCONFIGURATIONS, is_fabric_healthy
from exporter.collectors.gpu.smi.fields import Cell, absence, whole, word
from exporter.model.label import clean_text

_STATES = {"not started": "not_started", "in progress": "in_progress", "completed": "completed"}
_FLAG = {"true": 1, "false": 0}
ABSENCES = ("not_said", "not_supported", "no_data")
UNPRINTED = ("nvlink_up", "nvlink_errors_total")
"""Fields with rules that no document holds: nobody knows them while NVML gives nothing."""

WITHOUT_NVLINK = ("Kepler", "Maxwell", "Ada")
"""Architectures that have no NVLink on any board."""

HEALTH = "fabric/health/bandwidth"
"""The element that is printed wherever the health of the fabric is."""


def _wrong_configuration(cell: str) -> int:
    """Read what is wrong with the configuration of the fabric: any word but `None`."""
    return int(cell.lower() != "none")


FABRIC_CELLS = (
    Cell("chassis_serial", ("platformInfo/chassis_serial_number",), clean_text),
    Cell("chassis_slot", ("platformInfo/slot_number",), whole),
    Cell("chassis_tray", ("platformInfo/tray_index",), whole),
    Cell("fabric_state", ("fabric/state",), word(_STATES)),
    Cell("fabric_clique", ("fabric/cliqueId",), whole),
    Cell("fabric_cluster", ("fabric/clusterUuid",), clean_text),
    *(
        Cell("fabric_condition", (f"fabric/health/{name}",), convert, (condition,))
        for condition, name, convert in (
            ("degraded_bandwidth", "bandwidth", word({"full": 0, "degraded": 1})),
            ("route_recovery", "route_recovery_in_progress", word(_FLAG)),
            ("route_unhealthy", "route_unhealthy", word(_FLAG)),
            ("access_timeout_recovery", "access_timeout_recovery", word(_FLAG)),
            ("configuration", "incorrect_configuration", _wrong_configuration),
        )
    ),
)


def add_fabric(cells: Mapping[str, str], values: dict[str, Any]) -> None:
    """Add whether the fabric is healthy; nothing of it counts before the GPU has joined."""
    if values.get("fabric_state") != "completed":
        values.pop("fabric_condition", None)
        return
    wrong = cells.get("fabric/health/incorrect_configuration", "").lower()
    for condition, words in MISCONFIGURATIONS.values():
        if wrong == words:
            values["fabric_condition"] = (*values["fabric_condition"], (condition, 1))
    values["fabric_healthy"] = is_fabric_healthy(
        has_joined=_is_word("success", cells.get("fabric/status", "")),
        summary=_is_word("healthy", cells.get("fabric/health/summary", "")),
        conditions={name: bool(held) for name, held in values.get("fabric_condition", ())},
    )


def _is_word(wanted: str, cell: str) -> bool | None:
    """Compare what a cell says, errors included; None where it has nothing to say."""
    return None if absence(cell) in ABSENCES else cell.lower() == wanted


def unprinted(cells: Mapping[str, str], values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields that another backend might report of this GPU, and this document cannot."""
    if values.get("architecture") not in WITHOUT_NVLINK:
        yield from UNPRINTED
    if "fabric_state" in values and values.get("fabric_healthy") is None and HEALTH not in cells:
        yield "fabric_healthy"
