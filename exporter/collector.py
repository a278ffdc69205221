"""The interface of collectors: sources, metric families, components and rules of one subject."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from exporter.config import Config
from exporter.exposition.family import Family, names_taken
from exporter.exposition.page import Moment
from exporter.faults.replay.renamed import OF_EVERY_READING, OldNames
from exporter.faults.replay.snapshots import RecordedEvents, RecordingFormat
from exporter.faults.rules.loader import RuleBook, load_rules
from exporter.faults.rules.schema import Mistake
from exporter.faults.rules.site import for_site
from exporter.faults.subject import CollectorSubject, Subjects
from exporter.model.reading import Reading
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from exporter.reading.context import SourceContext
from exporter.reading.files import FILE_DEADLINE_SECS, FileSource
from exporter.reading.source import AnySource, Source
from exporter.record import dataclass, replace
from exporter.state import StateFile


class FileReader(Protocol):
    """Reads files of the kernel; blocks."""

    def read(self) -> Reading[object]:
        """Read once; raise SourceAbsent or SourceFailed."""
        ...


class About(NamedTuple):
    """The description of a source in docs/node.md: its files, its families, its requirements.

    `without` says what is missing if the requirements are not met.
    """

    reads: str
    families: str
    needs: str = ""
    without: str = ""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source: its name, the group of `metrics.enabled` it belongs to, and its constructor.

    A source that is not `by_default` runs if `sources.enabled` names it; `is_asked_for` tells
    whether the rest of the configuration enables the source.
    """

    name: str
    group: str
    build: Callable[[SourceContext], AnySource]
    by_default: bool = True
    is_asked_for: Callable[[Config], bool] = lambda _: True
    about: About | None = None

    def runs(self, config: Config) -> bool:
        """Tell whether this configuration runs the source."""
        if self.name in config.sources.disabled or not getattr(config.metrics.enabled, self.group):
            return False
        is_chosen = self.by_default or self.name in config.sources.enabled
        return is_chosen and self.is_asked_for(config)


def files(
    name: str,
    group: str,
    reader: Callable[[SourceContext], FileReader],
    *,
    deadline_secs: float = FILE_DEADLINE_SECS,
    by_default: bool = True,
    about: About | None = None,
) -> SourceRow:
    """Make the row of a source that reads files of the kernel."""

    def build(ctx: SourceContext) -> Source:
        return FileSource(name, reader(ctx).read, ctx.call, deadline_secs)

    return SourceRow(name, group, build, by_default, about=about)


class Detector(Protocol):
    """Finds unusual values in snapshots, and learns from snapshots."""

    def see(self, snapshot: Snapshot, before: Conclusions | None) -> object:
        """Return the findings; `before` holds the conclusions of the last snapshot."""
        ...

    def advance(self) -> bool:
        """Learn for some milliseconds; return False if there is nothing to learn."""
        ...

    def pending_state(self, now: float) -> str | None:
        """Return the state to save for a restart, as text; None if it has not changed."""
        ...


Extend: TypeAlias = Callable[[AnySource, SourceContext], AnySource]
"""Returns a source that also reads the hardware of another collector."""

MakeDetector: TypeAlias = Callable[
    [Config, Path | None, str], tuple[Detector | None, StateFile | None]
]
"""Makes the detector of a configuration, state directory and boot id, with its state file."""


@dataclass(frozen=True, slots=True)
class Collector:
    """One subject.

    `values` are the readings that a recording may hold, `old_names` their field names in older
    recordings, `recorded` the form of events in a recording. `subject` is the collector's part of
    the rule engine; `rules` is a directory of rule files. `configured` returns the collector for a
    configuration, with `mistakes` in files that the configuration names. `extends` adds hardware to
    sources of other collectors, by name. `families_of` returns the families that a snapshot names
    itself, `live_families` those computed at a scrape. `event_names` returns the codes of events to
    which a site may give a severity: kind, `_` and code.
    """

    name: str
    sources: tuple[SourceRow, ...] = ()
    values: tuple[type, ...] = ()
    families: tuple[Family, ...] = ()
    families_of: Callable[[Snapshot], Iterable[Family]] = lambda _: ()
    live_families: Callable[[Moment], Iterable[Family]] = lambda _: ()
    subject: CollectorSubject = field(default_factory=CollectorSubject)
    rules: Path | None = None
    event_names: Callable[[], Iterable[str]] = tuple
    detector: MakeDetector | None = None
    recorded: RecordedEvents | None = None
    old_names: OldNames = field(default_factory=lambda: MappingProxyType({}))
    mistakes: tuple[Mistake, ...] = ()
    configured: "Callable[[Config], Collector] | None" = None
    extends: Mapping[str, Extend] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Collectors:
    """Some collectors, and their sources, families and rules together.

    `nodes` is the file with the base nodes of recordings; `all_rows` imports all collectors, for
    the names of disabled ones.
    """

    rows: tuple[Collector, ...]
    nodes: Path
    all_rows: "Callable[[], Collectors]"

    def __iter__(self) -> Iterator[Collector]:
        """Yield the collectors in the order of the page."""
        return iter(self.rows)

    @cached_property
    def sources(self) -> tuple[SourceRow, ...]:
        """All sources, each with the hardware that other collectors add."""
        return tuple(self._extended(source) for row in self.rows for source in row.sources)

    def _extended(self, source: SourceRow) -> SourceRow:
        more = [row.extends[source.name] for row in self.rows if source.name in row.extends]

        def build(ctx: SourceContext) -> AnySource:
            built = source.build(ctx)
            for extend in more:
                built = extend(built, ctx)
            return built

        return replace(source, build=build) if more else source

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """All declared metric families, in the order of the page."""
        return tuple(family for row in self.rows for family in row.families)

    @cached_property
    def subjects(self) -> Subjects:
        """The parts of the rule engine of all collectors."""
        return Subjects(tuple(row.subject for row in self.rows))

    def rule_book_for(self, config: Config) -> RuleBook:
        """Load the rules of this configuration, with the severities of the site."""
        book = self.rule_book(config.faults.rules_dirs)

        def names_of_all() -> Iterator[str]:
            yield from self.all_rule_names()
            for row in self.all_rows():
                yield from row.event_names()

        return for_site(book, config.faults.severity, config.faults.off, names_of_all)

    def all_rule_names(self) -> frozenset[str]:
        """Return the names of the shipped rules, with those of disabled collectors."""
        return frozenset(rule.id for rule in self.all_rows().rule_book().rules)

    def rule_book(self, further: Iterable[str] = ()) -> RuleBook:
        """Load the shipped rules, then the rules of further files and directories over them.

        The mistakes begin with those in other files that the configuration names.
        """
        places = [*self.rules, *map(Path, further)]
        book = load_rules(places, self.subjects.vocabulary)
        mistakes = (mistake for row in self.rows for mistake in row.mistakes)
        return replace(book, mistakes=(*mistakes, *book.mistakes))

    def detector(
        self, config: Config, folder: Path | None, boot_id: str
    ) -> tuple[Detector | None, StateFile | None]:
        """Make the detector of these collectors, with its state file; None if none has one."""
        makers = (row.detector for row in self.rows if row.detector)
        return next((make(config, folder, boot_id) for make in makers), (None, None))

    @cached_property
    def recordings(self) -> RecordingFormat:
        """The format of recordings with the readings of these collectors."""
        values = {value.__name__: value for row in self.rows for value in row.values}
        events = tuple(row.recorded for row in self.rows if row.recorded is not None)
        old = dict(OF_EVERY_READING)
        for row in self.rows:
            old.update(row.old_names)
        return RecordingFormat(values, events, self.nodes, old)

    @cached_property
    def rules(self) -> tuple[Path, ...]:
        """The directories of the shipped rules."""
        return tuple(row.rules for row in self.rows if row.rules is not None)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all families."""
        return frozenset(
            family.name for family in (*self.families, *self.live_families(Moment(0.0)))
        )

    @cached_property
    def names_taken(self) -> frozenset[str]:
        """The names that external probes cannot use."""
        return frozenset(
            taken
            for family in (*self.families, *self.live_families(Moment(0.0)))
            for taken in names_taken(family.name, family.type.value)
        )

    def families_of(self, snapshot: Snapshot) -> tuple[Family, ...]:
        """Return the declared families, and those that the snapshot names itself."""
        named = (family for row in self.rows for family in row.families_of(snapshot))
        return (*self.families, *named)

    def live_families(self, moment: Moment) -> tuple[Family, ...]:
        """Return the families that are computed at the scrape."""
        return tuple(family for row in self.rows for family in row.live_families(moment))

    def sources_for(self, config: Config) -> tuple[SourceRow, ...]:
        """Return the sources that this configuration runs."""
        return tuple(row for row in self.sources if row.runs(config))
