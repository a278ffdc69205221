"""The collection loop: read all sources, evaluate the rules, publish one snapshot, wait."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from types import MappingProxyType

from exporter.blocking import wait_for_any
from exporter.model.reading import Reading
from exporter.model.snapshot import Outcome, Snapshot, SourceReport
from exporter.model.verdict import Conclusions
from exporter.reading.source import AnySource, Follower, Source, SourceAbsent, SourceFailed
from exporter.record import dataclass, replace

EARLY_PUBLISH_SECS = 0.2
"""The shortest time between snapshots: a burst of events is published together."""

log = logging.getLogger("exporter.loop")

Conclude = Callable[[Snapshot], Awaitable[Conclusions]]
Read = Callable[[], Awaitable[Reading[object]]]
Attempt = tuple[SourceReport, Reading[object] | None]


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks for the time of day and the time since boot (suspended time included)."""

    wall: Callable[[], float]
    boottime: Callable[[], float]


class CollectionLoop:
    """Reads all sources every `interval_secs`, start to start, and publishes snapshots.

    Followers are read after all other sources, with their readings. A source that does not answer
    within its deadline is reported stuck, and neither called nor waited for until its call has
    ended. `conclude` turns a snapshot into conclusions; if it fails, the snapshot is published
    without conclusions.
    """

    def __init__(
        self,
        node: str,
        sources: Iterable[AnySource],
        *,
        interval_secs: float,
        clocks: Clocks,
        publish: Callable[[Snapshot], None],
        conclude: Conclude | None = None,
    ) -> None:
        self._node = node
        # Sorted once: `isinstance` with a protocol takes longer than reading most files.
        self._sources: dict[str, Source] = {}
        self._followers: dict[str, Follower] = {}
        for source in sources:
            if isinstance(source, Follower):
                self._followers[source.name] = source
            else:
                self._sources[source.name] = source
        self._interval_secs = interval_secs
        self._clocks = clocks
        self._publish = publish
        self._conclude = conclude
        self._running: dict[str, asyncio.Task[Reading[object]]] = {}
        self._last_success: dict[str, float] = {}
        self._reported: dict[str, str] = {}
        self._woken: set[str] = set()
        self._wake_up = asyncio.Event()
        self._collections = 0
        self._skipped = 0
        self._types: dict[str, type] = {}
        self._values: dict[type, object] = {}
        self.last_tick: float | None = None

    def wake(self, source: str) -> None:
        """Request that this source is read and published at once, between two collections."""
        self._woken.add(source)
        self._wake_up.set()

    async def run(self) -> None:
        """Collect until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self.last_tick = loop.time()
            snapshot = await self.collect()
            due += self._interval_secs
            if (behind := loop.time() - due) > 0:
                missed = int(behind // self._interval_secs) + 1
                self._skipped += missed
                due += missed * self._interval_secs
            await self._wait_until(due, snapshot)

    async def close(self) -> None:
        """Close all sources."""
        for task in self._running.values():
            task.cancel()
        everything: list[AnySource] = [*self._sources.values(), *self._followers.values()]
        closing = [asyncio.ensure_future(source.close()) for source in everything]
        if closing:
            await asyncio.wait(closing, timeout=1.0)

    async def collect(self) -> Snapshot:
        """Collect once, and publish the snapshot."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        taken_at, taken_boottime = self._clocks.wall(), self._clocks.boottime()
        self._woken.clear()
        self._wake_up.clear()
        self._collections += 1
        snapshot = Snapshot(
            node=self._node,
            sequence=self._collections,
            taken_at=taken_at,
            taken_boottime=taken_boottime,
            duration_secs=0.0,
            skipped_ticks=self._skipped,
        )
        snapshot = await self._read(self._names(), snapshot)
        return await self._evaluate_and_publish(
            replace(snapshot, duration_secs=loop.time() - started)
        )

    async def _read(self, names: Collection[str], snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with new readings of these sources and their followers."""
        first = [source for name, source in self._sources.items() if name in names]
        attempts = await asyncio.gather(*(self._attempt(each, each.read) for each in first))
        seen = self._joined(snapshot, attempts)
        renewed = {self._types.get(source.name) for source in first}
        following = [
            source
            for name, source in self._followers.items()
            if name in names or source.follows in renewed
        ]
        attempts = await asyncio.gather(
            *(self._attempt(each, partial(each.read_after, seen)) for each in following)
        )
        return self._joined(seen, attempts)

    def _joined(self, snapshot: Snapshot, attempts: Iterable[Attempt]) -> Snapshot:
        """Return the snapshot with these attempts in place of the last.

        A reading that equals the last one of its type is the same object, so that all that was made
        of that one is known to be still right.
        """
        readings = dict(snapshot.readings)
        reports = {report.source: report for report in snapshot.reports}
        for report, reading in attempts:
            reports[report.source] = report
            readings.pop(self._types.get(report.source, type(None)), None)
            if reading is not None:
                value = reading.value
                if value != self._values.get(type(value)):
                    self._values[type(value)] = value
                readings[type(value)] = self._values[type(value)]
        return replace(
            snapshot, readings=MappingProxyType(readings), reports=tuple(reports.values())
        )

    async def _wait_until(self, due: float, snapshot: Snapshot) -> None:
        """Wait for the next collection; publish the readings of woken sources meanwhile."""
        loop = asyncio.get_running_loop()
        while (left := due - loop.time()) > 0:
            waiting = asyncio.ensure_future(self._wake_up.wait())
            try:
                await asyncio.wait({waiting}, timeout=left)
            finally:
                waiting.cancel()
            if not self._wake_up.is_set():
                return
            snapshot = await self._refresh(snapshot)
            await asyncio.sleep(min(EARLY_PUBLISH_SECS, due - loop.time()))

    async def _refresh(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the woken sources read again, and publish it.

        The age of the snapshot stays; faults from the new readings begin now.
        """
        woken = self._woken & self._names()
        self._woken.clear()
        self._wake_up.clear()
        renewed_secs = max(0.0, self._clocks.boottime() - snapshot.taken_boottime)
        renewed = replace(await self._read(woken, snapshot), renewed_secs=renewed_secs)
        return await self._evaluate_and_publish(renewed)

    async def _evaluate_and_publish(self, snapshot: Snapshot) -> Snapshot:
        if self._conclude is not None:
            try:
                snapshot = replace(snapshot, conclusions=await self._conclude(snapshot))
            except Exception:  # a rule breaks: the page has no conclusions
                if self._is_news("conclusions", "failed"):
                    log.exception("evaluation of the rules failed")
            else:
                if self._is_news("conclusions", "ok"):
                    log.info("rules can be evaluated again")
        self._publish(snapshot)
        return snapshot

    def _names(self) -> set[str]:
        return {*self._sources, *self._followers}

    async def _attempt(self, source: AnySource, read: Read) -> Attempt:
        """Call a source once, with its deadline; never raises."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        task = self._running.get(source.name)
        if task is not None and not task.done():
            return self._ended(source, Outcome.STUCK, 0.0, "its last call has not returned yet")
        task = self._running[source.name] = asyncio.ensure_future(_contained(read()))
        task.add_done_callback(_look_at_error)  # a late failure was reported as stuck already
        await wait_for_any({task}, source.deadline_secs)
        duration = loop.time() - started
        if not task.done():
            sentence = f"no answer within {source.deadline_secs:g} s"
            return self._ended(source, Outcome.STUCK, duration, sentence)
        try:
            result = task.result()
        except SourceAbsent as absent:
            return self._ended(source, Outcome.ABSENT, duration, str(absent))
        except SourceFailed as failed:
            return self._ended(source, Outcome.FAILED, duration, str(failed))
        except BaseException as error:  # a source fails: only its reading is lost
            log.debug("source %s failed", source.name, exc_info=error)
            sentence = f"{type(error).__name__}: {error}"
            return self._ended(source, Outcome.FAILED, duration, sentence)
        return self._succeeded(source, result, duration)

    def _succeeded(
        self, source: AnySource, reading: Reading[object], duration_secs: float
    ) -> Attempt:
        now = self._last_success[source.name] = self._clocks.wall()
        self._types[source.name] = type(reading.value)
        if self._is_news(source.name, "ok"):
            log.info("source %s can be read again", source.name)
        report = SourceReport(
            source=source.name,
            outcome=Outcome.OK,
            duration_secs=duration_secs if reading.took_secs is None else reading.took_secs,
            last_success_at=now,
            missing=tuple(reading.missing),
            rejected=reading.rejected,
        )
        return report, reading

    def _ended(
        self, source: AnySource, outcome: Outcome, duration_secs: float, reason: str
    ) -> Attempt:
        if self._is_news(source.name, outcome.value):
            level = logging.INFO if outcome is Outcome.ABSENT else logging.WARNING
            if outcome is Outcome.ABSENT and source.name not in self._last_success:
                level = logging.DEBUG  # it was never there: nothing has changed
            log.log(level, "source %s is %s: %s", source.name, outcome.value, reason)
        report = SourceReport(
            source=source.name,
            outcome=outcome,
            duration_secs=duration_secs,
            reason=reason,
            last_success_at=self._last_success.get(source.name),
        )
        return report, None

    def _is_news(self, about: str, state: str) -> bool:
        """Note the state; return whether it has changed, which a good start has not."""
        before, self._reported[about] = self._reported.get(about, "ok"), state
        return before != state


async def _contained(reading: Awaitable[Reading[object]]) -> Reading[object]:
    """Return the reading; turn exceptions that would end the event loop into RuntimeError."""
    try:
        return await reading
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _look_at_error(task: asyncio.Task[Reading[object]]) -> None:
    """Mark the exception of a finished task as retrieved, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()
