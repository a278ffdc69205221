"""From what was concluded to the conditions of a node, and to the patch that sets them.

https://kubernetes.io/docs/reference/node/node-status/#condition
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.model.gpu import Gpus
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Fault

GPU_HEALTHY = "GPUHealthy"
HARDWARE_HEALTHY = "HardwareHealthy"
OURS = (GPU_HEALTHY, HARDWARE_HEALTHY)
GPU_TYPES = frozenset({"gpu", "nvlink"})
NOT_HARDWARE = frozenset({"process", "workload", "exporter"})
MAX_MESSAGE_CHARS = 1000
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: whether it holds (True, False, Unknown), a word and a sentence why."""

    kind: str
    status: str
    reason: str
    message: str


def conditions_of(snapshot: Snapshot | None) -> tuple[Condition, ...]:
    """What this snapshot says; only critical faults that nothing else explains make unhealthy.

    A node on which no GPU is known has no condition about GPUs.
    """
    if snapshot is None or snapshot.conclusions is None:
        return (_unknown(HARDWARE_HEALTHY),)
    roots = [
        fault
        for fault in snapshot.conclusions.active
        if fault.is_root and fault.severity == "critical"
    ]
    hardware = _condition(
        HARDWARE_HEALTHY, [root for root in roots if root.subject.hw_type not in NOT_HARDWARE]
    )
    gpus = snapshot.reading(Gpus)
    about_gpus = [root for root in roots if root.subject.hw_type in GPU_TYPES]
    if not about_gpus and (gpus is None or not gpus.states):
        return (hardware,)
    return (_condition(GPU_HEALTHY, about_gpus), hardware)


def _unknown(kind: str) -> Condition:
    return Condition(kind, "Unknown", "NotJudged", "nothing has been read lately")


def _condition(kind: str, roots: list[Fault]) -> Condition:
    if not roots:
        return Condition(kind, "True", "NoCriticalFault", "no critical fault is active")
    first = sorted(roots, key=lambda fault: (fault.since, fault.rule, fault.subject))
    reason = "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", first[0].rule))
    return Condition(kind, "False", reason, "; ".join(_sentences(first))[:MAX_MESSAGE_CHARS])


def _sentences(roots: list[Fault]) -> Iterable[str]:
    for fault in roots[:MAX_NAMED]:
        yield f"{fault.summary} ({fault.rule} of {fault.subject.hw_id}; do: {fault.action})"
    if len(roots) > MAX_NAMED:
        yield f"and {len(roots) - MAX_NAMED} more"


def patch(
    conditions: Iterable[Condition], current: Mapping[str, Mapping[str, Any]], now: str
) -> dict[str, Any]:
    """The patch of a node's status; a status that stays keeps the time of its last change.

    `current` are the conditions the node has by now, by type; `now` is a time of RFC 3339.
    """
    return {"status": {"conditions": [_entry(item, current, now) for item in conditions]}}


def _entry(
    condition: Condition, current: Mapping[str, Mapping[str, Any]], now: str
) -> dict[str, Any]:
    before = current.get(condition.kind, {})
    has_stayed = before.get("status") == condition.status
    return {
        "type": condition.kind,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": before.get("lastTransitionTime", now) if has_stayed else now,
    }


def ours(node: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Our conditions of a node as the API shows it, by type."""
    listed = (node.get("status") or {}).get("conditions") or ()
    return {item["type"]: item for item in listed if item.get("type") in OURS}
