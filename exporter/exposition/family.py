"""A metric family is a row: name, help, kind, labels, and a pure function of the snapshot."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from exporter.model.snapshot import Snapshot

Sample: TypeAlias = "tuple[tuple[str, ...], float]"
"""The values of the labels after `node`, in the family's order, and the number."""


class Kind(Enum):
    """The types of the exposition formats that we use."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Family:
    """One row of the page.

    `samples` gives the family's samples of one snapshot; an absent value has no sample. A family
    without samples is left off the page.
    """

    name: str
    help: str
    kind: Kind
    labels: tuple[str, ...]
    samples: Callable[[Snapshot], Iterable[Sample]]


def one(value: float | None, *labels: str) -> tuple[Sample, ...]:
    """The value as the only sample, or nothing when it was not said."""
    return () if value is None else ((labels, value),)
