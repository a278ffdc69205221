"""Errors reported by memory controllers, by module."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dimm:
    """One memory module; counts since boot or since the driver was loaded."""

    controller: str
    dimm: str  # its label on the board, else its number
    corrected_errors: int | None = None
    uncorrected_errors: int | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryController:
    """One controller with its modules; its own counts include errors of no known module."""

    controller: str
    corrected_errors: int | None = None
    uncorrected_errors: int | None = None
    dimms: tuple[Dimm, ...] = ()
    unlocated: Dimm | None = None  # errors of which the hardware did not say the module


@dataclass(frozen=True, slots=True)
class MemoryErrors:
    """The controllers, ordered by name."""

    controllers: tuple[MemoryController, ...]
