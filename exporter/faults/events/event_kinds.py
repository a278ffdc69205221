"""The kinds of events that rules can use, and the sources that report them."""

from exporter.model.event import EventType
from exporter.model.kernel_events import KERNEL_KINDS

KERNEL_LOG = "kernel_log"
NVML = "nvml"
LOOKS = "looks"
PROBE = "probe"
PROBE_EVENT_FIELDS = ("probe", "text", "job")
"""What the events of external probes can be filtered by."""


REPAIR_KINDS = ("gpu_reset", "link_up", "mounted", "boot")
"""What two looks at a component tell of (see `repairs.py`), and the boot that nothing outlives."""

EVENT_WORDS = frozenset({*KERNEL_KINDS, *REPAIR_KINDS, PROBE, *(each.value for each in EventType)})

_SOURCES = {
    **{kind: frozenset({KERNEL_LOG}) for kind in KERNEL_KINDS},
    "xid": frozenset({KERNEL_LOG, NVML}),
    "error.hw": frozenset({KERNEL_LOG, NVML}),
    "error.net": frozenset({KERNEL_LOG}),
    "topo.link_down": frozenset({KERNEL_LOG}),
}


def event_sources_of(what: str) -> frozenset[str]:
    """Return the sources of which one must work for such events to be missed by nobody.

    Nothing for what only external probes tell: they may speak or not.
    """
    return _SOURCES.get(what, frozenset())
