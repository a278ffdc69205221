"""Pressure: how long tasks waited for processors, memory, input and output."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pressure:
    """Waiting for one resource; `some` or all (`full`) tasks waited. Shares are 0 to 100."""

    resource: str  # cpu, memory, io, irq
    kind: str  # some, full
    seconds: float  # since boot
    avg10: float | None = None
    avg60: float | None = None
    avg300: float | None = None


@dataclass(frozen=True, slots=True)
class Pressures:
    """The pressures the kernel reports, ordered by resource and kind."""

    pressures: tuple[Pressure, ...]

    def of(self, resource: str, kind: str) -> Pressure | None:
        """Return the pressure on one resource."""
        for pressure in self.pressures:
            if (pressure.resource, pressure.kind) == (resource, kind):
                return pressure
        return None
