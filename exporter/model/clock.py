"""The node's clock, as the kernel judges it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Whether somebody keeps the clock in step, and how far off it may be."""

    synchronized: bool
    offset_seconds: float  # still to be corrected
    error_seconds: float  # at most so far from true time, by the kernel's own bound
