"""The kernel log: records read and lost, and the events in it."""

from exporter.model.event import Event
from exporter.record import dataclass

KERNEL_LOG = "kernel_log"
"""The `source` of events of the kernel log."""

TRACEPOINT = "xid_tracepoint"
"""The `source` of Xids of the driver's tracepoint."""

Counts = tuple[tuple[str, int], ...]
"""Numbers by one name, in the order of the names."""


@dataclass(frozen=True, slots=True)
class XidCount:
    """How often this Xid was reported for this GPU, and when last.

    `gpu` is the PCI address, or the UUID where NVML reported it; `last_at` is wall clock, seconds
    since the epoch.
    """

    gpu: str
    code: int
    count: int
    last_at: float


@dataclass(frozen=True, slots=True)
class TracedXids:
    """The Xids of the driver's tracepoint since the start, and their latest events in order."""

    xids: tuple[XidCount, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelLog:
    """All that was read of the kernel log, and the latest events, oldest first.

    `source` is kmsg (/dev/kmsg) or syslog (syslog(2)); `reason` is ok, or why kmsg is not read.
    Numbers of events rise; those below `first_new_number` were in the log before this process
    started and had been counted by the process before it. `lost` counts records that were
    overwritten before they could be read, and is a lower bound under syslog. `suppressed` counts
    lines that the kernel says it left out: where it rises, the other numbers are lower bounds.
    """

    source: str
    reason: str
    records: int
    lost: int
    suppressed: int
    rejected: Counts = ()
    kinds: Counts = ()
    types: Counts = ()
    xids: tuple[XidCount, ...] = ()
    gpu_uuids: tuple[tuple[str, str], ...] = ()  # PCI address and UUID, where the log said it
    events: tuple[Event, ...] = ()
    first_new_number: int = 1

    def counted_events(self) -> Counts:
        """Return how many events of each type there were."""
        return self.types
