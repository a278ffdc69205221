"""The words for events that the engine itself knows."""

LOOKS = "looks"
"""The source of events that the engine derives by comparing two snapshots."""

PROBE = "probe"
PROBE_EVENT_FIELDS = ("probe", "text", "job")
"""What the events of external probes can be filtered by."""

BOOT = "boot"
"""The start of the kernel, which no fault from events outlives."""
