"""Sensors of the board: temperatures, fans, voltages, power and energy."""

import re

from exporter.record import dataclass

_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclass(frozen=True, slots=True)
class Sensor:
    """One measured value.

    `kind` is temperature (°C), fan (turns per minute), voltage (V) or power (W); `limits` are by
    the words of OpenTelemetry: high.degraded, high.critical.
    """

    kind: str
    hw_id: str  # the device it belongs to
    hw_name: str  # the driver of the chip
    sensor: str  # its label on the board, else its number
    value: float | None
    limits: tuple[tuple[str, float], ...] = ()
    alarm: bool | None = None  # the chip itself says that something is wrong
    may_rest: bool = False  # a fan that may be stopped on purpose

    @property
    def high_degraded(self) -> float | None:
        """The limit high.degraded; None where the chip has none."""
        return dict(self.limits).get("high.degraded")

    @property
    def high_critical(self) -> float | None:
        """The limit high.critical; None where the chip has none."""
        return dict(self.limits).get("high.critical")

    @property
    def is_of_card(self) -> bool:
        """Whether the chip is part of a PCI device, whose vendor knows its limits."""
        return bool(_PCI.fullmatch(self.hw_id))


@dataclass(frozen=True, slots=True)
class Sensors:
    """All sensors, in the order of their chips."""

    sensors: tuple[Sensor, ...]


@dataclass(frozen=True, slots=True)
class EnergyMeter:
    """Energy used since the exporter first saw the meter, on top of what it showed then."""

    hw_type: str  # cpu, memory, node
    hw_id: str
    energy_joules: float


@dataclass(frozen=True, slots=True)
class EnergyMeters:
    """The meters inside the processors."""

    meters: tuple[EnergyMeter, ...]
