"""Runs the rules in a thread, and saves state for a restart without waiting for storage."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from exporter.blocking import CallBlocking
from exporter.collector import Collectors
from exporter.config import Config
from exporter.faults import fault_history, persistence, silences
from exporter.faults.alert_state import BRIDGED_SECS
from exporter.faults.engine import RuleEngine
from exporter.faults.silences import BadSilence, Silences
from exporter.model.silence import Silence
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Key
from exporter.record import dataclass
from exporter.state import BOOT_ID, StateFile, read_boot_id

LAST_WRITE_SECS = 0.3
SILENCE_WRITE_SECS = 2.0
CLEAR_SECS = 10.0
LATE_INTERVALS = 3
"""A later evaluation was none: the node was suspended, or its virtual machine or we stopped."""
MAX_SLICES = 5
"""Slices of training after a collection, two milliseconds each: 0.07 % of a core."""

log = logging.getLogger("exporter.faults")

News = dict[StateFile, str]
"""The changed state to save for a restart: the text of each file."""

Judged = tuple[Conclusions, News]


@dataclass(frozen=True, slots=True)
class Clearing:
    """A request to clear faults; `still_active` gets the components whose fault goes on."""

    rule: str
    keys: tuple[Key, ...]
    boottime: float
    still_active: "asyncio.Future[tuple[Key, ...]]"


class RuleRunner:
    """Evaluates each snapshot by the `rules`; `stopwatch` returns seconds of any origin.

    What was saved of the node is loaded under its present name `node`; an empty `node` changes no
    name. A pause of more than `longest_pause_secs` does not count towards the `for` of a rule.

    The rules for ten thousand processes take a fifth of a second: in a thread, scrapes do not wait
    for them. Only one snapshot is evaluated at a time.
    """

    _evaluating: asyncio.Future[Judged] | None = None
    _writing: asyncio.Future[None] | None = None
    _fitting: asyncio.Future[None] | None = None
    _rereading: asyncio.Future[None] | None = None

    def __init__(
        self,
        config: Config,
        collectors: Collectors,
        call: CallBlocking,
        stopwatch: Callable[[], float],
        node: str = "",
        *,
        longest_pause_secs: float | None = None,
    ) -> None:
        self._call = call
        self._pending: News = {}  # to be written
        folder = Path(config.state.dir) if config.state.dir else None
        boot_id = read_boot_id(Path(config.sources.proc_root) / BOOT_ID) if folder else ""
        self._file = persistence.state_file(folder, boot_id) if folder else None
        kept = self._file.load(partial(persistence.decode, node=node)) if self._file else None
        self._history_file = fault_history.state_file(folder) if folder else None
        self._detectors, self._learned_file = collectors.detector(config, folder, boot_id)
        detect = self._detectors.see if self._detectors else None
        late_secs = LATE_INTERVALS * config.metrics.collect_interval_secs
        book = collectors.rule_book_for(config)
        for mistake in book.mistakes:
            log.warning("rules: %s", mistake)
        self.mistakes = tuple(map(str, book.mistakes))
        self.rules = {rule.id: rule for rule in book.rules}
        silences_file = silences.state_file(folder) if folder else None
        files = self._file, self._history_file, self._learned_file, silences_file
        self._files = tuple(filter(None, files))
        self._silences = Silences(
            silences_file, config.faults.silences_dirs, self.rules, collectors.all_rule_names, node
        )
        self._clears: list[Clearing] = []
        self._engine = RuleEngine(
            book,
            collectors.subjects,
            stopwatch,
            boot_id,
            kept=kept,
            detect=detect,
            history=fault_history.load(self._history_file, node) if self._history_file else None,
            longest_pause_secs=longest_pause_secs or max(BRIDGED_SECS, late_secs),
        )

    async def conclude(self, snapshot: Snapshot) -> Conclusions:
        """Return the conclusions from this snapshot and those before."""
        clears, self._clears = self._clears, []
        evaluate = partial(self._evaluate, snapshot, clears)
        self._evaluating = asyncio.ensure_future(self._call(evaluate))
        self._evaluating.add_done_callback(self._take)
        # Shielded: the result of an evaluation must be written also when we are stopped.
        conclusions, _ = await asyncio.shield(self._evaluating)
        active = {(fault.rule, fault.subject.key) for fault in conclusions.active}
        for clearing in clears:
            if not clearing.still_active.done():
                still = tuple(key for key in clearing.keys if (clearing.rule, key) in active)
                clearing.still_active.set_result(still)
        now = snapshot.taken_at + snapshot.renewed_secs
        if self._silences.has_places:
            await self._reread(now)
        return self._silences.applied(conclusions, now)

    async def _reread(self, now: float) -> None:
        """Read changed files of silences; a hanging filesystem is not waited for."""
        if self._rereading is None or self._rereading.done():
            reread = self._call(partial(self._silences.reread, now))
            self._rereading = asyncio.ensure_future(reread)
        await asyncio.wait({self._rereading}, timeout=LAST_WRITE_SECS)

    def silences(self, now: float) -> tuple[Silence, ...]:
        """Return the silences that have not ended at this time since the epoch."""
        return self._silences.active(now)

    async def silence(
        self, wanted: Mapping[str, Any], conclusions: Conclusions, now: float
    ) -> tuple[Silence, bool]:
        """Add a silence; return whether it was saved for a restart. Raises BadSilence."""
        made = self._silences.add(wanted, conclusions, now)
        log.info("silence %s was added by %s: %s", made.id, made.by, made.reason)
        return made, await self._are_saved()

    async def end_silence(self, id_: str, now: float) -> tuple[Silence, bool]:
        """End a silence; return whether it stays ended after a restart. Raises BadSilence."""
        ended = self._silences.end(id_, now)
        log.info("silence %s was ended", ended.id)
        return ended, not self._silences.has_file or await self._are_saved()

    async def _are_saved(self) -> bool:
        """Save the silences; False if that fails, or is not done within two seconds."""
        saving = asyncio.ensure_future(self._call(self._silences.save))
        await asyncio.wait({saving}, timeout=SILENCE_WRITE_SECS)
        return saving.done() and saving.result()

    async def clear(self, rule: str, keys: tuple[Key, ...], boottime: float) -> tuple[Key, ...]:
        """Clear faults at the next evaluation, until new evidence comes.

        Returns the components whose fault began again at once, after that evaluation. Raises
        BadSilence if the rules are not evaluated for `CLEAR_SECS`.
        """
        clearing = Clearing(rule, keys, boottime, asyncio.get_running_loop().create_future())
        self._clears.append(clearing)
        await asyncio.wait({clearing.still_active}, timeout=CLEAR_SECS)
        if not clearing.still_active.done():
            raise BadSilence("the rules are not evaluated now; the fault is cleared when they are")
        return clearing.still_active.result()

    async def reload(self, config: Config, collectors: Collectors) -> None:
        """Load the rules of this configuration for all further snapshots; raise ValueError."""
        book = await self._call(lambda: collectors.rule_book_for(config))
        if book.mistakes:
            raise ValueError("\n".join(map(str, book.mistakes)))
        while self._evaluating is not None and not self._evaluating.done():
            await asyncio.wait({self._evaluating})
        self.mistakes = ()
        self.rules = {rule.id: rule for rule in book.rules}
        self._silences = self._silences.renewed(
            config.faults.silences_dirs, self.rules, collectors.all_rule_names
        )
        self._engine.take(book, collectors.subjects)

    async def close(self) -> None:
        """Write pending state, within a moment: the log is not read again."""
        if self._evaluating is not None:
            await asyncio.wait({self._evaluating}, timeout=LAST_WRITE_SECS)
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=LAST_WRITE_SECS)

    def _evaluate(self, snapshot: Snapshot, clears: Iterable[Clearing]) -> Judged:
        for clearing in clears:
            for key in clearing.keys:
                self._engine.clear(clearing.rule, key, clearing.boottime)
        conclusions, news = self._engine.conclude(snapshot), News()
        if self._file is not None and (text := self._engine.pending_state()):
            news[self._file] = text
        if self._history_file is not None and (text := self._engine.history.pending_text()):
            news[self._history_file] = text
        learned = self._detectors and self._detectors.pending_state(snapshot.taken_boottime)
        if self._learned_file is not None and learned:
            news[self._learned_file] = learned
        return conclusions, news

    def _take(self, judged: "asyncio.Future[Judged]") -> None:
        """Write the new state of an evaluation, even if its conclusions are no longer awaited."""
        if judged.cancelled() or judged.exception() is not None:
            return
        _, news = judged.result()
        self._pending |= news
        is_writing = self._writing is not None and not self._writing.done()
        is_wanted = bool(self._pending) or any(file.unsaved is not None for file in self._files)
        if is_wanted and not is_writing:  # a running write takes it too
            self._writing = asyncio.ensure_future(self._write())
        if self._detectors is not None and (self._fitting is None or self._fitting.done()):
            self._fitting = asyncio.ensure_future(self._fit(self._detectors.advance))

    async def _write(self) -> None:
        while self._pending:
            file, text = self._pending.popitem()
            await self._call(partial(file.save, text))
        for file in self._files:
            if file.unsaved is not None:
                await self._call(file.save_again)

    async def _fit(self, advance: Callable[[], bool]) -> None:
        """Train the detectors in slices, between which the event loop runs."""
        try:
            for _ in range(MAX_SLICES):
                if not await self._call(advance):
                    return
        except Exception:  # training fails: scores use the last model
            log.exception("training of the detectors failed")
