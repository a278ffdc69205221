"""What the rules said of the recordings, against their labels."""

import json
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from exporter.commands.rules import changes_as_json, concluded
from exporter.faults.entities.graph import SIBLINGS
from exporter.faults.replay.snapshots import START_WALL
from exporter.faults.rules.loader import RuleBook
from exporter.model.verdict import SEVERITIES, Conclusions
from tests.corpus.alerted import Alerted, wait_of, written
from tests.corpus.cases import Case, Tree
from tests.corpus.invariants import Watch


@dataclass(frozen=True, slots=True)
class Result:
    """One recording: what was said of it and what of that was right.

    Faults are written `rule@component`; `roots` are those of the expected faults at last, `shown`
    those of all faults of at least a warning at any time.
    """

    case: Case
    said: frozenset[str]
    found: tuple[str, ...]
    missed: tuple[str, ...]
    wrong: tuple[str, ...]
    roots: frozenset[str] = field(default_factory=frozenset)
    shown: frozenset[str] = field(default_factory=frozenset)  # roots of warning or worse, ever
    paged: frozenset[str] = field(
        default_factory=frozenset
    )  # those that outlast their alert's wait
    forbidden: tuple[str, ...] = ()
    was_unhealthy: bool = False
    is_healthy: bool = True  # at the end
    left: tuple[str, ...] = ()  # still active at the end
    contradictions: tuple[str, ...] = ()  # moments at which verdict, severity, status disagree
    holes: tuple[str, ...] = ()  # bad samples of which no fault says anything
    unalerted: tuple[str, ...] = ()  # roots of incidents that no alert tells of
    untrue: tuple[str, ...] = ()  # sentences that their evidence does not bear
    got_well: tuple[str, ...] = ()  # faults that began because something got well

    @property
    def is_verdict_right(self) -> bool:
        """Whether the node was said to be unfit where the label says so, and fit at its end."""
        unfit, fit = self.case.unfit, self.case.fit_at_end
        return unfit in (None, self.was_unhealthy) and fit in (None, self.is_healthy)

    @property
    def too_short(self) -> tuple[str, ...]:
        """What should have lasted to the end and did not."""
        return tuple(
            label for label in self.case.lasts if not any(fits(label, each) for each in self.left)
        )

    @property
    def too_long(self) -> tuple[str, ...]:
        """What should have been gone at the end and was not."""
        if self.case.is_over:
            return self.left
        gone = self.case.gone
        return tuple(each for each in self.left if any(fits(label, each) for label in gone))

    @property
    def is_root_right(self) -> bool:
        """Whether the expected faults come from the labelled roots, all of them, and no other."""
        wanted = self.case.root
        return all(any(fits(root, each) for each in self.roots) for root in wanted) and all(
            any(fits(root, each) for root in wanted) for each in self.roots
        )

    @property
    def is_one_root(self) -> bool:
        """Whether no more roots of at least a warning were shown than there are causes."""
        return len(self.shown) <= len(self.case.root)

    @property
    def is_one_alert(self) -> bool:
        """Whether no more of them were roots for so long that their alert fires."""
        return len(self.paged) <= len(self.case.root)


@dataclass(frozen=True, slots=True)
class Score:
    """The figures over all recordings; shares are 0 to 1."""

    results: tuple[Result, ...]

    @property
    def precision(self) -> float:
        """How much of what was said is right; what is neither right nor wrong does not count."""
        right = sum(len(result.found) for result in self.results)
        return right / max(1, right + sum(len(result.wrong) for result in self.results))

    @property
    def recall(self) -> float:
        """How much of what is broken was said."""
        right = sum(len(result.found) for result in self.results)
        return right / max(1, right + sum(len(result.missed) for result in self.results))

    @property
    def root_right(self) -> float:
        """In how many incidents everything was led back to the right root."""
        incidents = [result for result in self.results if result.case.is_incident]
        return sum(result.is_root_right for result in incidents) / max(1, len(incidents))

    @property
    def one_root(self) -> float:
        """In how many incidents no more roots were shown than there are causes."""
        incidents = [result for result in self.results if result.case.is_incident]
        return sum(result.is_one_root for result in incidents) / max(1, len(incidents))

    @property
    def one_alert(self) -> float:
        """In how many incidents no more alerts fire than there are causes."""
        incidents = [result for result in self.results if result.case.is_incident]
        return sum(result.is_one_alert for result in incidents) / max(1, len(incidents))

    @property
    def silent(self) -> float:
        """In how many nodes without an incident nothing of at least a warning was said."""
        healthy = [result for result in self.results if not result.case.is_incident]
        return sum(not result.shown for result in healthy) / max(1, len(healthy))

    @property
    def verdict_right(self) -> float:
        """In how many recordings that say it the node was unfit when it should, and only then."""
        says = (None, None)
        told = [r for r in self.results if (r.case.unfit, r.case.fit_at_end) != says]
        return sum(result.is_verdict_right for result in told) / max(1, len(told))

    @property
    def end_right(self) -> float:
        """In how many recordings that say it faults lasted as long as they should, no longer."""
        told = [r for r in self.results if r.case.lasts or r.case.gone or r.case.is_over]
        return sum(not (r.too_short or r.too_long) for r in told) / max(1, len(told))

    def misses(self) -> Iterable[str]:
        """One line for each thing that was not as labelled."""
        for result in self.results:
            name = result.case.name
            yield from (f"{name}: not said: {each}" for each in result.missed)
            yield from (f"{name}: wrong: {each}" for each in result.wrong)
            if result.case.is_incident and not result.is_root_right:
                roots = ", ".join(sorted(result.roots)) or "nothing"
                yield f"{name}: led back to {roots} instead of {', '.join(result.case.root)}"
            if result.case.is_incident and not result.is_one_root:
                shown = ", ".join(sorted(result.shown))
                pages = len(result.paged)
                yield f"{name}: {len(result.shown)} roots, {pages} alerts: {shown}"
            if not result.is_verdict_right:
                was = "unfit" if result.was_unhealthy else "fit"
                at_end = "fit" if result.is_healthy else "unfit"
                yield f"{name}: the node was said to be {was}, {at_end} at the end"
            yield from (f"{name}: ended too soon: {each}" for each in result.too_short)
            yield from (f"{name}: has not ended: {each}" for each in result.too_long)
            yield from (f"{name}: forbidden: {each}" for each in result.forbidden)
            yield from (f"{name}: contradicts itself: {each}" for each in result.contradictions)
            yield from (f"{name}: untrue: {each}" for each in result.untrue)
            yield from (f"{name}: says nothing of: {each}" for each in result.holes)
            yield from (f"{name}: no alert tells of: {each}" for each in result.unalerted)
            yield from (f"{name}: begins as it gets well: {each}" for each in result.got_well)


def score(cases: Iterable[Case], book: RuleBook) -> Score:
    """Replay all recordings through these rules."""
    return Score(tuple(judged(case, book) for case in cases))


def judged(case: Case, book: RuleBook) -> Result:
    """Replay one recording through these rules, and read what `rules replay --json` prints."""
    contradictions: dict[str, None] = {}
    watch, alerted = Watch(), Alerted()
    unalerted: dict[str, None] = {}
    siblings: dict[str, set[str]] = {}

    def moments() -> Iterator[tuple[float, Conclusions]]:
        for snapshot, conclusions in concluded(case.recording(), book):
            contradictions.update(dict.fromkeys(_contradictions(conclusions)))
            watch.look(snapshot, conclusions)
            unalerted.update(dict.fromkeys(alerted.look(snapshot.taken_at, conclusions)))
            for fault in conclusions.active:
                if fault.causes and fault.causes[0].via == SIBLINGS:
                    parent = fault.causes[0]
                    name = f"{parent.rule}@{parent.subject.hw_id}"
                    is_first = parent.subject.kind == fault.subject.kind  # of them, told earlier
                    siblings.setdefault(name, {name} if is_first else set()).add(written(fault))
            yield snapshot.taken_at - START_WALL, conclusions

    said = _result(case, [json.loads(line) for line in changes_as_json(moments())], siblings)
    return replace(
        said,
        contradictions=tuple(contradictions),
        holes=tuple(watch.holes),
        unalerted=tuple(unalerted),
        untrue=tuple(watch.untrue),
        got_well=tuple(watch.got_well),
    )


def _result(case: Case, changes: list[Tree], siblings: Mapping[str, AbstractSet[str]]) -> Result:
    """Compare with the labels; `siblings` are the faults that one of their parent stands for."""
    last: dict[str, str] = {}  # by fault its root, as it was said last
    shown = _Shown()
    left: tuple[str, ...] = ()
    for change in changes:
        active = [fault for fault in change["faults"] if fault["state"] == "active"]
        left = tuple(map(_name, active))
        last |= {_name(fault): _name(fault["root"]) for fault in active}
        shown.see(change["time"], [_name(f["root"]) for f in active if f["severity"] != "info"])
    parents = {each for each, parts in siblings.items() if each not in parts}
    last = {each: root for each, root in last.items() if each not in parents}
    expected = {each for each in last if any(fits(label, each) for label in case.expect)}
    met = tuple(label for label in case.expect if any(fits(label, each) for each in last))
    allowed = {each for each in last if any(fits(label, each) for label in case.may)}
    return Result(
        case,
        frozenset(last),
        found=met,
        missed=tuple(label for label in case.expect if label not in met),
        wrong=tuple(sorted(last.keys() - expected - allowed)),
        roots=frozenset(
            it for e in expected for it in siblings.get(last[e], set()) & expected or {last[e]}
        ),
        shown=frozenset(shown.ever),
        paged=frozenset(shown.alerted()),
        forbidden=tuple(each for each in last if any(fits(no, each) for no in case.never)),
        was_unhealthy=not all(change["healthy"] for change in changes),
        is_healthy=all(change["healthy"] for change in changes[-1:]),
        left=left,
    )


@dataclass(slots=True)
class _Shown:
    """The roots that were shown, and those of them for which an alert fires; times in seconds."""

    ever: set[str] = field(default_factory=set)
    _alerted: set[str] = field(default_factory=set)
    _since: dict[str, float] = field(default_factory=dict)

    def see(self, now: float, roots: Iterable[str]) -> None:
        """Take in the roots of this moment."""
        current = set(roots)
        over = {name: since for name, since in self._since.items() if name not in current}
        self._alerted |= {name for name, since in over.items() if now - since > wait_of(name)}
        self._since = {name: self._since.get(name, now) for name in current}
        self.ever |= current

    def alerted(self) -> set[str]:
        """Return the roots that outlasted the wait of their alert; those of the end do."""
        return self._alerted | self._since.keys()


def _contradictions(conclusions: Conclusions) -> Iterator[str]:
    """Yield what of one moment's faults, roots, statuses and verdict does not go together."""
    active = {written(fault): fault for fault in conclusions.active}
    statuses = {subject.key: status for subject, status in conclusions.statuses}
    is_critical = any(fault.severity == "critical" for fault in active.values())
    if conclusions.is_healthy is is_critical:
        yield f"healthy is {conclusions.is_healthy}"
    for name, fault in active.items():
        root = active.get(written(fault.root))
        if root and SEVERITIES.index(root.severity) > SEVERITIES.index(fault.severity):
            yield f"{written(root)} is {root.severity}, {name} that follows is {fault.severity}"
        status = statuses[fault.subject.key]
        if fault.severity == "critical" and status not in ("failed", "predicted_failure"):
            yield f"{name} is critical, but its component is {status}"


def _name(fault: Tree) -> str:
    return f"{fault['rule']}@{fault['component']['hw_id']}"


def fits(label: str, written: str) -> bool:
    """Whether one of the alternatives of a label is this fault; a bare rule fits everywhere."""
    alternatives = (each if "@" in each else f"{each}@*" for each in label.split("|"))
    return any(fnmatchcase(written, _literal(each)) for each in alternatives)


def _literal(pattern: str) -> str:
    return pattern.replace("[", "[[]")
