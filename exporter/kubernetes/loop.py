"""Sets the conditions of the exporter's own node, or logs them in a dry run."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from exporter.blocking import CallBlocking
from exporter.clock import boottime_now, rfc3339_now, wall_now
from exporter.config import NodeConditions
from exporter.kubernetes.api import NodeApi
from exporter.kubernetes.conditions import (
    NodeCondition,
    conditions_of,
    no_longer_reported,
    ours,
    patch,
    unhealthy,
)
from exporter.kubernetes.events import EventsLoop
from exporter.kubernetes.labels import LabelsLoop
from exporter.kubernetes.writer import Writer, log
from exporter.model.snapshot import Snapshot
from exporter.outgoing import RequestFailed

MESSAGE_SECS = 60.0


async def keep(
    settings: NodeConditions,
    node: str,
    call: CallBlocking,
    latest: Callable[[], Snapshot | None],
) -> None:
    """Keep what is enabled of this node for ever; log an error for an invalid name."""
    try:
        api = NodeApi(settings, node, call)
    except ValueError as error:
        log.error("node conditions are not written: %s", error)
        return
    writers: list[Writer] = []
    if settings.labels_dir:
        writers.append(
            LabelsLoop(settings, node, call, latest=latest, wall=wall_now, elapsed=boottime_now)
        )
    for loop, is_enabled in ((ConditionsLoop, settings.enabled), (EventsLoop, settings.events)):
        if is_enabled:
            writers.append(
                loop(settings, node, api, latest=latest, now=rfc3339_now, elapsed=boottime_now)
            )
    await asyncio.gather(*(writer.run() for writer in writers))


class NodePatcher(Protocol):
    """The API of a node's status."""

    async def patch(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the node after the patch; raises RequestFailed."""
        ...


class ConditionsLoop(Writer):
    """Writes the conditions when they change, and from time to time as a heartbeat.

    `latest` returns the last snapshot, `now` the time as RFC 3339, `elapsed` seconds of any origin.
    The loop never drains, cordons or deletes anything.
    """

    def __init__(
        self,
        settings: NodeConditions,
        node: str,
        status: NodePatcher,
        *,
        latest: Callable[[], Snapshot | None],
        now: Callable[[], str],
        elapsed: Callable[[], float],
    ) -> None:
        super().__init__(settings, node, "conditions")
        self._status = status
        self._latest = latest
        self._now = now
        self._elapsed = elapsed
        self._reported: tuple[NodeCondition, ...] | None = None
        self._reported_at = 0.0
        self._started = elapsed()
        self._current: Mapping[str, Mapping[str, Any]] | None = None
        self._found: Mapping[str, NodeCondition] | None = None  # the False conditions at our start

    async def step(self) -> None:
        """Write the conditions if they have changed or the heartbeat is due.

        A change of the message alone waits for a minute: it may hold a measured value.
        """
        if self._settings.dry_run:
            self._rehearse(conditions_of(self._latest()))
            return
        try:
            await self._update()
        except RequestFailed as error:
            self._current = None  # somebody else may have changed the node
            self.complain(str(error))

    def _rehearse(self, wanted: tuple[NodeCondition, ...]) -> None:
        if self._is_news(wanted):
            self._record(wanted, "dry run")
            self._remember(wanted)

    async def _update(self) -> None:
        current = await self._known()
        reported = conditions_of(self._latest())
        whole = sorted(
            (*reported, *no_longer_reported(reported, current)), key=lambda item: item.kind
        )
        wanted = self._settled(tuple(whole))
        is_news = self._is_news(wanted)
        is_due = self._elapsed() - self._reported_at >= self._settings.heartbeat_secs
        if not is_news and not is_due:
            return
        self._current = ours(await self._status.patch(patch(wanted, current, self._now())))
        if is_news:
            self._record(wanted, "written")
        self.is_well()
        self._remember(wanted)

    def _is_news(self, wanted: tuple[NodeCondition, ...]) -> bool:
        if self._reported is None or [*map(_state, wanted)] != [*map(_state, self._reported)]:
            return True
        waited = self._elapsed() - self._reported_at
        return wanted != self._reported and waited >= MESSAGE_SECS

    async def _known(self) -> Mapping[str, Mapping[str, Any]]:
        if self._current is None:  # an empty patch returns the present node
            self._current = ours(await self._status.patch({"status": {}}))
        if self._found is None:
            self._found = unhealthy(self._current)
        return self._current

    def _settled(self, wanted: tuple[NodeCondition, ...]) -> tuple[NodeCondition, ...]:
        """Keep a False from before our start until its fault had time to be raised again."""
        if self._elapsed() - self._started >= self._settings.settle_secs:
            return wanted
        again = {condition.kind for condition in wanted if condition.status == "False"}
        found = {kind: it for kind, it in (self._found or {}).items() if kind not in again}
        self._found = found
        return tuple(found.get(condition.kind, condition) for condition in wanted)

    def _remember(self, wanted: tuple[NodeCondition, ...]) -> None:
        self._reported, self._reported_at = wanted, self._elapsed()

    def _record(self, wanted: tuple[NodeCondition, ...], result: str) -> None:
        for condition in wanted:
            log.info(
                "node %s: condition %s=%s (%s: %s): %s",
                *(self._node, condition.kind, condition.status),
                *(condition.reason, condition.message, result),
            )


def _state(condition: NodeCondition) -> tuple[str, str, str]:
    return condition.kind, condition.status, condition.reason
