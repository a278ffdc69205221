"""Writes an Event on the exporter's own node for each fault that begins, and when it ends.

The faults that were written are compared with those that are active: what begins and ends while the
API does not answer, or more often than the rate allows, is left out and does not queue.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from exporter.clock import rfc3339
from exporter.collectors.exporter.incidents import incidents_of, severity_rank
from exporter.config import NodeConditions
from exporter.kubernetes.api import NodeApi
from exporter.kubernetes.conditions import MAX_MESSAGE_CHARS, camel_case
from exporter.kubernetes.writer import Present, Writer, log
from exporter.model.verdict import Conclusions, Fault, FaultState, Key
from exporter.outgoing import RequestFailed
from exporter.record import replace

COMPONENT = "hw-exporter"
BURST, SECS_FOR_ONE = 25, 300.0
"""At once, and then one in this time: the rate that client-go allows a source for an object."""

MAX_NODE_CHARS = 200
SAME_WITHIN_SECS = 0.5
Place: TypeAlias = tuple[str, Key]
"""A rule and its component."""


class WrittenFault(NamedTuple):
    """A fault whose beginning was written, as it was last seen.

    `began` is in seconds since boot: by the clock, a beginning moves when the clock is set.
    """

    fault: Fault
    began: float


class FaultChange(NamedTuple):
    """A fault that began or ended."""

    fault: Fault
    has_ended: bool


class EventsLoop(Writer):
    """Writes an Event for each change, at a bounded rate."""

    def __init__(self, settings: NodeConditions, node: str, present: Present, api: NodeApi) -> None:
        super().__init__(settings, node, present, "events")
        self._api = api
        self._written: dict[Place, WrittenFault] = {}
        self._allowed, self._counted_at = float(BURST), present.elapsed()

    async def step(self) -> None:
        """Write what began and ended since the last step."""
        snapshot = self._present.latest()
        if snapshot is None or snapshot.conclusions is None:
            return
        booted = snapshot.taken_at - snapshot.taken_boottime
        self._see(snapshot.conclusions)
        for change in changes(self._written, snapshot.conclusions, booted):
            if not self._is_allowed():
                self.say("some wait, because so many began and ended")
                return
            body = event(change, snapshot.conclusions, self._node, rfc3339(self._present.wall()))
            try:
                await self._write(body)
            except RequestFailed as error:
                self.complain(str(error))
                return
            self._allowed -= 1
            if change.has_ended:
                del self._written[_place(change.fault)]
            else:
                known = WrittenFault(change.fault, change.fault.since - booted)
                self._written[_place(change.fault)] = known
        self.is_well()

    def _see(self, conclusions: Conclusions) -> None:
        """Keep how each fault is now; forget those that are gone and could not be judged."""
        present = {_place(it): it for it in conclusions.faults}
        for place, known in tuple(self._written.items()):
            fault = present.get(place, known.fault)
            if place not in present and fault.state is FaultState.UNJUDGED:
                del self._written[place]
            else:
                self._written[place] = known._replace(fault=fault)

    async def _write(self, body: dict[str, Any]) -> None:
        if not self._settings.dry_run:
            await self._api.create_event(body)
        result = "dry run" if self._settings.dry_run else "written"
        log.info("node %s: event %s: %s: %s", self._node, body["reason"], body["message"], result)

    def _is_allowed(self) -> bool:
        now = self._present.elapsed()
        gained = (now - self._counted_at) / SECS_FOR_ONE
        self._allowed, self._counted_at = min(self._allowed + gained, float(BURST)), now
        return self._allowed >= 1


def changes(
    written: Mapping[Place, WrittenFault], conclusions: Conclusions, booted: float
) -> Iterator[FaultChange]:
    """Yield what began, the worst first, then what ended; silenced faults do not begin.

    A fault that can no longer be judged has not ended, nor has one that began anew. `booted` is
    when the node was booted by the clock of the conclusions.
    """
    lasting = {_place(it): it for it in conclusions.faults if it.state is not FaultState.CLEARED}
    begun = [
        FaultChange(fault, has_ended=False)
        for place, fault in lasting.items()
        if fault.is_active
        and fault.silence is None
        and (
            place not in written
            or abs(fault.since - booted - written[place].began) > SAME_WITHIN_SECS
        )
    ]
    yield from sorted(
        begun, key=lambda it: (severity_rank(it.fault.severity), not it.fault.is_root)
    )
    for place, known in tuple(written.items()):
        if place not in lasting:
            yield FaultChange(known.fault, has_ended=True)


def _place(fault: Fault) -> Place:
    return fault.rule, fault.subject.key


def event(change: FaultChange, conclusions: Conclusions, node: str, now: str) -> dict[str, Any]:
    """Return the Event; its name is that of the change, so that a restart writes none twice.

    The uid of the node is its name, as in the kubelet's Events: `kubectl describe node` shows them.
    """
    fault, has_ended = change
    is_bad = fault.severity != "info" and not has_ended
    began = (fault.rule, fault.subject.key, int(fault.since))  # of this boot only
    name = hashlib.sha256(repr((began, has_ended)).encode()).hexdigest()[:16]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{node[:MAX_NODE_CHARS]}.{name}", "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node, "uid": node},
        "type": "Warning" if is_bad else "Normal",
        "reason": camel_case(fault.rule) + ("Ended" if has_ended else ""),
        "message": _message(change, conclusions)[:MAX_MESSAGE_CHARS],
        "source": {"component": COMPONENT, "host": node},
        "reportingComponent": COMPONENT,
        "reportingInstance": node,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def _message(change: FaultChange, conclusions: Conclusions) -> str:
    """Return the text of an incident of this fault alone: with its cause and the pods affected."""
    fault = change.fault
    if change.has_ended:
        return f"Ended: {fault.summary}"
    (incident,) = incidents_of(replace(conclusions, faults=(fault,)))
    return incident.text
