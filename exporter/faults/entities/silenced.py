"""Matches silences with faults: which components and consequences a silence covers."""

from collections.abc import Collection, Iterator, Sequence

from exporter.faults.entities.graph import SIBLINGS
from exporter.model.silence import Silence
from exporter.model.verdict import Conclusions, Fault, Key, Subject
from exporter.record import replace


def silenced(
    conclusions: Conclusions,
    active: Sequence[Silence],
    parts: Sequence[Collection[Key]] | None = None,
) -> Conclusions:
    """Return the conclusions with, for each active fault, the matching silence that ends last.

    A silence of a component covers its `parts` (None: those of now), a silence of a fault its
    consequences. Equal faults of siblings are no consequences: a fault that stands for others that
    are not silenced is not silenced either.
    """
    if parts is None:
        parts = [covered(silence, (), conclusions) for silence in active]
    longest = [*zip(reversed(active), reversed(parts), strict=True)]

    def found(fault: Fault) -> Fault:
        rows = [row for row, is_sibling in _followed(fault) if not is_sibling]
        for silence, keys in longest:
            if any(
                silence.rule in ("", rule)
                and (subject.key in keys or silence.is_about(subject.hw_type, *names_of(subject)))
                for rule, subject in rows
            ):
                return replace(fault, silence=silence)
        return fault

    faults = [found(fault) if fault.is_active else fault for fault in conclusions.faults]
    loud = (fault for fault in faults if fault.is_active and fault.silence is None)
    first = {row for fault in loud for row, is_sibling in _followed(fault) if is_sibling}
    return replace(
        conclusions,
        faults=tuple(
            replace(fault, silence=None) if (fault.rule, fault.subject) in first else fault
            for fault in faults
        ),
    )


def _followed(fault: Fault) -> Iterator[tuple[tuple[str, Subject], bool]]:
    """Yield rule and component of the fault and of each cause, and whether it is a sibling.

    A sibling has the same fault and was told first; it is no parent that broke all of its parts.
    """
    near = fault.subject
    yield (fault.rule, near), False
    for cause in fault.causes:
        is_sibling = cause.via == SIBLINGS and cause.subject.kind == near.kind
        near = cause.subject
        yield (cause.rule, near), is_sibling


def covered(silence: Silence, known: Collection[Key], conclusions: Conclusions) -> frozenset[Key]:
    """Return the silenced component, its parts of now, and its parts before it was taken out.

    `known` is what was returned last; a part that is part of something else now does not count.
    """
    if not silence.component:
        return frozenset()
    parts = [edge for edge in conclusions.graph if edge.relation == "part_of"]
    keys = set(known) - {edge.source for edge in parts}
    keys |= {
        subject.key
        for subject in conclusions.subjects
        if silence.is_about(subject.hw_type, *names_of(subject))
    }
    size = -1
    while len(keys) != size:
        size = len(keys)
        keys.update(edge.source for edge in parts if edge.target in keys)
    return frozenset(keys)


def names_of(subject: Subject) -> tuple[str, ...]:
    """Return the names by which people know a component."""
    return subject.hw_id, subject.hw_name, f"{subject.hw_type}{subject.hw_name}"
