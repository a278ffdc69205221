"""Ways to get samples out of a snapshot, from which families are put together."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from exporter.exposition.family import Sample, one
from exporter.model.reading import Labeled
from exporter.model.snapshot import Snapshot

R = TypeVar("R")
I = TypeVar("I")  # noqa: E741 - an item of a reading

Samples = Callable[[Snapshot], Iterable[Sample]]

MAX_WITH_ZEROS = 8
"""A family with more samples than this leaves out those that are zero, where it is so marked."""


def of(kind: type[R], value: Callable[[R], float | None]) -> Samples:
    """One value of one reading, without further labels."""

    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        reading = snapshot.reading(kind)
        return () if reading is None else one(value(reading))

    return samples


def labeled(kind: type[R], value: Callable[[R], Labeled]) -> Samples:
    """Numbers by one label of one reading."""

    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        reading = snapshot.reading(kind)
        return () if reading is None else [((label,), number) for label, number in value(reading)]

    return samples


def of_each(
    kind: type[R],
    items: Callable[[R], Iterable[I]],
    labels: Callable[[I], tuple[str, ...]],
    value: Callable[[I], float | None],
) -> Samples:
    """One value of each item of one reading."""

    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        reading = snapshot.reading(kind)
        if reading is None:
            return
        for item in items(reading):
            yield from one(value(item), *labels(item))

    return samples


def without_zeros(samples: Samples, allowed: int = MAX_WITH_ZEROS) -> Samples:
    """All samples where there are few; only those that are not zero where there are many."""

    def sparing(snapshot: Snapshot) -> Iterable[Sample]:
        found = list(samples(snapshot))
        return found if len(found) <= allowed else [sample for sample in found if sample[1]]

    return sparing
