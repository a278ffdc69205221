"""Lines of public threads: what matters becomes an event, what does not is no trouble."""

from pathlib import Path

from exporter.toml import tomllib
from tests.collectors.kernel_log.feeding import events_of

LINES = tomllib.loads(Path(__file__).with_name("field_lines.toml").read_text("utf-8"))
WELL = {"nic_recovered": "", "nic_link": "up"}
"""Kinds of events that say that something is well, with their state."""


def test_lines_that_matter_become_events() -> None:
    """Nine of ten at least."""
    missed = [line for line in LINES["trouble"] if not events_of(line)]
    assert len(missed) <= len(LINES["trouble"]) // 10, missed


def test_lines_that_do_not_matter_are_no_trouble() -> None:
    """They are no event, or one that says that something is well."""
    for line in LINES["quiet"]:
        for event in events_of(line):
            is_well = event.fields.get("ended") or event.kind in WELL
            assert is_well, (line, event.kind)
            assert event.fields.get("state", "") == WELL.get(event.kind, ""), line
