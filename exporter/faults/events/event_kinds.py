"""The words for events that the engine itself knows."""

LOOKS = "looks"
"""The source of events that the engine derives by comparing two snapshots."""

PROBE = "probe"
PROBE_EVENT_FIELDS = ("probe", "text", "job")
"""What the events of external probes can be filtered by."""

REPAIR_KINDS = ("gpu_reset", "link_up", "mounted", "boot")
"""What two looks at a component tell of, and the boot that nothing outlives."""
