"""The node's clock, as reported by the kernel."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """How far the clock may be off, and whether a time service keeps it synchronized."""

    synchronized: bool
    offset_seconds: float  # still to be corrected
    error_seconds: float  # at most so far from true time, by the kernel's own bound
    was_synchronized: bool | None = None  # now or ever before, as far as is remembered
