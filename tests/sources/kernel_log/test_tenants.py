"""What a tenant chooses gains nothing: names of processes, files, groups and mounts."""

import pytest

from exporter.model.event import Event
from exporter.sources.kernel_log.record import Record, join_lines, parse_syslog
from tests.sources.kernel_log.feeding import pipeline, record
from tests.sources.kernel_log.tenant_lines import KNOWN_LINES, TEMPLATES, Template, forgeries

XID = "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."
HARMLESS = ("trainer", "libcudart.so")

LIKELY = "likely on CPU 1 (core 1, socket 0)"
SEGFAULTS = (
    # As a kernel 6.18 printed them, but for the words after the line feeds.
    (
        "NVRM[11659]: segfault at 8 ip 000055edc7aeb170 sp 00007ffdb04a21a0 error 6 in a\n@@"
        "[1170,55edc7aeb000+1000] "
    ),
    (
        "NVRM:[11662]: segfault at 8 ip 0000560db6422170 sp 00007ffc28aeb090 error 6 in b\n@@"
        "[1170,560db6422000+1000] "
    ),
    (
        "a\nNVRM: [11663]: segfault at 8 ip 0000561defd29170 sp 00007ffd5d784840 error 6 in c\n\n@@"
        "[1170,561defd29000+1000] "
    ),
    (
        "NVRM: a[11664]: segfault at 8 ip 000055bd2be8e170 sp 00007ffed632f770 error 6 in @@\n@@"
        "[1170,55bd2be8e000+1000] "
    ),
)


def events_of(*records: Record) -> tuple[Event, ...]:
    """The events that these records make."""
    taker = pipeline()
    for each in records:
        taker.take(each)
    taker.settle()
    return taker.counters.ring.events()


def as_syslog(text: str) -> list[Record]:
    """The record as syslog(2) prints it: each of its lines with the same stamp."""
    lines = "".join(f"<6>[ 1300.842722] {line}\n" for line in text.split("\n"))
    return list(join_lines(parse_syslog(lines.encode())))


@pytest.mark.parametrize("text", SEGFAULTS)
def test_a_segfault_is_no_line_of_the_driver(text: str) -> None:
    """Whatever a program and its file are called, only the crash itself may be an event."""
    text = text.replace("@@", XID) + LIKELY
    for records in ([record(text)], as_syslog(text)):
        assert {event.kind for event in events_of(*records)} <= {"segfault"}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.text[:40])
def test_words_that_a_tenant_chooses_gain_nothing(template: Template) -> None:
    """Each known line is made of names as far as that goes: no event but the line's own comes.

    An event is about what it is about with harmless names too.
    """
    own = {(event.kind, event.pid) for event in events_of(record(template.line(HARMLESS)))}
    texts = forgeries(template)
    forged = [
        (event.kind, event.pid, text)
        for text in texts
        for records in ([record(text)], as_syslog(text) if "\n" in text else [])
        for event in events_of(*records)
        if event.kind not in template.kinds or (event.kind, event.pid) not in own
    ]
    assert forged[:3] == []
    assert len(texts) > 80, "the words that gain most were not made"


def test_the_lines_of_every_kind_are_tried() -> None:
    """The known lines cover the kinds, so that a forged one of any kind would be seen."""
    kinds = {event.kind for line in KNOWN_LINES for event in events_of(record(line))}
    assert len(KNOWN_LINES) > 150
    assert len(kinds) > 45
