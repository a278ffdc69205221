"""Recorded snapshots: one JSON object per line, with what was read at one moment.

`{"at": 15, "readings": {"Gpus": {"states": {"a": {"gpu": {"temperature_celsius": 91}}}}}}`:
`at` counts seconds from the beginning. `readings` holds values of the model by the names of their
types and fields, and changes what the lines before said: an object is merged into the one that
was there, anything else replaces it, null takes it away. Kernel lines stand beside them
(`"kernel": "NVRM: Xid …"`, or a list; lines of one message in one text), and so do events of NVML
(`"xid": {"gpu": "GPU-…", "code": 79}`, or a list). `reports` are those of sources, merged alike.
The kernel log is a source of events while there is a reading `KernelLog`, NVML while `Gpus` says
backend nvml.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from exporter.decode import Rules, decode_strict, fits_of
from exporter.faults.values import did_you_mean
from exporter.model import (
    clock,
    disk,
    filesystem,
    gpu,
    infiniband,
    kernel_log,
    memory_errors,
    network,
    node,
    nvme,
    pcie,
    pressure,
    process_counts,
    raid,
    sensors,
    traced,
    workload,
)
from exporter.model.event import Event, EventType
from exporter.model.snapshot import Snapshot, SourceReport

TYPES: Mapping[str, type] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            *(node.Host, node.Cpu, node.Memory, node.Paging, node.CpuHealth, clock.Clock),
            *(gpu.Gpus, workload.Workloads, pcie.Pcie, infiniband.Infiniband, network.Network),
            *(network.NetworkStack, disk.Disks, filesystem.Filesystems, raid.MdArrays),
            *(nvme.NvmeControllers, nvme.NvmeHealths, sensors.Sensors, memory_errors.MemoryErrors),
            *(pressure.Pressures, process_counts.ProcessCounts, process_counts.ProcessStates),
            *(kernel_log.KernelLog, traced.TracedCalls),
        )
    }
)
START_BOOTTIME = 10_000.0
START_WALL = 1_700_000_000.0
KEYS = frozenset({"at", "readings", "reports", "kernel", "xid"})
KEPT_EVENTS = 2_000
MOMENTS = ("expires", "dynamic_expires")
NOW = math.inf
"""Stands for the moment of the line where no other is written."""

NODE = "node"

Tree = dict[str, Any]


EventsOfLine = Callable[[str, float], Iterable[Event]]
"""Gives the events in one line of the kernel log, printed at this boot time in seconds."""


class BadRecording(Exception):
    """A line that makes no sense; the message names the line and what is wrong."""


@dataclass(slots=True)
class SnapshotReader:
    """Reads one recording."""

    events_of_line: EventsOfLine
    _readings: Tree = field(default_factory=dict)
    _values: dict[str, object] = field(default_factory=dict)  # of the readings decoded so far
    _reports: Tree = field(default_factory=dict)
    _log: list[Event] = field(default_factory=list)
    _xids: list[Event] = field(default_factory=list)
    _sequence: int = 0

    def snapshots(self, lines: Iterable[str]) -> Iterator[Snapshot]:
        """One snapshot for each line that is neither empty nor a remark; raises BadRecording."""
        at = 0.0
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                row = json.loads(line)
                at = max(at, float(row.get("at", at)))
                yield self._snapshot(row, START_BOOTTIME + at)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise BadRecording(f"line {number}: {error}") from error

    def _snapshot(self, row: Tree, now: float) -> Snapshot:
        for key in row:
            if key not in KEYS:
                raise ValueError(f"no key {key}; {did_you_mean(key, KEYS)}")
        changed = row.get("readings", {})
        _merge(self._readings, changed)
        for name in changed:
            self._values.pop(name, None)
        _merge(self._reports, row.get("reports", {}))
        for line in _listed(row.get("kernel")):
            self._log += self.events_of_line(str(line), now)
        for item in _listed(row.get("xid")):
            self._xids.append(_xid(item, now, len(self._xids) + 1))
        self._sequence += 1
        return Snapshot(
            node=NODE,
            sequence=self._sequence,
            taken_at=START_WALL + now - START_BOOTTIME,
            taken_boottime=now,
            duration_secs=0.0,
            readings=MappingProxyType(dict(self._values_at(now))),
            reports=tuple(self._source_reports()),
        )

    def _values_at(self, now: float) -> Iterator[tuple[type, object]]:
        for name, found in self._readings.items():
            if name not in self._values:
                self._values[name] = _decoded(name, found)
            value = self._values[name]
            if isinstance(value, kernel_log.KernelLog):
                value = replace(value, events=tuple(self._log[-KEPT_EVENTS:]))
            if isinstance(value, gpu.Gpus):
                value = replace(
                    value,
                    states=tuple(_dated(state, now) for state in value.states),
                    events=tuple(self._xids[-KEPT_EVENTS:]),
                )
            yield TYPES[name], value

    def _source_reports(self) -> Iterator[SourceReport]:
        rules = Rules(clean=str, unknown=_unknown)
        for name, found in self._reports.items():
            row = {"source": name, "duration_secs": 0, **found}
            yield decode_strict(SourceReport, row, rules, name)


def _unknown(name: str, known: Collection[str]) -> str:
    return f"no field {name}; {did_you_mean(name, known)}"


def _decoded(name: str, found: object) -> object:
    if name not in TYPES:
        raise ValueError(f"no reading {name}; {did_you_mean(name, TYPES)}")
    return decode_strict(TYPES[name], found, READINGS, name)


def _dated(state: gpu.GpuState, now: float) -> gpu.GpuState:
    return replace(state, read_boottime=now) if state.read_boottime == NOW else state


def _complete(kind: type, values: Tree) -> None:
    """Count moments from the beginning; a reading whose time is not written was made now."""
    for name in _moments_of(kind):
        if isinstance(values.get(name), float):
            values[name] += START_BOOTTIME
        elif name == "read_boottime":
            values.setdefault(name, NOW)


@lru_cache(maxsize=128)
def _moments_of(kind: type) -> tuple[str, ...]:
    """Find the fields of a dataclass that hold a boot time."""
    return tuple(n for n in fits_of(kind) if n.endswith("_boottime") or n in MOMENTS)


READINGS = Rules(clean=str, unknown=_unknown, unfolds=True, complete=_complete)


def _merge(into: Tree, change: Mapping[str, Any]) -> None:
    for name, value in change.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, Mapping):
            inner = into.get(name)
            if not isinstance(inner, dict):
                inner = into[name] = {}
            _merge(inner, value)
        else:
            into[name] = value


def _listed(found: object) -> list[Any]:
    if found is None:
        return []
    return found if isinstance(found, list) else [found]


def _xid(item: Mapping[str, Any], now: float, number: int) -> Event:
    return Event(
        at=START_WALL + now - START_BOOTTIME,
        boottime=now,
        type=EventType.ERROR_HW,
        kind="xid",
        entity_type="gpu",
        entity_id=str(item["gpu"]),
        source="nvml",
        fields=MappingProxyType({"code": str(int(item["code"]))}),
        number=number,
    )
