"""One simulated GPU: heat, power, clocks and counters, second by second."""

import random
from collections.abc import Sequence

from exporter.collectors.demo.jobs import Running, is_reset
from exporter.collectors.demo.script import (
    BURST_SECS,
    ECC_BURST,
    FELL_OFF,
    LINK_ERRORS,
    OVERHEATING,
    Now,
)
from exporter.record import dataclass, replace

IDLE_WATTS, LIMIT_WATTS = 72.0, 700.0
CAPPED_WITHIN_WATTS = 45.0
AMBIENT_CELSIUS, HEATING_CELSIUS = 29.0, 46.0
BLOCKED_AIR_CELSIUS = 31.0
"""So much that it stays hot although it slows itself down."""

SLOWDOWN_CELSIUS = 87.0
HEAT_INERTIA_SECS = 25.0
NVLINK_BYTES_PER_SECOND = 1.6e11
LINK_IS_DOWN_SECS = range(60, 90)
CORRECTED_EVERY_SECS = 15
"""So few that they are no fault of their own, which would last longer than the script."""

XID_LINK = 74
XID_UNCORRECTABLE = 48
XID_REMAPPED = 63
XID_FELL_OFF = 79


@dataclass(slots=True)
class CardCounters:
    """What only grows, until the driver is loaded again."""

    energy_joules: float = 0.0
    nvlink_bytes: float = 0.0
    thermal_secs: float = 0.0
    power_secs: float = 0.0
    corrected: int = 0
    corrected_volatile: int = 0
    uncorrected: int = 0
    uncorrected_volatile: int = 0
    remapped: int = 0
    flit_errors: int = 0
    replays: int = 0
    recoveries: int = 0


class Card:
    """A GPU of the simulation; `step` moves it on by one second of the script."""

    def __init__(self, index: int, count: int, seed: int) -> None:
        self.index = index
        self._chance = random.Random(f"{seed}/{index}")  # noqa: S311 - repeatable, not secret
        parts = (self._hex(8), self._hex(4), self._hex(4), self._hex(4), self._hex(12))
        self.uuid = f"GPU-{'-'.join(parts)}"
        self.pci_bus_id = f"0000:{0x1B + 0x0E * index:02x}:00.0"
        self.port = f"0000:{0x1A + 0x0E * index:02x}:01.0"
        self.slot = index + 1
        self.numa_node = 0 if index < (count + 1) // 2 else 1
        self.serial = str(self._chance.randrange(10**12, 10**13))
        self.celsius = AMBIENT_CELSIUS
        self.watts = IDLE_WATTS
        self.percent = 0.0
        self.counters = CardCounters()
        self.is_remap_pending = False
        self.running: tuple[Running, ...] = ()
        self.is_lost = False
        self.is_link_down = False

    def _hex(self, digits: int) -> str:
        return f"{self._chance.getrandbits(4 * digits):0{digits}x}"

    def step(self, now: Now, running: tuple[Running, ...], real_secs: float) -> tuple[int, ...]:
        """One second of the script, in which so many real seconds pass; the Xids it brings."""
        self.running = tuple(self._with_noise(one) for one in running)
        self.is_lost = now.of_gpu(FELL_OFF, self.index) is not None
        self.percent = min(100.0, sum(one.percent for one in self.running))
        is_hot = now.of_gpu(OVERHEATING, self.index) is not None
        self._heat(is_hot=is_hot)
        self._count_up(real_secs)
        return (*self._memory_errors(now), *self._link_errors(now), *self._falling_off(now))

    def _with_noise(self, one: Running) -> Running:
        noise = self._chance.gauss(0.0, 1.5) if one.percent else 0.0
        return replace(one, percent=round(min(100.0, max(0.0, one.percent + noise))))

    def _heat(self, *, is_hot: bool) -> None:
        share = self.percent / 100
        wanted = IDLE_WATTS + share * 0.93 * (LIMIT_WATTS - IDLE_WATTS)
        if self.is_slowed:
            wanted *= 0.66
        self.watts += (wanted - self.watts) * 0.4 + self._chance.gauss(0.0, 2.0)
        self.watts = min(LIMIT_WATTS, max(IDLE_WATTS * 0.9, self.watts))
        still = AMBIENT_CELSIUS + HEATING_CELSIUS * self.watts / LIMIT_WATTS
        still += BLOCKED_AIR_CELSIUS if is_hot else 0.0
        self.celsius += (still - self.celsius) / HEAT_INERTIA_SECS

    @property
    def is_slowed(self) -> bool:
        """Whether it is so hot that it slows itself down."""
        return self.celsius >= SLOWDOWN_CELSIUS - 2

    @property
    def is_capped(self) -> bool:
        """Whether it draws so much that its limit holds it back."""
        return self.watts > LIMIT_WATTS - CAPPED_WITHIN_WATTS

    def _count_up(self, real_secs: float) -> None:
        counters = self.counters
        counters.energy_joules += self.watts * real_secs
        counters.nvlink_bytes += NVLINK_BYTES_PER_SECOND * self.percent / 100 * real_secs
        counters.thermal_secs += real_secs if self.is_slowed else 0.0
        counters.power_secs += real_secs if self.is_capped else 0.0

    def _memory_errors(self, now: Now) -> Sequence[int]:
        lasted = now.of_gpu(ECC_BURST, self.index)
        counters = self.counters
        if lasted is None:
            return ()
        if lasted < BURST_SECS:
            errors = int(lasted % CORRECTED_EVERY_SECS == 0)
            counters.corrected += errors
            counters.corrected_volatile += errors
            return ()
        if lasted == BURST_SECS:
            counters.uncorrected += 1
            counters.uncorrected_volatile += 1
            counters.remapped += 1
            self.is_remap_pending = True
            return (XID_UNCORRECTABLE, XID_REMAPPED)
        if self.is_remap_pending and is_reset(self.index, now):
            self.is_remap_pending = False
            counters.corrected_volatile = counters.uncorrected_volatile = 0
        return ()

    def _link_errors(self, now: Now) -> Sequence[int]:
        lasted = now.of_gpu(LINK_ERRORS, self.index)
        self.is_link_down = lasted is not None and lasted in LINK_IS_DOWN_SECS
        if lasted is None:
            return ()
        self.counters.flit_errors += self._chance.randrange(5, 40)
        self.counters.replays += self._chance.randrange(1, 6)
        if lasted != LINK_IS_DOWN_SECS.start:
            return ()
        self.counters.recoveries += 1
        return (XID_LINK,)

    def _falling_off(self, now: Now) -> Sequence[int]:
        return (XID_FELL_OFF,) if now.of_gpu(FELL_OFF, self.index) == 0 else ()
