"""The last fifteen minutes of some values, for sparklines: 60 slots of 15 s in 4 bytes each.

At most MAX_SERIES are kept: 150 kB; a node with 8 GPUs, 4 network cards and 8 disks has about 50
series, which need 15 kB.
"""

import math
from array import array
from collections.abc import Iterator
from typing import TypeAlias

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.disk.values import Disks
from exporter.collectors.gpu.values import Gpus, GpuState
from exporter.collectors.memory.values import Memory
from exporter.collectors.network.values import Network
from exporter.model.snapshot import Snapshot

SLOT_SECS = 15.0
SLOTS = 60
MAX_SERIES = 500
LEAST_INTERVAL_SECS = 0.5
"""Two snapshots nearer than this give no rate."""

Key: TypeAlias = "tuple[str, str]"
"""The component and the name of a value: ("GPU-5…", "temperature")."""

Points: TypeAlias = "list[float | None]"


class _Ring:
    """The last values of one series; slots without a value hold NaN."""

    __slots__ = ("_last", "_values")

    def __init__(self) -> None:
        self._values = array("f", [math.nan]) * SLOTS
        self._last = -1

    def put(self, slot: int, value: float) -> None:
        for skipped in range(max(self._last + 1, slot - SLOTS + 1), slot):
            self._values[skipped % SLOTS] = math.nan
        self._values[slot % SLOTS] = value
        self._last = max(self._last, slot)

    def is_over(self, slot: int) -> bool:
        return self._last <= slot - SLOTS

    def points(self, slot: int) -> Points:
        """Return the values up to this slot, oldest first; None for a slot without a value."""
        slots = range(slot - SLOTS + 1, slot + 1)
        values = (self._values[at % SLOTS] if at <= self._last else math.nan for at in slots)
        return [None if math.isnan(value) else round(value, 2) for value in values]


class NodeHistory:
    """Keeps the series of one node, and the rates between its two last snapshots."""

    def __init__(self) -> None:
        self._rings: dict[Key, _Ring] = {}
        self._counters: dict[Key, float] = {}
        self._counted_at: float | None = None
        self._slot = 0
        self.rates: dict[Key, float] = {}

    def add(self, snapshot: Snapshot) -> None:
        """Add the values of a snapshot; stale values are left out, or they would look new."""
        self._slot = int(snapshot.taken_boottime // SLOT_SECS)
        self._count(snapshot)
        for key, value in (*_values(snapshot), *self.rates.items()):
            ring = self._rings.get(key)
            if ring is None and len(self._rings) < MAX_SERIES:
                ring = self._rings[key] = _Ring()
            if ring is not None and value is not None:
                ring.put(self._slot, value)
        for key in [key for key, ring in self._rings.items() if ring.is_over(self._slot)]:
            del self._rings[key]

    def points(self, subject: str, name: str) -> Points:
        """Return the series, oldest first; None for a slot without a value."""
        ring = self._rings.get((subject, name))
        return [] if ring is None else ring.points(self._slot)

    def _count(self, snapshot: Snapshot) -> None:
        """Turn counters into rates; a counter that is new or decreased has none."""
        counters = dict(_counters(snapshot))
        if self._counted_at is not None:
            secs = snapshot.taken_boottime - self._counted_at
            if secs < LEAST_INTERVAL_SECS:
                return
            self.rates = {
                key: (value - self._counters[key]) / secs
                for key, value in counters.items()
                if value >= self._counters.get(key, math.inf)
            }
        self._counters, self._counted_at = counters, snapshot.taken_boottime


def _values(snapshot: Snapshot) -> Iterator[tuple[Key, float | None]]:
    cpu, memory, gpus = (
        snapshot.reading(Cpu),
        snapshot.reading(Memory),
        snapshot.reading(Gpus),
    )
    if cpu is not None:
        yield ("node", "cpu"), cpu.usage_percent
    if memory is not None:
        yield ("node", "memory"), memory.usage_percent
    for state in gpus.states if gpus is not None else ():
        if state.up and state.is_fresh:
            yield from _gpu_values(state)


def _gpu_values(state: GpuState) -> Iterator[tuple[Key, float | None]]:
    gpu = state.gpu
    yield (gpu.uuid, "utilization"), gpu.utilization_percent
    yield (gpu.uuid, "temperature"), gpu.temperature_celsius
    yield (gpu.uuid, "power"), gpu.power_draw_watts
    if gpu.memory_used_bytes is not None and gpu.memory_total_bytes:
        yield (gpu.uuid, "memory"), 100.0 * gpu.memory_used_bytes / gpu.memory_total_bytes


def _counters(snapshot: Snapshot) -> Iterator[tuple[Key, float]]:
    network, disks = snapshot.reading(Network), snapshot.reading(Disks)
    for nic in network.interfaces if network else ():
        yield from _known(
            f"network {nic.device}", receive=nic.receive_bytes, transmit=nic.transmit_bytes
        )
    for disk in disks.disks if disks else ():
        read, write, busy = disk.read_bytes, disk.written_bytes, disk.io_time_seconds
        yield from _known(f"disk {disk.device}", read=read, write=write, busy=busy)


def _known(subject: str, **counters: float | None) -> Iterator[tuple[Key, float]]:
    for name, value in counters.items():
        if value is not None:
            yield (subject, name), float(value)
