"""Kernel logs of real machines, well and not: what each says, and nothing else."""

import re
from pathlib import Path

import pytest

from exporter.collectors.kernel_log.events import KernelLines, line_of
from exporter.model.event import Event
from exporter.toml import tomllib
from tests.collectors.kernel_log.feeding import events_of

HEAD = re.compile(r"\d+,\d+,\d+,[-c];")
FOLDER = Path(__file__).resolve().parents[2] / "captures/kernel_log"
RECORDED = tomllib.loads(Path(__file__).with_name("recordings.toml").read_text("utf-8"))
LAST = {name: said["last"] for name, said in RECORDED.items() if "last" in said}


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
    assert {path.name for path in FOLDER.iterdir()} == RECORDED.keys()


@pytest.mark.parametrize("name", RECORDED)
def test_recordings_of_real_machines_say_what_happened(name: str) -> None:
    """Each event once, about what it happened to; a healthy node says nothing."""
    said = [f"{event.kind} {event.entity_id}".strip() for event in recorded(name)]
    assert said == RECORDED[name]["events"]


@pytest.mark.parametrize(("name", "facts"), LAST.items(), ids=LAST)
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


@pytest.mark.parametrize("name", RECORDED)
def test_an_event_of_a_recording_is_the_one_that_was_read(name: str) -> None:
    """A bundle replays what its node saw: fields that further lines told are not lost."""
    for event in recorded(name):
        (again,) = KernelLines().events([line_of(event)], event.boottime)
        assert (again.kind, again.fields) == (event.kind, event.fields)


@pytest.mark.parametrize("name", ["x / {}", "x / / {}", "x  / {}", "x\n{}", "x\\x0a{}"])
def test_a_name_in_a_line_does_not_begin_another_in_a_recording(name: str) -> None:
    """A tenant who names a process like a line of the driver forges no event of a bundle."""
    forged = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    place, named = "Graphics Exception: ESR 0x1", f"pid=7, name={name.format(forged)}, Channel 1"
    events = events_of(*(f"NVRM: Xid (PCI:0000:3b:00): 13, {text}" for text in (place, named)))
    again = [*KernelLines().events(map(line_of, events), 1.0)]
    assert events
    assert {it.fields["code"] for it in again} == {"13"}
    assert len(again) == len(events)
