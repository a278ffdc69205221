"""Events: lines of the kernel log, reports of drivers, lines of external probes."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType

from exporter.record import dataclass


class EventType(Enum):
    """Event types of probes and of the kernel log."""

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
    """One event of a component or of the node.

    `kind` is a name of docs/kernel-log.md. `entity_type` and `entity_id` name the component as the
    faults page does; `entity_id` is empty for the node. `fields` are values of the line by name
    (code, pid, count, …), as text. An event with the field `ended` ends the condition that `kind`
    names (a server answers again). `number` rises within one source of events; 0 if the source does
    not number events.
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
