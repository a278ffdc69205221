"""Finds why a process or component is slow or broken: ranked causes, and the path to each."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from exporter.model.verdict import SEVERITIES, Conclusions, Edge, Fault, Key, Subject
from exporter.record import dataclass

MAX_STEPS = 4
"""The longest path from the subject to a fault: a workload, its process, its device, its slot."""

NO_WAY = ("peer",)
"""Relations that do not lead to causes: a neighbour on a link is not part of the subject."""

LED_BACK = ("consumes", "runs_in", "part_of")
"""Relations that are also followed against their direction, from the subject only.

From other places that would lead to neighbours: a process that shares a device is no cause.
"""


class NoSuchSubject(Exception):
    """No such process or component is known; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The process (`pid`) or component (`hw_id`) to explain; the node if both are empty.

    With `everything`, healthy components are listed, not only counted.
    """

    pid: str = ""
    hw_id: str = ""
    everything: bool = False


@dataclass(frozen=True, slots=True)
class GraphStep:
    """An edge on the path from one component to another; `is_back` if against its direction."""

    near: Subject
    edge: Edge
    far: Subject
    is_back: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A component near the subject, and the path to it.

    `is_shared` is true for the node, which all components have in common; `is_affecting` for a
    component whose fault affects the subject.
    """

    subject: Subject
    steps: tuple[GraphStep, ...] = ()
    is_shared: bool = False
    is_affecting: bool = False

    @property
    def distance(self) -> int:
        """The number of steps to the component."""
        return len(self.steps) + self.is_shared + self.is_affecting


@dataclass(frozen=True, slots=True)
class Findings:
    """The explanation of a subject: what it waits for, and causes by likelihood.

    `healthy` are components whose rules, listed here, are all false; `unknown` are components with
    rules that could not be evaluated.
    """

    subject: Subject
    waits: tuple[tuple[Subject, str], ...]
    causes: tuple[tuple[Fault, Place], ...]
    healthy: tuple[tuple[Subject, tuple[str, ...]], ...]
    unknown: tuple[tuple[Subject, tuple[str, ...]], ...]

    @property
    def healthy_counts(self) -> dict[str, int]:
        """The number of healthy components by type."""
        return dict(Counter(subject.hw_type for subject, _ in self.healthy))


def explain(conclusions: Conclusions, node: str, wanted: Wanted) -> Findings:
    """Find why the wanted subject is slow or broken; raise NoSuchSubject."""
    subject = _subject(conclusions, node, wanted)
    places = tuple(_around(conclusions, subject))
    own = {
        (fault.root.rule, fault.root.subject)
        for fault in conclusions.active
        if fault.subject == subject
    }
    causes = sorted(_causes(conclusions, places, subject), key=lambda row: _rank(row, own))
    return Findings(
        subject,
        waits=tuple(_waits(conclusions, subject)),
        causes=tuple(causes),
        healthy=tuple(_healthy(conclusions, places)),
        unknown=tuple(
            (place.subject, rules)
            for place in places
            if (rules := conclusions.unknown.get(place.subject))
        ),
    )


def _subject(conclusions: Conclusions, node: str, wanted: Wanted) -> Subject:
    """Find the wanted component or process; raise NoSuchSubject."""
    named = [each for fault in conclusions.faults for each in (fault.subject, *fault.affected)]
    for subject in (*conclusions.subjects, *named):
        if wanted.pid and subject.kind == "process" and subject.hw_id == wanted.pid:
            return subject
        if wanted.hw_id and wanted.hw_id in (subject.hw_id, subject.hw_name):
            return subject
        if not wanted.pid and not wanted.hw_id and subject.kind == "node":
            return subject
    if wanted.pid:
        raise NoSuchSubject(
            f"no process {wanted.pid} is known here: only processes that use a device are"
        )
    if wanted.hw_id:
        return _workload_of(conclusions, wanted.hw_id)
    return Subject("node", "node", node, node)


def _workload_of(conclusions: Conclusions, pod: str) -> Subject:
    """Find the only workload of a pod; raise NoSuchSubject if there is none or more than one."""
    found = {each.hw_id: each for each in conclusions.subjects if pod in _pod_names(each)}
    if len(found) > 1:
        raise NoSuchSubject(f"{pod!r} is one of: {', '.join(sorted(found))}")
    if not found:
        raise NoSuchSubject(f"no component {pod!r} is known here")
    return next(iter(found.values()))


def _pod_names(subject: Subject) -> tuple[str, ...]:
    """Return the names of a workload's pod, with and without its namespace."""
    whole, _, _ = subject.hw_id.rpartition("/")
    return (whole, whole.partition("/")[2]) if subject.kind == "workload" and "/" in whole else ()


def _waits(conclusions: Conclusions, subject: Subject) -> Iterator[tuple[Subject, str]]:
    """Yield what the subject waits for, such as the owner of a lock, with the evidence."""
    known = {each.key: each for each in conclusions.subjects}
    for edge in conclusions.graph:
        if edge.relation == "waits_on" and edge.source == subject.key and edge.target in known:
            yield known[edge.target], edge.evidence


def _around(conclusions: Conclusions, subject: Subject) -> Iterator[Place]:
    """Yield the subject and the components it depends on, nearest first, with their paths."""
    if subject.kind == "node":
        yield from map(Place, conclusions.subjects)
        return
    known = {each.key: each for each in conclusions.subjects}
    edges: dict[Key, list[Edge]] = {}
    for edge in conclusions.graph:
        if edge.relation in NO_WAY:
            continue
        edges.setdefault(edge.source, []).append(edge)
        if edge.target == subject.key and edge.relation in LED_BACK:
            edges.setdefault(edge.target, []).append(edge)
    level = [Place(known.pop(subject.key, subject))]
    for _ in range(MAX_STEPS):
        yield from level
        level = [place for near in level for place in _beyond(near, edges, known)]
    yield from level
    yield from (Place(s, is_shared=True) for s in conclusions.subjects if s.kind == "node")


def _beyond(
    place: Place, edges: Mapping[Key, Iterable[Edge]], unseen: dict[Key, Subject]
) -> Iterator[Place]:
    """Yield the components that one place depends on, and remove them from `unseen`."""
    for edge in edges.get(place.subject.key, ()):
        is_back = edge.source != place.subject.key
        far = unseen.pop(edge.source if is_back else edge.target, None)
        if far is not None:
            yield Place(far, (*place.steps, GraphStep(place.subject, edge, far, is_back)))


def _causes(
    conclusions: Conclusions, places: Iterable[Place], subject: Subject
) -> Iterator[tuple[Fault, Place]]:
    """Yield the active faults of all places, and those that affect the subject, each once."""
    by_subject: dict[Subject, list[Fault]] = {}
    for fault in conclusions.active:
        by_subject.setdefault(fault.subject, []).append(fault)
    for place in places:
        for fault in by_subject.pop(place.subject, ()):
            yield fault, place
    for faults in by_subject.values():
        for fault in faults:
            if subject in fault.affected:
                yield fault, Place(fault.subject, is_affecting=True)


def _rank(
    found: tuple[Fault, Place], own: Collection[tuple[str, Subject]]
) -> tuple[bool, bool, bool, int, int, float]:
    """Return the sort key: causes of the subject's own faults, then roots, severity, distance.

    Faults of the node come after those of components that the subject depends on.
    """
    fault, place = found
    is_own = (fault.root.rule, fault.root.subject) in own
    severity = SEVERITIES.index(fault.severity)
    near = (severity, place.distance, fault.since)
    return (not is_own, place.is_shared, not fault.is_root, *near)


def _healthy(
    conclusions: Conclusions, places: Iterable[Place]
) -> Iterator[tuple[Subject, tuple[str, ...]]]:
    """Yield the places without faults or unknown rules, with the rules that were false.

    A rule that is off because its fields are not reported does not count.
    """
    broken = {fault.subject for fault in conclusions.active}
    for place in places:
        if place.subject in broken or conclusions.unknown.get(place.subject):
            continue
        silent = conclusions.silent.get(place.subject, ())
        rules = conclusions.rules.get(place.subject.kind, ())
        if judged := tuple(rule for rule in rules if rule not in silent):
            yield place.subject, judged
