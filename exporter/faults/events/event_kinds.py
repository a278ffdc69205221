"""The sources and kinds of events that the engine itself knows."""

LOOKS = "looks"
"""The source of events that the engine derives by comparing two snapshots."""

PROBE = "probe"
PROBE_EVENT_FIELDS = ("probe", "text", "job")
"""The fields by which rules can filter events of external probes."""

BOOT = "boot"
"""The start of the kernel: it ends all faults from events."""
