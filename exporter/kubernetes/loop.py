"""Sets the conditions of the exporter's own node, or logs them in a dry run."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from exporter.blocking import CallBlocking
from exporter.clock import boottime_now, rfc3339_now
from exporter.config import NodeConditions
from exporter.kubernetes.api import NodeStatus
from exporter.kubernetes.conditions import (
    NodeCondition,
    conditions_of,
    no_longer_reported,
    ours,
    patch,
    unhealthy,
)
from exporter.model.snapshot import Snapshot
from exporter.outgoing import RequestFailed

LONGEST_PAUSE_SECS = 300.0

log = logging.getLogger("exporter.conditions")


async def keep(
    settings: NodeConditions,
    node: str,
    call: CallBlocking,
    latest: Callable[[], Snapshot | None],
) -> None:
    """Keep the conditions of this node for ever; log an error for an invalid name."""
    try:
        status = NodeStatus(settings, node, call)
    except ValueError as error:
        log.error("node conditions are not written: %s", error)  # noqa: TRY400 - one sentence says it
        return
    await ConditionsLoop(
        settings, node, status, latest=latest, now=rfc3339_now, elapsed=boottime_now
    ).run()


class NodePatcher(Protocol):
    """The API of a node's status."""

    async def patch(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the node after the patch; raises RequestFailed."""
        ...


class ConditionsLoop:
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
        self._settings = settings
        self._node = node
        self._status = status
        self._latest = latest
        self._now = now
        self._elapsed = elapsed
        self._reported: tuple[NodeCondition, ...] | None = None
        self._reported_at = 0.0
        self._started = elapsed()
        self._current: Mapping[str, Mapping[str, Any]] | None = None
        self._found: Mapping[str, NodeCondition] | None = None  # the False conditions at our start
        self._failures = 0
        self._complaint = ""

    async def run(self) -> None:
        """Update the conditions every few seconds, for ever; less often after refusals."""
        while True:
            await asyncio.sleep(self.pause_secs())
            await self.step()

    def pause_secs(self) -> float:
        """Return the seconds until the next update."""
        doubled = self._settings.interval_secs * 2.0 ** min(self._failures, 16)
        return min(doubled, max(LONGEST_PAUSE_SECS, self._settings.interval_secs))

    async def step(self) -> None:
        """Write the conditions if they have changed or the heartbeat is due."""
        if self._settings.dry_run:
            self._rehearse(conditions_of(self._latest()))
            return
        try:
            await self._update()
        except RequestFailed as error:
            self._complain(str(error))

    def _rehearse(self, wanted: tuple[NodeCondition, ...]) -> None:
        if wanted != self._reported:
            self._record(wanted, "dry run")
        self._remember(wanted)

    async def _update(self) -> None:
        current = await self._known()
        reported = conditions_of(self._latest())
        whole = sorted(
            (*reported, *no_longer_reported(reported, current)), key=lambda item: item.kind
        )
        wanted = self._settled(tuple(whole))
        is_news = wanted != self._reported
        is_due = self._elapsed() - self._reported_at >= self._settings.heartbeat_secs
        if not is_news and not is_due:
            return
        self._current = ours(await self._status.patch(patch(wanted, current, self._now())))
        if is_news:
            self._record(wanted, "written")
        self._failures, self._complaint = 0, ""
        self._remember(wanted)

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

    def _complain(self, sentence: str) -> None:
        self._failures += 1
        self._current = None  # somebody else may have changed the node
        if sentence != self._complaint:
            log.warning("node %s: conditions were not written: %s", self._node, sentence)
        self._complaint = sentence
