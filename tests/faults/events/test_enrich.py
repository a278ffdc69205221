"""What the tables add to an event."""

from dataclasses import replace

import pytest

from exporter.collectors.kernel_log.events import KernelLines
from exporter.model.event import Event
from tests.faults.events.feeding import interpreted
from tests.faults.scenes import event

XID = "NVRM: Xid (PCI:0000:3b:00): "
LINK_DOWN = (
    f"{XID}149, NETIR_LINK_DOWN  Fatal   XC0 i0 Link 07 "
    "(0x00400011 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
)
VICTIM = (
    f"{XID}145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 "
    "(0x00000007 0x00000004 0x00000000 0x00000000 0x00000000 0x00000000)"
)
SWITCH = "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): "


def of_line(line: str) -> Event:
    """The one event in a line of the kernel log."""
    (event,) = map(interpreted, KernelLines().events(line, 10_000.0))
    return event


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (f"{XID}79, GPU has fallen off the bus.", "severity_class", "critical"),
        (f"{XID}999, new", "origin", "unknown"),
        (LINK_DOWN, "fatal", "yes"),
        (VICTIM, "fatal", "no"),
        (
            f"{XID}74, NVLink: fatal error on link 6(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
            "fatal",
            "yes",
        ),
        (
            f"{XID}74, NVLink: error on link 6(0x2, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
            "fatal",
            "no",
        ),
        (f"{SWITCH}12022, Fatal, Link 21 egress input ECC DBE error", "fatal", "yes"),
        (f"{SWITCH}12023, Non-fatal, Link 21 egress output ECC error limit", "fatal", "no"),
    ],
)
def test_a_code_is_given_its_meaning(line: str, name: str, value: str) -> None:
    """Severity, origin and fatality come from the line first and from the tables second."""
    assert of_line(line).fields[name] == value


def test_what_a_partition_says_is_about_its_disk() -> None:
    """Errors of nvme1n1p1 are errors of nvme1n1."""
    line = "Buffer I/O error on dev nvme1n1p1, logical block 1024, lost async page write"
    assert of_line(line).entity_id == "nvme1n1"


@pytest.mark.parametrize(
    ("fields", "uncorrected"),
    [
        ({"status": hex(1 << 61)}, "yes"),
        ({"status": hex(1 << 62 | 1 << 60)}, "no"),
        ({"status": "0x0", "exception": "5"}, "yes"),
        ({"bank": "4"}, None),
    ],
)
def test_a_machine_check_says_whether_it_was_corrected(
    fields: dict[str, str], uncorrected: str | None
) -> None:
    """By bit 61 of its status, or by being an exception; without a status nothing is known."""
    found = interpreted(replace(event("mce", 1.0), fields=fields))
    assert found.fields.get("uncorrected") == uncorrected


def test_a_status_of_another_kind_of_event_is_none_of_a_machine_check() -> None:
    """The same word in another event means something else and stays as it is."""
    other = event("hung_task", 1.0, status="D")
    assert interpreted(other) is other


@pytest.mark.parametrize("kind", ["xid", "sxid"])
def test_a_code_that_is_no_number_has_no_meaning(kind: str) -> None:
    """Nothing is added to it."""
    strange = event(kind, 1.0, code="new")
    assert interpreted(strange) is strange
