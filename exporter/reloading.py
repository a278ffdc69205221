"""Reloads the configuration while the exporter runs, and reports keys that need a restart."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Protocol, runtime_checkable

from exporter.blocking import CallBlocking
from exporter.collector import Collectors
from exporter.collectors import chosen
from exporter.config import Config
from exporter.reading.context import SourceContext
from exporter.reading.source import AnySource
from exporter.record import replace
from exporter.rule_runner import RuleRunner
from exporter.web.server.security import Security

RELOADED = ("faults.", "kernel_log.patterns_dirs", "server.tls.", "server.auth.")
NOT_RELOADED = "faults.enabled"

log = logging.getLogger("exporter")

Reread = Callable[[], Config]
"""Reads and checks the whole configuration; raises ValueError with one line per mistake."""


@runtime_checkable
class Reloadable(Protocol):
    """A source with files of the operator that can be read again."""

    name: str

    def reload(self, renewed: object) -> None:
        """Take the settings of `renewed`, the same source built again."""


class Reloader:
    """Applies new rules, patterns, severities, tokens and certificates of the configuration.

    With any mistake nothing changes; `now` returns seconds since the epoch.
    """

    def __init__(
        self, config: Config, reread: Reread, call: CallBlocking, now: Callable[[], float]
    ) -> None:
        self._config = config
        self._reread = reread
        self._call = call
        self._now = now
        self._one_at_a_time = asyncio.Lock()
        self.is_successful = True
        self.succeeded_at = now()

    async def reload(
        self,
        security: Security,
        runner: RuleRunner | None,
        sources: Iterable[AnySource],
        context: SourceContext,
    ) -> tuple[str, ...]:
        """Reload; return the changed keys that need a restart. Raises ValueError for mistakes."""
        async with self._one_at_a_time:
            try:
                found = await self._call(self._reread)
                credentials = await self._call(lambda: Security(found.server, self._call))
                config = _with(context.config, found)
                collectors = await self._call(lambda: chosen(config))
                if runner is not None:
                    await runner.reload(config, collectors)
            except ValueError as mistake:
                self.is_successful = False
                sentence = "; ".join(str(mistake).splitlines())
                log.error("the configuration was not reloaded: %s", sentence)  # noqa: TRY400 - one sentence says it
                raise ValueError(sentence) from mistake
            security.take(credentials)
            _renew(sources, collectors, replace(context, config=config))
            kept = tuple(key for key in _changed(self._config, found) if not _is_reloaded(key))
            if kept:
                log.warning("changed, but needs a restart: %s", ", ".join(kept))
            log.info("the configuration was reloaded")
            self.is_successful, self.succeeded_at = True, self._now()
            return kept


def _with(old: Config, found: Config) -> Config:
    """Return the running configuration with the reloadable keys of the new one."""
    patterns = found.kernel_log.patterns_dirs
    return replace(
        old,
        faults=replace(found.faults, enabled=old.faults.enabled),
        kernel_log=replace(old.kernel_log, patterns_dirs=patterns),
        server=replace(old.server, tls=found.server.tls, auth=found.server.auth),
    )


def _renew(sources: Iterable[AnySource], collectors: Collectors, context: SourceContext) -> None:
    """Pass to each reloadable source the settings of a newly built one."""
    rows = {row.name: row for row in collectors.sources_for(context.config)}
    for source in sources:
        if isinstance(source, Reloadable) and source.name in rows:
            source.reload(rows[source.name].build(context))


def _changed(old: object, new: object, prefix: str = "") -> Iterator[str]:
    """Yield the names of the keys that differ."""
    if not (is_dataclass(old) and is_dataclass(new)):
        if old != new:
            yield prefix
        return
    for each in fields(old):
        name = f"{prefix}.{each.name}" if prefix else each.name
        yield from _changed(getattr(old, each.name), getattr(new, each.name), name)


def _is_reloaded(key: str) -> bool:
    return key.startswith(RELOADED) and key != NOT_RELOADED
