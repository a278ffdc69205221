"""Counters of the kernel log since boot, and the latest events."""

from collections import Counter, deque
from collections.abc import Hashable
from dataclasses import field

from exporter.collectors.kernel_log.values import Counts, KernelLog, XidCount
from exporter.model.event import Event
from exporter.record import dataclass

MAX_EVENTS = 1024
MAX_OF_ONE = 64
"""Events kept of one kind about one thing."""

MAX_XIDS = 512
"""Pairs of GPU and Xid that are counted; a node has at most some tens."""

MAX_GPUS = 64
"""GPUs whose UUID is remembered."""

XID_KINDS = frozenset({"xid", "gpu_recovery_action"})


class EventRing:
    """Keeps the latest events of each kind and thing, `MAX_EVENTS` in all."""

    def __init__(self, max_events: int = MAX_EVENTS, max_of_one: int = MAX_OF_ONE) -> None:
        self._max_events = max_events
        self._max_of_one = max_of_one
        self._groups: dict[Hashable, deque[Event]] = {}
        self._size = 0
        self._sorted: tuple[Event, ...] | None = ()

    def add(self, event: Event) -> None:
        """Keep this event, dropping the oldest of the largest group where it gets too many."""
        self._sorted = None
        group = self._groups.setdefault(_group_of(event), deque())
        group.append(event)
        self._size += 1
        if len(group) > self._max_of_one:
            self._drop(group)
        elif self._size > self._max_events:
            self._drop(max(self._groups.values(), key=len))

    def events(self) -> tuple[Event, ...]:
        """Return what is kept, in the order of the numbers."""
        if self._sorted is None:
            kept = [event for group in self._groups.values() for event in group]
            self._sorted = tuple(sorted(kept, key=lambda event: event.number))
        return self._sorted

    def _drop(self, group: deque[Event]) -> None:
        oldest = group.popleft()
        self._size -= 1
        if not group:
            del self._groups[_group_of(oldest)]


@dataclass(slots=True)
class Counters:
    """The counters and the latest events."""

    records: int = 0
    lost: int = 0
    suppressed: int = 0
    number: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    xids: dict[tuple[str, int], XidCount] = field(default_factory=dict)
    gpu_uuids: dict[str, str] = field(default_factory=dict)
    ring: EventRing = field(default_factory=EventRing)
    first_new_number: int = 1

    def keep(self, event: Event) -> None:
        """Keep the event, and the name of the GPU where it says one; count nothing."""
        self.ring.add(event)
        uuid = event.fields.get("uuid")
        if event.kind == "gpu_uuid" and uuid and len(self.gpu_uuids) < MAX_GPUS:
            self.gpu_uuids[event.entity_id] = uuid

    def count(self, event: Event) -> None:
        """Count the event; an Xid also for its GPU, where the line says both."""
        self.kinds[event.kind] += 1
        self.types[event.type.value] += 1
        gpu, code = event.fields.get("pci"), event.fields.get("code", "")
        if event.kind in XID_KINDS and gpu and code.isdecimal():
            self._count_xid(gpu, int(code), event.at)

    def as_value(self, source: str, reason: str) -> KernelLog:
        """Freeze all of it for the page."""
        return KernelLog(
            source=source,
            reason=reason,
            records=self.records,
            lost=self.lost,
            suppressed=self.suppressed,
            rejected=_sorted(self.rejected),
            kinds=_sorted(self.kinds),
            types=_sorted(self.types),
            xids=tuple(self.xids[key] for key in sorted(self.xids)),
            gpu_uuids=tuple(sorted(self.gpu_uuids.items())),
            events=self.ring.events(),
            first_new_number=self.first_new_number,
        )

    def _count_xid(self, gpu: str, code: int, at: float) -> None:
        known = self.xids.get((gpu, code))
        if known is None and len(self.xids) >= MAX_XIDS:
            return
        count = known.count + 1 if known else 1
        last_at = max(known.last_at, at) if known else at
        self.xids[gpu, code] = XidCount(gpu, code, count, last_at)


def _sorted(counter: Counter[str]) -> Counts:
    return tuple(sorted(counter.items()))


def _group_of(event: Event) -> Hashable:
    """Group by kind, code and thing; processes come and go, so theirs are one group."""
    hw_id = "" if event.entity_type in {"process", "workload"} else event.entity_id
    return (event.kind, event.fields.get("code"), event.entity_type, hw_id)
