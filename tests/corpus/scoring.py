"""What the rules said of the recordings, against their labels."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from exporter.commands.rules import replayed
from exporter.faults.rules.loader import RuleBook
from exporter.model.verdict import Fault
from tests.corpus.labels import Case


@dataclass(frozen=True, slots=True)
class Result:
    """One recording: what was said of it and what of that was right.

    Faults are written `rule@component`; `roots` are those of the expected faults at last.
    """

    case: Case
    said: frozenset[str]
    found: tuple[str, ...]
    missed: tuple[str, ...]
    wrong: tuple[str, ...]
    roots: frozenset[str] = field(default_factory=frozenset)
    forbidden: tuple[str, ...] = ()
    was_unhealthy: bool = False
    left: tuple[str, ...] = ()  # still active at the end

    @property
    def is_root_right(self) -> bool:
        """Whether the expected faults come from the labelled roots, all of them, and no other."""
        wanted = self.case.root
        return all(any(_fits(root, each) for each in self.roots) for root in wanted) and all(
            any(_fits(root, each) for root in wanted) for each in self.roots
        )


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

    def misses(self) -> Iterable[str]:
        """One line for each thing that was not as labelled."""
        for result in self.results:
            name = result.case.name
            yield from (f"{name}: not said: {each}" for each in result.missed)
            yield from (f"{name}: wrong: {each}" for each in result.wrong)
            if result.case.is_incident and not result.is_root_right:
                roots = ", ".join(sorted(result.roots)) or "nothing"
                yield f"{name}: led back to {roots} instead of {', '.join(result.case.root)}"


def score(cases: Iterable[Case], book: RuleBook) -> Score:
    """Replay all recordings through these rules."""
    return Score(tuple(judged(case, book) for case in cases))


def judged(case: Case, book: RuleBook) -> Result:
    """Replay one recording through these rules."""
    last: dict[str, Fault] = {}
    was_unhealthy = False
    left: tuple[str, ...] = ()
    for _, conclusions in replayed(case.recording(), book):
        was_unhealthy |= not conclusions.is_healthy
        left = tuple(map(_written, conclusions.active))
        last |= {_written(fault): fault for fault in conclusions.active}
    expected = {each for each in last if any(_fits(label, each) for label in case.expect)}
    met = tuple(label for label in case.expect if any(_fits(label, each) for each in last))
    allowed = {each for each in last if any(_fits(label, each) for label in case.may)}
    return Result(
        case,
        frozenset(last),
        found=met,
        missed=tuple(label for label in case.expect if label not in met),
        wrong=tuple(sorted(last.keys() - expected - allowed)),
        roots=frozenset(_root(last[each]) for each in expected),
        forbidden=tuple(each for each in last if any(_fits(no, each) for no in case.never)),
        was_unhealthy=was_unhealthy,
        left=left,
    )


def _written(fault: Fault) -> str:
    return f"{fault.rule}@{fault.subject.hw_id}"


def _root(fault: Fault) -> str:
    if not fault.causes:
        return _written(fault)
    root = fault.causes[-1]
    return f"{root.rule}@{root.subject.hw_id}"


def _fits(label: str, written: str) -> bool:
    """Whether one of the alternatives of a label is this fault; a bare rule fits everywhere."""
    alternatives = (each if "@" in each else f"{each}@*" for each in label.split("|"))
    return any(fnmatchcase(written, _literal(each)) for each in alternatives)


def _literal(pattern: str) -> str:
    return pattern.replace("[", "[[]")
