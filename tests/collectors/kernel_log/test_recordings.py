"""Kernel logs of real machines, well and not: what each says, and nothing else."""

import re
from pathlib import Path

import pytest

from exporter.collectors.kernel_log.events import KernelLines, line_of
from exporter.model.event import Event
from tests.collectors.kernel_log.feeding import events_of

HEAD = re.compile(r"\d+,\d+,\d+,[-c];")
FOLDER = Path(__file__).resolve().parents[2] / "captures/kernel_log"
GPU, PORT = "0000:3b:00.0", "0000:3a:01.1"
POD, DIMM = "aaaaaaaa-0000-4000-8000-000000000001", "CPU_SrcID#1_Ha#0_Chan#0_DIMM#0"
EVENTS: dict[str, list[tuple[str, str]]] = {
    "aer_corrected.log": [("pcie_aer", "0000:40:01.1")] * 2,
    "edac_sbridge.log": [("mce", ""), ("edac", DIMM)],
    "h200_app_errors.kmsg": [("driver_loaded", ""), ("gpu_uuid", GPU), *[("xid", GPU)] * 5],
    "healthy_hgx.kmsg": [],
    "mce_at_boot.log": [("mce", ""), ("mce", "0")],
    "oom.log": [
        ("oom_invoked", ""),
        ("oom_kill", "4101"),
        ("oom_invoked", ""),
        ("oom_kill", ""),
        ("oom_invoked", ""),
        ("oom_kill", "4103"),
        ("oom_kill", POD),
    ],
    "xid45_then_hung_task.log": [*[("xid", GPU)] * 6, ("hung_task", "410123")],
    "xid79_geforce.log": [
        ("gpu_uuid", GPU),
        ("xid", GPU),
        ("pcie_inaccessible", "0000:3b:00.3"),
        ("pcie_inaccessible", "0000:3b:00.2"),
        ("pcie_aer", PORT),
    ],
    "xid79_l40s.log": [("xid", GPU)],
}
"""Kind of each event and the name of what it is about, in the order of the log."""

FACTS: dict[str, dict[str, str]] = {
    "aer_corrected.log": {"severity": "corrected", "layer": "Data Link", "error": "BadTLP"},
    "edac_sbridge.log": {"error_type": "corrected", "count": "1", "controller": "1"},
    "h200_app_errors.kmsg": {"code": "31", "pid": "649", "name": "python3"},
    "mce_at_boot.log": {"error_type": "uncorrected", "bank": "4", "status": "a600000000020408"},
    "oom.log": {"pod_uid": POD, "name": "manager", "scope": "group"},
    "xid45_then_hung_task.log": {"name": "loader", "seconds": "120"},
    "xid79_l40s.log": {"code": "79", "pid": "4100"},
}
"""Fields of the last event."""


def recorded(name: str) -> list[Event]:
    """The events of a recording, in the order of the log."""
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return sorted(events_of(*map(_bare, lines)), key=lambda event: event.boottime)


def _bare(line: str) -> str:
    """The text of the kernel without what /dev/kmsg, syslog and dmesg put before it."""
    line = HEAD.sub("", line).rpartition(" kernel: ")[2]
    if line.startswith("["):
        line = line.partition("] ")[2]
    return line.strip() if "NVRM" in line else line


def test_every_recording_is_tried() -> None:
    """A recording that is added has its events here."""
    assert {path.name for path in FOLDER.iterdir()} == EVENTS.keys()


@pytest.mark.parametrize(("name", "events"), EVENTS.items(), ids=EVENTS)
def test_recordings_of_real_machines_say_what_happened(
    name: str, events: list[tuple[str, str]]
) -> None:
    """Each event once, about what it happened to; a healthy node says nothing."""
    assert [(event.kind, event.entity_id) for event in recorded(name)] == events


@pytest.mark.parametrize(("name", "facts"), FACTS.items(), ids=FACTS)
def test_the_last_event_says_what_the_kernel_said(name: str, facts: dict[str, str]) -> None:
    """Codes, counts and names come through as they were printed."""
    assert recorded(name)[-1].fields.items() >= facts.items()


def test_all_lines_of_an_exception_are_of_the_program_that_its_last_line_names() -> None:
    """From driver 580 on the lines of Xid 13 with its place on the GPU name no process."""
    lines = [
        event for event in recorded("h200_app_errors.kmsg") if event.fields.get("code") == "13"
    ]
    assert [(event.pid, event.fields["name"]) for event in lines] == [(604, "python3")] * 3
    assert not any("anonymous" in event.fields for event in lines)
    assert lines[0].fields["gpc"] == "1"


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_of_a_recording_is_the_one_that_was_read(name: str) -> None:
    """A bundle replays what its node saw: fields that further lines told are not lost."""
    for event in recorded(name):
        (again,) = KernelLines().events(line_of(event), event.boottime)
        assert (again.kind, again.fields) == (event.kind, event.fields)


@pytest.mark.parametrize("name", ["x / {}", "x / / {}", "x  / {}", "x\n{}", "x\\x0a{}"])
def test_a_name_in_a_line_does_not_begin_another_in_a_recording(name: str) -> None:
    """A tenant who names a process like a line of the driver forges no event of a bundle."""
    forged = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    place, named = "Graphics Exception: ESR 0x1", f"pid=7, name={name.format(forged)}, Channel 1"
    events = events_of(*(f"NVRM: Xid (PCI:0000:3b:00): 13, {text}" for text in (place, named)))
    again = [it for event in events for it in KernelLines().events(line_of(event), 1.0)]
    assert events
    assert {it.fields["code"] for it in again} == {"13"}
    assert len(again) == len(events)
