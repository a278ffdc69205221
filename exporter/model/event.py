"""Events: lines of the kernel log, reports of drivers, lines of external probes."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from exporter.record import dataclass


class EventType(Enum):
    """The twelve types that probes and the kernel log are sorted into."""

    COMPUTE_UTIL = "compute.util"
    COMPUTE_MEM = "compute.mem"
    TRANSPORT_BW = "transport.bw"
    TRANSPORT_DROP = "transport.drop"
    STORAGE_IOPS = "storage.iops"
    STORAGE_QDEPTH = "storage.qdepth"
    PROCESS_STATE = "process.state"
    ERROR_HW = "error.hw"
    ERROR_NET = "error.net"
    TOPO_LINK_DOWN = "topo.link_down"
    INTENT_RUN = "intent.run"
    ACTION_EXEC = "action.exec"


@dataclass(frozen=True, slots=True)
class Event:
    """One record of evidence.

    `kind` is the name in docs/kernel-log.md; `entity_type` and `entity_id` name what it is about in
    the words of the faults page; `fields` are what the line said, by name (code, pid, count, …),
    all as text. The id of what is about the node as a whole is empty. An event with the field
    `ended` says that what its kind is about is over (a server answers again). `number` rises within
    one source of events, and is 0 where they are not numbered.
    """

    at: float  # wall clock, seconds since the epoch
    boottime: float  # seconds since boot
    type: EventType
    kind: str
    entity_type: str
    entity_id: str
    source: str  # "kernel_log", "probe:<name>" …
    fields: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pid: int | None = None
    raw: str = ""
    number: int = 0


@runtime_checkable
class CountsEvents(Protocol):
    """A reading that counts its events itself, also those that were dropped."""

    def counted_events(self) -> tuple[tuple[str, int], ...]:
        """Return how many events of each type there were since the start."""
        ...
