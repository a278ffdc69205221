"""Runs an external probe: starts it, reads its lines, and restarts it."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial

from exporter.collectors.external_probes.kept_series import KeptSeries
from exporter.collectors.external_probes.lines import Gone, LineReader, ProbeRecord
from exporter.collectors.external_probes.pace import Pace
from exporter.collectors.external_probes.values import ProbeState
from exporter.config import ProbeCommand
from exporter.durations import parse_duration
from exporter.model.event import Event
from exporter.model.label import clean_text
from exporter.probes.backoff import LONGEST_BACKOFF_SECS, Backoff
from exporter.probes.child import Child, Command
from exporter.probes.protocol import BadLine, LineSplitter, decode_line
from exporter.reading.context import SourceContext

MAX_LINE_BYTES = 64 * 1024
DEFAULT_DEADLINE_SECS = 10.0

log = logging.getLogger("exporter.probes")


class StreamProbe:
    """One external probe and its last values, with bounds on everything.

    It runs for ever (`every_secs` None), or every so many seconds. After `deadline_secs` of silence
    its values are stale; a run of an interval probe that takes longer is killed.
    """

    def __init__(
        self, probe: ProbeCommand, ctx: SourceContext, on_event: Callable[[Event], None]
    ) -> None:
        self.name = probe.name
        self._command = Command(probe.command, ctx.child_environment)
        self._every_secs = parse_duration(probe.every) if probe.mode == "interval" else None
        self._deadline_secs = parse_duration(probe.deadline) or DEFAULT_DEADLINE_SECS
        self._children = ctx.children
        self._reader = LineReader(probe.name, ctx.is_metric_taken, ctx.boottime)
        self._boottime = ctx.boottime
        self._on_event = on_event
        self._shown = KeptSeries()
        self._run: KeptSeries  # the series of the present run
        self._has_run_spoken: bool
        self._lines: Counter[str] = Counter()
        self._restarts = 0
        self._spoke_at: float | None = None
        self._pace = Pace(ctx.boottime)
        self._has_complained = False

    def state(self) -> ProbeState:
        """Return the state of the probe, with the values that may still be shown."""
        spoke = self._spoke_at
        life_secs = self._deadline_secs + (self._every_secs or 0.0)
        state = ProbeState(
            name=self.name,
            up=spoke is not None,
            restarts=self._restarts,
            lines=tuple(sorted((result, float(n)) for result, n in self._lines.items())),
            values=self._shown.values,
            metrics=self._shown.metrics,
            expires=None if spoke is None else spoke + life_secs,
        )
        return state.at(self._boottime())

    async def run(self) -> None:
        """Keep the probe running until cancelled."""
        backoff = Backoff()
        loop = asyncio.get_running_loop()
        while True:
            started = loop.time()
            self._run, self._has_run_spoken = KeptSeries(), False
            ended_well = await self._run_once()
            if self._has_run_spoken:
                self._shown = self._run
            if self._every_secs is not None and ended_well:
                backoff.reset()
                await asyncio.sleep(started + self._every_secs - loop.time())
                continue
            self._restarts += 1
            if loop.time() - started > LONGEST_BACKOFF_SECS:
                backoff.reset()
            await asyncio.sleep(backoff.next_secs())

    async def _run_once(self) -> bool:
        """Run the child once; return whether it ended by itself with exit code 0."""
        splitter = LineSplitter(MAX_LINE_BYTES)
        lives: list[Child] = []
        on_output = partial(self._on_output, lives, splitter)
        try:
            child = self._children.start(self._command, on_output, partial(self._on_errors, lives))
        except OSError as error:
            self._complain(f"cannot be started: {error.strerror}")
            return False
        lives.append(child)
        limit = None if self._every_secs is None else self._deadline_secs
        try:
            await asyncio.wait({child.exited}, timeout=limit)
        except asyncio.CancelledError:
            child.kill()
            raise
        if not await self._children.end(child):
            await child.exited  # no second child is started while one does not die
        return child.exited.result() == 0

    def _on_output(self, lives: list[Child], splitter: LineSplitter, chunk: bytes) -> None:
        if self._take(chunk, splitter):
            self._slow_down(lives, chunk)
        else:
            lives[0].kill()

    def _on_errors(self, lives: list[Child], chunk: bytes) -> None:
        log.debug("probe %s writes to standard error: %s", self.name, clean_text(chunk[:500]))
        self._slow_down(lives, chunk)

    def _slow_down(self, lives: list[Child], chunk: bytes) -> None:
        if secs := self._pace.pause_secs(len(chunk)):
            lives[0].pause_reading(secs)

    def _take(self, chunk: bytes, splitter: LineSplitter) -> bool:
        """Parse the lines of a chunk; return False if the probe must be ended."""
        try:
            lines = splitter.feed(chunk)
        except BadLine as error:
            self._bad(str(error))
            return False
        for line in lines:
            if not self._pace.takes_line():
                self._lines["dropped"] += 1
                continue
            try:
                self._keep(self._reader.parse(decode_line(line)))
            except Exception as error:  # noqa: BLE001 - whatever a line raises, the next is read
                what = str(error) if isinstance(error, BadLine) else type(error).__name__
                self._bad(f"{what}: {clean_text(line[:200])}")
        return True

    def _keep(self, reported: ProbeRecord) -> None:
        self._spoke_at = self._boottime()
        self._has_run_spoken = True
        if self._every_secs is None:  # an interval run counts as a whole, at its end
            self._shown = self._run  # a new run does not renew values of the last
        is_kept = True
        if isinstance(reported, Event):
            self._on_event(reported)
        elif isinstance(reported, Gone):
            self._run.drop(reported.name, reported.labels)
        else:
            is_kept = self._run.keep(reported)
        self._lines["good" if is_kept else "dropped"] += 1

    def _bad(self, sentence: str) -> None:
        self._lines["bad"] += 1
        self._complain(sentence)

    def _complain(self, sentence: str) -> None:
        """Log the first complaint; further ones are only counted."""
        if not self._has_complained:
            log.warning("probe %s: %s", self.name, clean_text(sentence))
        self._has_complained = True
