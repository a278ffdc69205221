"""The reading of one source, with the fields that are missing and why."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from exporter.record import dataclass

T_co = TypeVar("T_co", covariant=True)

Labeled = tuple[tuple[str, float], ...]
"""Numbers by one label, in a stable order: `(("graphics", 1.98e9), ("sm", 1.98e9))`."""

Labeled2 = tuple[tuple[str, str, float], ...]
"""Numbers by two labels, in a stable order."""

Labeled3 = tuple[tuple[str, str, str, float], ...]
"""Numbers by three labels, in a stable order."""


@dataclass(frozen=True, slots=True)
class Missing:
    """One field that the hardware did not report, and the reason in one word or sentence."""

    field: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading(Generic[T_co]):
    """The value of one source, with the fields that are missing from it.

    `missing` names these fields and the reasons; `rejected` counts impossible values by field since
    the start (`hw_exporter_values_rejected_total`). `took_secs` is the duration of the read where
    the wait for the read was longer: readers of files take turns in one thread.
    """

    value: T_co
    missing: Sequence[Missing] = ()
    rejected: Labeled = ()
    took_secs: float | None = None
