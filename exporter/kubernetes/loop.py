"""Keeps the conditions of our own node as the snapshot says, or says what it would write."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from exporter.config import NodeConditions
from exporter.kubernetes.api import PatchRefused
from exporter.kubernetes.conditions import (
    Condition,
    conditions_of,
    no_longer_said,
    ours,
    patch,
)
from exporter.model.snapshot import Snapshot

LONGEST_PAUSE_SECS = 300.0

log = logging.getLogger("exporter.conditions")


class Status(Protocol):
    """The status of a node that can be patched."""

    async def patch(self, body: dict[str, Any]) -> dict[str, Any]:
        """The node after the patch; raises PatchRefused."""
        ...


class ConditionsLoop:
    """Writes when something has changed, and from time to time to show that it is alive.

    `latest` gives the last snapshot, `now` the time as RFC 3339 and `elapsed` seconds of any
    origin. It never drains, cordons or deletes anything.
    """

    def __init__(
        self,
        settings: NodeConditions,
        node: str,
        status: Status,
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
        self._said: tuple[Condition, ...] | None = None
        self._said_at = 0.0
        self._current: Mapping[str, Mapping[str, Any]] | None = None
        self._failures = 0
        self._complaint = ""

    async def run(self) -> None:
        """Look every few seconds, for ever; longer after each refusal."""
        while True:
            await asyncio.sleep(self.pause_secs())
            await self.step()

    def pause_secs(self) -> float:
        """How long to wait before the next look."""
        doubled = self._settings.interval_secs * 2.0 ** min(self._failures, 16)
        return min(doubled, max(LONGEST_PAUSE_SECS, self._settings.interval_secs))

    async def step(self) -> None:
        """Write the conditions if they have changed or have not been written for long."""
        wanted = conditions_of(self._latest())
        is_news = wanted != self._said
        is_due = self._elapsed() - self._said_at >= self._settings.heartbeat_secs
        if not is_news and not is_due:
            return
        if self._settings.dry_run:
            if is_news:
                self._record(wanted, "dry run")
            self._remember(wanted)
            return
        try:
            written = await self._write(wanted)
        except PatchRefused as error:
            self._complain(str(error))
            return
        if is_news:
            self._record(written, "written")
        self._failures, self._complaint = 0, ""
        self._remember(wanted)

    async def _write(self, wanted: tuple[Condition, ...]) -> tuple[Condition, ...]:
        if self._current is None:  # an empty patch answers with the node as it is
            self._current = ours(await self._status.patch({"status": {}}))
        written = (*wanted, *no_longer_said(wanted, self._current))
        self._current = ours(await self._status.patch(patch(written, self._current, self._now())))
        return written

    def _remember(self, wanted: tuple[Condition, ...]) -> None:
        self._said, self._said_at = wanted, self._elapsed()

    def _record(self, wanted: tuple[Condition, ...], result: str) -> None:
        for condition in wanted:
            log.info(
                "node %s: condition %s=%s (%s: %s): %s",
                *(self._node, condition.kind, condition.status),
                *(condition.reason, condition.message, result),
            )

    def _complain(self, sentence: str) -> None:
        self._failures += 1
        self._current = None  # somebody else may have changed it meanwhile
        if sentence != self._complaint:
            log.warning("the conditions of node %s were not written: %s", self._node, sentence)
        self._complaint = sentence
