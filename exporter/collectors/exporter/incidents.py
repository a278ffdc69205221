"""Incidents: each root cause with the faults that follow from it, in one text for all outputs."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from exporter.model.label import clean_text
from exporter.model.silence import Silence
from exporter.model.summary import grouped_summary
from exporter.model.verdict import (
    PLAIN_NAMING,
    SEVERITIES,
    Cause,
    Conclusions,
    Fault,
    Naming,
    Subject,
)
from exporter.record import dataclass

MAX_NAMED = 4
MAX_SUMMARY_CHARS, MAX_AFFECTS_CHARS, MAX_ACTION_CHARS = 300, 240, 600
ARTICLES = ("The ", "A ", "An ", "No ", "One ", "Fewer ", "Errors ", "Memory ")
_OPTION = re.compile(r"(?<= -i )\d{1,3}(?=`)")
"""The last word of a command, which takes the numbers of components, separated by commas."""

_NUMBERED = re.compile(r"(.+) (\d{1,3})")


@dataclass(frozen=True, slots=True)
class Incident:
    """A root cause with the faults that follow from it; `roots` is empty once the root has ended.

    `heads` are the faults whose alerts tell of the incident: its roots, else the gravest of those
    that stand alone; empty where there is none.
    `summary` says what is broken. `affects` names numbered components, pods and jobs; empty where
    none is known. `action` is the advice of the root. `since` is in seconds since the epoch.
    `silence` is set if all faults of the incident are silenced; else `severity` is the highest of
    the faults that are not.
    """

    rule: str
    roots: tuple[Fault, ...]
    heads: tuple[Fault, ...]
    follows: tuple[Fault, ...]
    severity: str
    since: float
    summary: str
    affects: str
    action: str
    silence: Silence | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All faults of the incident, roots first."""
        return (*self.roots, *self.follows)

    @property
    def details(self) -> str:
        """Subjects affected, the time of the start, and what to do; no age: texts stay equal."""
        affects = f"Affects {self.affects}. " if self.affects else ""
        when = time.strftime("%d %b %H:%M UTC", time.gmtime(self.since)).lstrip("0")
        return f"{affects}Since {when}. {self.action}".strip()

    @property
    def text(self) -> str:
        """The summary, then the details."""
        return f"{self.summary}. {self.details}"


def severity_rank(severity: str) -> int:
    """Return the rank of a severity: 0 for the highest."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def incidents_of(conclusions: Conclusions | None) -> tuple[Incident, ...]:
    """Group active faults by root: by severity, then the oldest first."""
    if conclusions is None:
        return ()
    active = {_place(fault): fault for fault in conclusions.active}
    groups: dict[tuple[str, Subject], list[Fault]] = {}
    for fault in active.values():
        groups.setdefault(_place(fault.root), []).append(fault)
    words = _Words(
        conclusions.namings, Counter(subject.hw_type for subject in conclusions.subjects)
    )
    incident = (_incident(faults, words) for faults in groups.values())
    return tuple(
        sorted(
            incident, key=lambda it: (severity_rank(it.severity), not it.roots, it.since, it.rule)
        )
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """The naming and the number of components by type in labels."""

    namings: Mapping[str, Naming]
    totals: Mapping[str, int]

    def of(self, hw_type: str) -> Naming:
        return self.namings.get(hw_type, PLAIN_NAMING)

    def together(self, alike: Sequence[tuple[Subject, str]]) -> str:
        """Summarize equal faults of several components."""
        hw_type = alike[0][0].hw_type
        return grouped_summary(alike, self.of(hw_type), self.totals.get(hw_type, 0))


def _place(row: Fault | Cause) -> tuple[str, Subject]:
    return row.rule, row.subject


def _incident(faults: Sequence[Fault], words: _Words) -> Incident:
    roots = tuple(fault for fault in faults if fault.is_root)
    follows = tuple(fault for fault in faults if not fault.is_root)
    loud = [fault for fault in faults if fault.silence is None]
    worst = min(
        loud or faults, key=lambda fault: (severity_rank(fault.severity), not fault.is_root)
    )
    first = min(roots, key=lambda fault: fault.since) if roots else worst.root
    guide = first if isinstance(first, Fault) else worst
    action = guide.advice or guide.action.replace("_", " ").capitalize()
    siblings = (fault.subject.hw_name for fault in follows if fault.rule == first.rule)
    if numbers := _numbers(siblings):
        action = _OPTION.sub(",".join(map(str, numbers)), action)
    return Incident(
        rule=first.rule,
        roots=roots,
        heads=roots or _gravest(fault for fault in follows if fault.stands_alone),
        follows=follows,
        severity=worst.severity,
        since=first.since or worst.since,
        summary=clean_text(_summary(first, roots, follows, words), MAX_SUMMARY_CHARS),
        affects=clean_text(_affects(faults, words), MAX_AFFECTS_CHARS),
        action=clean_text(action, MAX_ACTION_CHARS),
        silence=None if loud else guide.silence,
    )


def _gravest(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    return tuple(sorted(faults, key=lambda it: (severity_rank(it.severity), it.since))[:1])


def _summary(
    first: Fault | Cause,
    roots: Sequence[Fault],
    follows: Sequence[Fault],
    words: _Words,
) -> str:
    """Say what broke and why: the worst consequence, because of the root."""
    cause = first.summary or f"{first.rule} of {first.subject.hw_name}"
    effects = [fault for fault in follows if fault.rule != first.rule]  # not of the root's rule
    if not effects:
        return cause
    worst = min(effects, key=lambda fault: severity_rank(fault.severity))
    root_rank = min((severity_rank(root.severity) for root in roots), default=len(SEVERITIES))
    alike = [(fault.subject, fault.summary) for fault in effects if fault.rule == worst.rule]
    effect = worst.summary if len(alike) == 1 else words.together(alike)
    if isinstance(first, Cause) and first.ended is not None:
        return f"{effect}; it began with a fault that has ended: {within_sentence(cause)}"
    is_of_siblings = len(effects) < len(follows)
    if is_of_siblings or severity_rank(worst.severity) > root_rank:
        return f"{cause}, and {_things(len(effects))} from it"
    return f"{effect}, because {within_sentence(cause)}"


def _things(number: int) -> str:
    return "another fault follows" if number == 1 else f"{number} other faults follow"


def within_sentence(sentence: str) -> str:
    """Lower the first letter of a sentence that starts with an article, for use after a comma."""
    is_lowered = sentence.startswith(ARTICLES)
    return f"{sentence[0].lower()}{sentence[1:]}" if is_lowered else sentence


def _affects(faults: Iterable[Fault], words: _Words) -> str:
    """Name numbered components, and the pods, jobs or else processes that use them."""
    subjects = dict.fromkeys(each for it in faults for each in (it.subject, *it.affected))
    numbered = [each.hw_name for each in subjects if words.of(each.hw_type).is_numbered]
    owners = dict.fromkeys(_owner(each) for each in subjects if each.kind == "workload")
    pods = [name for name in owners if name.startswith("pod ")]
    others = [name for name in owners if not name.startswith("pod ")]
    if not owners:
        others = [f"process {each.hw_name}" for each in subjects if each.kind == "process"]
    parts = (number_ranges(numbered), *map(_some, (pods, others)))
    return "; ".join(part for part in parts if part)


def _owner(workload: Subject) -> str:
    """Return the pod of a workload, or its job or unit outside pods."""
    pod, slash, _ = workload.hw_name.rpartition("/")
    return f"pod {pod}" if slash and "/" in pod else workload.hw_name


def _some(names: Sequence[str]) -> str:
    more = [f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else []
    shown = [*names[:MAX_NAMED], *more]
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def number_ranges(names: Iterable[str]) -> str:
    """Write names that end with a number as ranges, other names unchanged.

    For example "GPU 0–3, 5".
    """
    matches = {name: _NUMBERED.fullmatch(name) for name in names}
    numbers: dict[str, set[int]] = {}
    for match in filter(None, matches.values()):
        numbers.setdefault(match[1], set()).add(int(match[2]))
    shown = [f"{word} {', '.join(_runs(sorted(found)))}" for word, found in numbers.items()]
    others = [name for name, match in matches.items() if match is None]
    return ", ".join(shown + others[:MAX_NAMED])


def _numbers(names: Iterable[str]) -> list[int]:
    """Return the numbers at the end of these names, sorted."""
    return sorted({int(match[2]) for name in names if (match := _NUMBERED.fullmatch(name))})


def _runs(numbers: Iterable[int]) -> Iterator[str]:
    """Yield consecutive numbers as ranges."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return (f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
