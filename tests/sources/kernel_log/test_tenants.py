"""What a tenant chooses gains nothing: names of processes, files, groups and mounts."""

import pytest

from exporter.model.event import Event
from exporter.sources.kernel_log.patterns.pattern import Chosen, LinePattern
from exporter.sources.kernel_log.patterns.table import LINE_PATTERNS
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


def test_what_may_be_forged_by_syslog_is_counted() -> None:
    """Lines that cannot be told from a tenant's are left out, and not silently."""
    taker = pipeline()
    for text in ("a[1]: noise\n" + XID, f"VFS: file-max limit 7 reached\n{XID}\n{XID}"):
        for each in as_syslog(text):
            taker.take(each)
    assert dict(taker.counters.kinds) == {"file_max": 1, "xid": 1}
    assert taker.counters.rejected == {"ambiguous": 2}


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


CHOSEN_GROUPS = {
    "name": Chosen.COMM,
    "owner": Chosen.COMM,
    "client": Chosen.COMM,
    "library": Chosen.FILE,
    "memcg": Chosen.CGROUP,
    "task_memcg": Chosen.CGROUP,
    "server": Chosen.SERVER,
    "interface": Chosen.INTERFACE,
}
OWN_CHOICE = {"server", "interface"}
"""Words that the event is about: another word is about another server or interface."""

CLUSTERS = {"lustre_not_responding", "ceph_not_responding"}
"""Their servers are those of the cluster's own configuration."""

HOSTILE = (
    *("NVRM: Xid (PCI:", "a\nNVRM: x", "x,pid=1,uid=0", "a:1", "a]", "a[1]:", "a' (pid 1)", "("),
    *("a) ", ", ", "a=b", "a invoked oom-", "..", "\u2028", "\x1b[2J", "%s", "0000:00:00.0"),
)
ROWS = [
    row for row in LINE_PATTERNS if row.chosen or set(row.pattern.groupindex) & {*CHOSEN_GROUPS}
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.kind}-{row.tag}"[:60])
def test_each_word_that_a_tenant_chooses_is_named_and_harmless(row: LinePattern) -> None:
    """Hostile words in its place leave kind, thing and pid as they are, or make no event."""
    groups = [group for group in row.pattern.groupindex if group in CHOSEN_GROUPS]
    if row.kind not in CLUSTERS:
        assert {CHOSEN_GROUPS[group] for group in groups} <= set(row.chosen)
    for line in KNOWN_LINES:
        match = row.pattern.match(line)
        for group in groups if match else ():
            if match is None or match[group] is None:
                continue
            before, after = line[: match.start(group)], line[match.end(group) :]
            known = _about(line, group)
            own = f"{match[group]}/" if CHOSEN_GROUPS[group] is Chosen.CGROUP else ""
            for word in HOSTILE:
                for found in events_of(record(before + own + word + after)):
                    assert _told(found, group) in known, (line, word)


def _about(line: str, group: str) -> list[object]:
    return [_told(event, group) for event in events_of(record(line))]


def _told(event: Event, group: str) -> object:
    """What must not change: the kind, and the thing unless the word itself names it."""
    is_own = group in OWN_CHOICE
    return (event.kind, event.entity_type if is_own else (event.entity_id, event.pid))
