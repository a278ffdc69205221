"""The binary table `gpu_metrics` of amdgpu: energy, and what throttles the clocks.

Its layouts are those of the kernel's kgd_pp_interface.h: a header of size, format and content
revision, then fields whose places depend on both revisions. Version 1.9 says itself which fields
it has.
"""

import struct

from exporter.model.reading import Labeled
from exporter.record import dataclass

MAX_METRICS_BYTES = 16 * 1024
HEADER = struct.Struct("<HBB")
ENERGY_UNIT_JOULES = 2**-16
ALL_ONES_64 = 2**64 - 1

ENERGY_AT = {(1, 4): 24, (1, 5): 88, (1, 7): 24, (1, 8): 24}
"""Where energy stands; version 1.6 exists in two layouts, older ones count in other units."""

RESIDENCIES_AT = {(1, 7): 40, (1, 8): 40}
"""Where the cycle counter stands, and behind it the cycles spent in each of five throttlers."""

STATUS_AT = {(1, 3): 112}
"""Where the throttlers active now stand as bits that are the same for all chips."""

SELF_DESCRIBING = (1, 9)
TYPES = "BbHhIiQq"
"""The types of an attribute of version 1.9, as `struct` names them, by their number."""

ENERGY, RESIDENCIES = 7, range(9, 15)
"""The numbers of the attributes that are read, in the order of the older versions."""

POWER_BITS = 0xFF | 0xFF << 16  # power and current limits
HEAT_BITS = 0xFFF << 32  # temperatures of the chip, its memory, regulators and cooling liquid
HARD_BITS = 0xF << 44  # regulators too hot (VRHOT), and PROCHOT

NOTABLE_SHARE = 0.01
"""A throttler was active when this share of the cycles since the last look were spent in it."""

WARM_MARGIN_CELSIUS = 10.0
"""Some chips (RDNA 3) always report the hot-spot throttler: far below the limit it is not."""


@dataclass(frozen=True, slots=True)
class GpuMetrics:
    """What is read of the table; None where this version does not have it."""

    energy_joules: float | None = None
    status: int | None = None
    residencies: tuple[int, ...] | None = None  # cycles, then prochot, ppt, socket, vr, hbm


def parse_metrics(table: bytes) -> GpuMetrics:
    """Parse the table; what is cut off or of an unknown version is not known."""
    if len(table) < HEADER.size:
        return GpuMetrics()
    size, form, content = HEADER.unpack_from(table)
    if size > len(table):
        return GpuMetrics()
    version = (form, content)
    if version == SELF_DESCRIBING:
        return _from_attributes(_attributes(table))
    energy = _number(table, ENERGY_AT.get(version))
    status = _number(table, STATUS_AT.get(version))
    at = RESIDENCIES_AT.get(version)
    known = at is not None and len(table) >= at + 24
    return GpuMetrics(
        None if energy is None else energy * ENERGY_UNIT_JOULES,
        status,
        struct.unpack_from("<6I", table, at) if at is not None and known else None,
    )


def _from_attributes(found: dict[int, int]) -> GpuMetrics:
    energy = found.get(ENERGY)
    residencies = tuple(found[each] for each in RESIDENCIES if each in found)
    return GpuMetrics(
        None if energy is None else energy * ENERGY_UNIT_JOULES,
        residencies=residencies if len(residencies) == len(RESIDENCIES) else None,
    )


def _attributes(table: bytes) -> dict[int, int]:
    """Read the first value of each attribute by its number, those of all ones left out."""
    found: dict[int, int] = {}
    at = HEADER.size + 4  # the number of attributes
    while at + 8 <= len(table):
        (encoding,) = struct.unpack_from("<Q", table, at)
        kind, attribute, count = encoding >> 20 & 0xF, encoding >> 10 & 0x3FF, encoding & 0x3FF
        values = struct.Struct(f"<{count or 1}{TYPES[kind]}" if kind < len(TYPES) else "")
        at += 8
        if not values.size or at + values.size > len(table):
            break
        value: int = values.unpack_from(table, at)[0]
        if value != (1 << 8 * values.size // (count or 1)) - 1:
            found[attribute] = value
        at += values.size
    return found


def _number(table: bytes, at: int | None) -> int | None:
    """Read a number of 64 bits; all ones stand for what the firmware does not count."""
    if at is None or len(table) < at + 8:
        return None
    number = int.from_bytes(table[at : at + 8], "little")
    return None if number == ALL_ONES_64 else number


class Throttling:
    """What throttles the clocks of one card, under the names of NVML's reasons."""

    def __init__(self) -> None:
        self._before: tuple[int, ...] | None = None

    def active(self, metrics: GpuMetrics, margin_celsius: float | None) -> Labeled | None:
        """Tell each reason as 0 or 1; None where the table does not say, or says it first."""
        if metrics.status is not None:
            return _by_status(metrics.status, margin_celsius)
        if metrics.residencies is None:
            return None
        before, self._before = self._before, metrics.residencies
        return None if before is None else _by_growth(before, metrics.residencies)


def _by_status(status: int, margin_celsius: float | None) -> Labeled:
    is_warm = margin_celsius is None or margin_celsius <= WARM_MARGIN_CELSIUS
    return _reasons(
        power=bool(status & POWER_BITS),
        heat=bool(status & HEAT_BITS) and is_warm,
        hard=bool(status & HARD_BITS),
    )


def _by_growth(before: tuple[int, ...], now: tuple[int, ...]) -> Labeled | None:
    cycles, prochot, ppt, socket, regulators, memory = (
        (new - old) % 2**32 for old, new in zip(before, now, strict=True)
    )
    if not cycles:
        return None
    enough = NOTABLE_SHARE * cycles
    return _reasons(
        power=ppt > enough,
        heat=max(socket, memory) > enough,
        hard=max(prochot, regulators) > enough,
    )


def _reasons(*, power: bool, heat: bool, hard: bool) -> Labeled:
    return (
        ("sw_power_cap", int(power)),
        ("sw_thermal_slowdown", int(heat)),
        ("hw_thermal_slowdown", int(hard)),
    )
