"""What a tenant chooses gains nothing: names of processes, files, groups and mounts."""

import re
from typing import TypeAlias

import pytest

from exporter.collectors.kernel_log.kmsg import KmsgReader
from exporter.collectors.kernel_log.pattern import LinePattern, TenantWord
from exporter.collectors.kernel_log.pattern import filled as filled_in
from exporter.collectors.kernel_log.pattern_file import shipped_lines
from exporter.collectors.kernel_log.record import Record, join_lines, parse_syslog
from exporter.collectors.kernel_log.user_words import UserWords, possible_kinds, user_words
from exporter.model.event import Event
from tests.collectors.kernel_log.feeding import (
    events_of,
    events_of_records,
    kmsg,
    pipeline,
    record,
)
from tests.collectors.kernel_log.lines import KNOWN_LINES
from tests.collectors.kernel_log.tenant_lines import filled, forgeries

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


What: TypeAlias = tuple[str, str, int | None]
"""The kind of an event, what it is about, its PID."""

TRUE: What = ("xid", "0000:7a:00.0", None)
TRUE_XID = "NVRM: Xid (PCI:0000:7a:00): 48, DBE (double bit error) ECC Error"


NAMED_BY_USERS = {
    *("nfs_not_responding", "nic_tx_timeout", "netdev_unregister_wait", "bond_link_down"),
    "oom_kill",
}
"""Kinds about what a user's word names; a decision that was interrupted ends in such a word."""


def _what(event: Event) -> What:
    if event.kind in NAMED_BY_USERS:
        return event.kind, event.entity_type, None
    return event.kind, event.entity_id, event.pid


def _read(text: str) -> tuple[Event, ...]:
    """The events of a record with this text and of a true Xid directly after it."""
    taker = pipeline()
    records = iter((kmsg(text, stamp=100.0), kmsg(TRUE_XID, sequence=2, stamp=100.000001), b""))
    KmsgReader(lambda: next(records), taker).pump(9)
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
        assert {event.kind for event in events_of_records(records)} <= {"segfault"}


ALLOCATION = (
    "order:0, mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null),cpuset=@@,mems_allowed=0"
)
FORGED = (
    f"{XID}IN= OUT=lo SRC=127.0.0.1 DST=127.0.0.1 LEN=84 TOS=0x00 PREC=0x00 TTL=64 ID=1 DF ",
    f"{XID} IN=lo OUT= MAC=00:00:00:00:00:00:00:00:00:00:00:00:08:00 SRC=127.0.0.1 DST=127.0.0.1 ",
    "NVRM: The NVIDIA GPU 0000:1b:00.0\nNVRM: fallen off the bus and is not respIN=lo OUT= MAC= ",
    "XFS (sda1): A: page allocation failure: "
    + ALLOCATION.replace("@@", "shutting down filesystem"),
    "NVRM: a: page allocation failure: " + ALLOCATION.replace("@@", "NV_ERR_NO_MEMORY"),
    "NVRM: a cpuset=GPU does not have the necessary power cables mems_allowed=0",
    "EDAC MC0: 1 UE cpuset=on DIMM_A1 mems_allowed=0",
    "ceph (a cpuset=) mds0 hung",
    "NVRM: option mode: invalid value (a does not have the necessary power cables)",
)


@pytest.mark.parametrize("text", FORGED)
def test_a_record_of_two_words_is_no_line_of_a_driver(text: str) -> None:
    """It makes no event and is counted; the true Xid directly after it is seen."""
    taker = pipeline()
    for each in (record(text), record(TRUE_XID, stamp=100.000001)):
        taker.take(each)
    assert dict(taker.counters.kinds) == {"xid": 1}
    assert taker.counters.rejected == {"foreign": 1}
    assert events_of_records(as_syslog(text)) == ()


HIDDEN = (
    "NVRM: Xid (PCI:0000:1b:00): 31, pid=7, name=@@, Ch 00000010, intr 00000000. MMU Fault: ENGINE",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [@@:4711]",
    "EXT4-fs error (device dm-7): ext4_find_entry:1663: inode #2: comm @@: reading directory",
    "NVRM: API mismatch: the client '@@' (pid 4711)",
)


@pytest.mark.parametrize(
    "word", ["IN= OUT= ", "IN=a OUT=b ", "IN= OUT= SRC=", " cpuset=", "cpuset="]
)
@pytest.mark.parametrize("text", HIDDEN)
def test_a_name_cannot_hide_a_line_of_a_driver(text: str, word: str) -> None:
    """A process that is called like a message of the kernel has the faults that others have."""
    assert len(events_of(text.replace("@@", word))) == 1


def test_what_may_be_forged_by_syslog_is_counted() -> None:
    """Lines that cannot be told from a tenant's are left out, and not silently."""
    taker = pipeline()
    for text in ("a[1]: noise\n" + XID, f"VFS: file-max limit 7 reached\n{XID}\n{XID}"):
        for each in as_syslog(text):
            taker.take(each)
    assert dict(taker.counters.kinds) == {"file_max": 1, "xid": 1}
    assert taker.counters.rejected == {"ambiguous": 2}


TRIED_EVERY = 3
"""Of the forgeries of a message every third is tried, of other messages other thirds."""


@pytest.mark.slow
@pytest.mark.parametrize("message", user_words(), ids=lambda message: message.text[:60])
def test_words_that_a_user_chooses_gain_nothing(message: UserWords) -> None:
    """Each known line is made of a user's words as far as that goes, and read as from the device.

    No event but the message's own comes, about what it is about with harmless words too, and a
    true Xid directly after each is seen, but where the message was cut before a name.
    """
    own = {_what(event) for event in events_of(filled(message.text, *HARMLESS))}
    assert {kind for kind, *_ in own} <= message.kinds
    all_texts = forgeries(message)
    texts = all_texts[len(message.text) % TRIED_EVERY :: TRIED_EVERY]
    allowed = {what for what in own if what[0] in message.kinds} | {TRUE}
    for text in texts:
        seen = {_what(event) for event in _read(text)}
        assert TRUE in seen or text.endswith((" cpuset=", ",cpuset=")), text
        assert seen <= allowed, text
    assert len(all_texts) > 60, "the words that gain most were not made"
    for text in texts:
        for event in events_of_records(as_syslog(text)) if "\n" in text else ():
            assert event.kind in message.kinds, text


@pytest.mark.parametrize("message", user_words(), ids=lambda message: message.text[:60])
def test_a_message_is_told_by_its_own_text(message: UserWords) -> None:
    """The sign fits the message as the kernel prints it."""
    harmless = filled(message.text, *HARMLESS)
    if message.sign or "{prefix}" in message.text:
        assert possible_kinds([harmless]) == message.kinds


def test_the_lines_of_every_kind_are_tried() -> None:
    """The known lines cover the kinds, so that a forged one of any kind would be seen."""
    kinds = {event.kind for line in KNOWN_LINES for event in events_of(line)}
    assert len(KNOWN_LINES) > 150
    assert len(kinds) > 45


TENANT_GROUPS = {
    "name": TenantWord.COMM,
    "owner": TenantWord.COMM,
    "client": TenantWord.COMM,
    "library": TenantWord.FILE,
    "memcg": TenantWord.CGROUP,
    "task_memcg": TenantWord.CGROUP,
    "server": TenantWord.SERVER,
    "interface": TenantWord.INTERFACE,
}
OWN_CHOICE = {"server", "interface"}
"""Words that the event is about: another word is about another server or interface."""

CLUSTERS = {"lustre_not_responding", "ceph_not_responding"}
"""Their servers are those of the cluster's own configuration."""

HOSTILE = (
    *("NVRM: Xid (PCI:", "a\nNVRM: x", "x,pid=1,uid=0", "a:1", "a]", "a[1]:", "a' (pid 1)", "("),
    *("a) ", ", ", "a=b", "a invoked oom-", "..", "\u2028", "\x1b[2J", "%s", "0000:00:00.0"),
)
GROUP = re.compile(r"\(\?P<(\w+)>")
ROWS = [
    row
    for row in shipped_lines().rows
    if row.tenant_words or TENANT_GROUPS.keys() & GROUP.findall(filled_in(row.source, row.parts))
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.kind}-{row.contains}"[:60])
def test_each_word_that_a_tenant_chooses_is_named_and_harmless(row: LinePattern) -> None:
    """Hostile words in its place leave kind, thing and pid as they are, or make no event."""
    groups = [group for group in row.pattern.groupindex if group in TENANT_GROUPS]
    if row.kind not in CLUSTERS:
        assert {TENANT_GROUPS[group] for group in groups} <= set(row.tenant_words)
    for line in KNOWN_LINES:
        match = row.pattern.match(line)
        for group in groups if match else ():
            if match is None or match[group] is None:
                continue
            before, after = line[: match.start(group)], line[match.end(group) :]
            known = _about(line, group)
            own = f"{match[group]}/" if TENANT_GROUPS[group] is TenantWord.CGROUP else ""
            for word in HOSTILE:
                for found in events_of(before + own + word + after):
                    assert _told(found, group) in known, (line, word)


def _about(line: str, group: str) -> list[object]:
    return [_told(event, group) for event in events_of(line)]


def _told(event: Event, group: str) -> object:
    """What must not change: the kind, and the thing unless the word itself names it."""
    is_own = group in OWN_CHOICE
    return (event.kind, event.entity_type if is_own else (event.entity_id, event.pid))
