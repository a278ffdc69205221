"""Puts the judge together and keeps what must survive a restart, never waiting for a disk."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from exporter.config import Config
from exporter.faults import state_file
from exporter.faults.reasoner import Reasoner, rule_book
from exporter.faults.rule_files import RuleBook
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from exporter.sources.interface import CallBlocking

BOOT_ID = "sys/kernel/random/boot_id"
LAST_WRITE_SECS = 0.3

log = logging.getLogger("exporter.faults")


class Judging:
    """What the collector calls with each snapshot; `stopwatch` gives seconds of any origin."""

    def __init__(self, config: Config, call: CallBlocking, stopwatch: Callable[[], float]) -> None:
        self._folder = Path(config.state.dir) if config.state.dir else None
        self._call = call
        self._writing: asyncio.Future[None] | None = None
        self._cannot_write = False
        boot_id = _boot_id(Path(config.sources.proc_root)) if self._folder else ""
        kept = state_file.read(self._folder, boot_id) if self._folder else None
        self._reasoner = Reasoner(loaded_rules(config), stopwatch, boot_id, kept)

    def conclude(self, snapshot: Snapshot) -> Conclusions:
        """Everything that follows from this snapshot and those before."""
        conclusions = self._reasoner.conclude(snapshot)
        self._keep()
        return conclusions

    async def close(self) -> None:
        """Write what has not been written yet, within a moment: the log is not read again."""
        self._keep()
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=LAST_WRITE_SECS)

    def _keep(self) -> None:
        """Begin to write what has changed; a write that is under way goes on to it by itself."""
        if self._folder is None or (self._writing is not None and not self._writing.done()):
            return
        text = self._reasoner.news_to_keep()
        if text is not None:
            self._writing = asyncio.ensure_future(self._write(self._folder, text))

    async def _write(self, folder: Path, text: str) -> None:
        news: str | None = text
        while news is not None:
            await self._write_once(folder, news)
            news = self._reasoner.news_to_keep()

    async def _write_once(self, folder: Path, text: str) -> None:
        try:
            await self._call(lambda: state_file.write(folder, text))
        except OSError as error:
            if not self._cannot_write:
                log.warning("faults cannot be kept in %s: %s", folder, error.strerror)
            self._cannot_write = True
        else:
            self._cannot_write = False


def loaded_rules(config: Config) -> RuleBook:
    """The rules of this configuration; each mistake in them is logged."""
    book = rule_book(config.faults.rules_dirs)
    for mistake in book.mistakes:
        log.warning("rules: %s", mistake)
    return book


def _boot_id(proc: Path) -> str:
    """The name of this boot; empty when it cannot be read: then nothing is kept."""
    try:
        return (proc / BOOT_ID).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
