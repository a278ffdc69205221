"""Sets the conditions of the exporter's own node, or logs them in a dry run."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from exporter.blocking import CallBlocking
from exporter.clock import rfc3339
from exporter.config import NodeConditions
from exporter.kubernetes.api import NodeApi
from exporter.kubernetes.conditions import (
    NodeCondition,
    Settling,
    conditions_of,
    ours,
    patch,
    unhealthy,
)
from exporter.kubernetes.events import EventsLoop
from exporter.kubernetes.labels import LabelsLoop
from exporter.kubernetes.writer import Present, Writer, log
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
    present = Present(latest)
    writers: list[Writer] = []
    if settings.labels_dir:
        writers.append(LabelsLoop(settings, node, present, call))
    if settings.enabled:
        writers.append(ConditionsLoop(settings, node, present, api))
    if settings.events:
        writers.append(EventsLoop(settings, node, present, api))
    await asyncio.gather(*(writer.run() for writer in writers))


class ConditionsLoop(Writer):
    """Writes the conditions when they change, and from time to time as a heartbeat.

    The loop never drains, cordons or deletes anything.
    """

    def __init__(self, settings: NodeConditions, node: str, present: Present, api: NodeApi) -> None:
        super().__init__(settings, node, present, "conditions")
        self._api = api
        self._settling = Settling(settings.settle_secs, present.elapsed)
        self._reported: tuple[NodeCondition, ...] | None = None
        self._reported_at = 0.0
        self._current: Mapping[str, Mapping[str, Any]] | None = None

    async def step(self) -> None:
        """Write the conditions if they have changed or the heartbeat is due.

        A change of the message alone waits for a minute: it may hold a measured value.
        """
        if self._settings.dry_run:
            wanted = conditions_of(self._present.latest())
            if self._is_news(wanted):
                self._remember(wanted, "dry run")
            return
        try:
            await self._update()
        except RequestFailed as error:
            self._current = None  # somebody else may have changed the node
            self.complain(str(error))

    async def _update(self) -> None:
        if self._current is None:  # an empty patch returns the present node
            self._current = ours(await self._api.patch({"status": {}}))
        if self._settling.found is None:
            self._settling.found = unhealthy(self._current)
        reported = conditions_of(self._present.latest())
        wanted = self._settling.settled(reported, self._current)
        is_news = self._is_news(wanted)
        if not is_news and self._waited_secs() < self._settings.heartbeat_secs:
            return
        body = patch(wanted, self._current, rfc3339(self._present.wall()))
        self._current = ours(await self._api.patch(body))
        self.is_well()
        self._remember(wanted, "written" if is_news else "")

    def _waited_secs(self) -> float:
        return self._present.elapsed() - self._reported_at

    def _is_news(self, wanted: tuple[NodeCondition, ...]) -> bool:
        if self._reported is None or [*map(_state, wanted)] != [*map(_state, self._reported)]:
            return True
        return wanted != self._reported and self._waited_secs() >= MESSAGE_SECS

    def _remember(self, wanted: tuple[NodeCondition, ...], result: str) -> None:
        """Keep what was written, and log it if there is a result to tell."""
        self._reported, self._reported_at = wanted, self._present.elapsed()
        for condition in wanted if result else ():
            log.info(
                "node %s: condition %s=%s (%s: %s): %s",
                *(self._node, condition.kind, condition.status),
                *(condition.reason, condition.message, result),
            )


def _state(condition: NodeCondition) -> tuple[str, str, str]:
    return condition.kind, condition.status, condition.reason
