"""Converts conclusions to node conditions, and to the patch that sets them.

https://kubernetes.io/docs/reference/node/node-status/#condition
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from exporter.collectors.exporter.incidents import Incident, incidents_of
from exporter.collectors.gpu.values import Gpus
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Fault
from exporter.record import dataclass

GPU_HEALTHY = "GPUHealthy"
HARDWARE_HEALTHY = "HardwareHealthy"
OURS = (GPU_HEALTHY, HARDWARE_HEALTHY)
GPU_TYPES = frozenset({"gpu", "nvlink", "nvswitch"})
NOT_HARDWARE = frozenset({"process", "workload", "exporter"})
MAX_MESSAGE_CHARS = 1000
GONE = "no such hardware is known on this node"
STALE_SECS = 60.0
"""After this time without a reading of any GPU, their state is unknown; one failed read is not."""


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """One condition: its status (True, False, Unknown), a reason in one word, and a message."""

    kind: str
    status: str
    reason: str
    message: str


def conditions_of(snapshot: Snapshot | None) -> tuple[NodeCondition, ...]:
    """Return the conditions of this snapshot; critical faults make False, explained or not.

    A node without known GPUs has no condition GPUHealthy.
    """
    if snapshot is None or snapshot.conclusions is None:
        return (_unknown(HARDWARE_HEALTHY, "nothing was read recently"),)
    incident = incidents_of(snapshot.conclusions)
    hardware = _condition(HARDWARE_HEALTHY, incident, _is_hardware)
    gpus = snapshot.reading(Gpus)
    about_gpus = _condition(GPU_HEALTHY, incident, _is_about_gpus)
    if about_gpus.status == "False":
        return (about_gpus, hardware)
    if gpus is None or not gpus.states:
        return (hardware,)
    oldest = snapshot.taken_boottime - STALE_SECS
    if all(it.expired or (it.is_unread and it.read_boottime < oldest) for it in gpus.states):
        return (_unknown(GPU_HEALTHY, "no GPU was read recently"), hardware)
    return (about_gpus, hardware)


class Settling:
    """Keeps a False from before a start until its fault had time to be detected again.

    `found` are the conditions that were False then, by type; None until they are known. `elapsed`
    returns seconds of any origin.
    """

    def __init__(self, secs: float, elapsed: Callable[[], float]) -> None:
        self.found: dict[str, NodeCondition] | None = None
        self._elapsed = elapsed
        self._ends_at = elapsed() + secs

    @property
    def is_over(self) -> bool:
        """Whether faults had time to be detected."""
        return self._elapsed() >= self._ends_at

    def settled(
        self, reported: Iterable[NodeCondition], known: Iterable[str]
    ) -> tuple[NodeCondition, ...]:
        """Return the conditions to write, by type; `known` types without hardware are Unknown."""
        present = {item.kind: item for item in reported}
        again = {kind for kind, item in present.items() if item.status == "False"}
        kept = {} if self.is_over else self.found or {}
        self.found = {kind: item for kind, item in kept.items() if kind not in again}
        whole = {**{kind: _unknown(kind, GONE) for kind in known}, **present}
        return tuple(self.found.get(kind, whole[kind]) for kind in sorted(whole))


def _is_about_gpus(fault: Fault) -> bool:
    return _type(fault) in GPU_TYPES


def _is_hardware(fault: Fault) -> bool:
    return _type(fault) not in NOT_HARDWARE


def _type(fault: Fault) -> str:
    return fault.concerns or fault.subject.hw_type


def _unknown(kind: str, message: str) -> NodeCondition:
    return NodeCondition(kind, "Unknown", "NotJudged", message)


def _condition(
    kind: str, incident: Iterable[Incident], is_meant: Callable[[Fault], bool]
) -> NodeCondition:
    """Return the condition: False with the incidents that have a critical, not silenced fault."""
    broken = [
        each
        for each in incident
        if any(
            fault.severity == "critical" and fault.silence is None and is_meant(fault)
            for fault in each.faults
        )
    ]
    if not broken:
        return NodeCondition(kind, "True", "NoCriticalFault", "no critical fault is active")
    return NodeCondition(kind, "False", camel_case(broken[0].rule), _message(broken))


def camel_case(rule: str) -> str:
    """Return the name of a rule as a reason of Kubernetes."""
    return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", rule))


def _message(broken: Sequence[Incident]) -> str:
    """Return the texts of as many incidents as fit, and the number of others."""
    text = broken[0].text[:MAX_MESSAGE_CHARS]
    for number, each in enumerate(broken[1:], start=1):
        more = f" | and {len(broken) - number} more"
        if len(text) + len(each.text) + len(more) + 3 > MAX_MESSAGE_CHARS:
            return f"{text[: MAX_MESSAGE_CHARS - len(more)]}{more}"
        text = f"{text} | {each.text}"
    return text


def patch(
    conditions: Iterable[NodeCondition], current: Mapping[str, Mapping[str, Any]], now: str
) -> dict[str, Any]:
    """Return the patch of a node's status; an unchanged condition keeps its transition time.

    `current` are the present conditions of the node by type; `now` is a time of RFC 3339.
    """
    return {"status": {"conditions": [_entry(item, current, now) for item in conditions]}}


def _entry(
    condition: NodeCondition, current: Mapping[str, Mapping[str, Any]], now: str
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
    """Return our conditions of a node in an API answer, by type."""
    listed = (node.get("status") or {}).get("conditions") or ()
    return {item["type"]: item for item in listed if item.get("type") in OURS}


def unhealthy(current: Mapping[str, Mapping[str, Any]]) -> dict[str, NodeCondition]:
    """Return the conditions that are False on the node, by type."""
    return {
        kind: NodeCondition(kind, "False", item.get("reason", ""), item.get("message", ""))
        for kind, item in current.items()
        if item.get("status") == "False"
    }
