"""Records of the kernel log as text."""

import pytest

from exporter.sources.kernel_log.record import parse_kmsg, parse_syslog, properties, split_kmsg
from tests.sources.kernel_log.feeding import record


def test_a_record_of_the_device_has_prefix_sequence_time_and_text() -> None:
    """The head is read up to the first semicolon; further fields of it are passed over."""
    parsed = parse_kmsg(b"4,90214,5123480000,c,caller=T812;NVRM: a;b\n")
    assert parsed is not None
    assert (parsed.prefix, parsed.sequence, parsed.stamp) == (4, 90214, 5123.48)
    assert parsed.lines() == ["NVRM: a;b"]
    assert not parsed.is_from_user


@pytest.mark.parametrize(
    ("prefix", "is_from_user"), [(0, False), (7, False), (8, True), (12, True)]
)
def test_a_facility_other_than_the_kernels_is_a_user(prefix: int, is_from_user: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only prefixes 0 to 7 are the kernel's own."""
    assert record("x", prefix=prefix).is_from_user is is_from_user


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"hello\n",
        b"4,1,2\n",
        b"4,1,2,-\n;late",
        b"x,1,2,-;text\n",
        b"-4,1,2,-;text\n",
        b"4,1,99999999999999999999999,-;text\n",
        b"\xff\xfe;\n",
    ],
)
def test_what_is_no_record_is_refused(data: bytes) -> None:
    """Malformed bytes give None, never an exception."""
    assert parse_kmsg(data) is None


def test_escapes_are_bytes_and_bytes_are_text() -> None:
    r"""`\xNN` is one byte of UTF-8; what is no UTF-8 is replaced; a backslash comes escaped too."""
    assert record("größe a\\b\x07").lines() == ["größe a\\b\x07"]
    broken = parse_kmsg(b"4,1,2,-;a\\xffb\\x5cx41\n")
    assert broken is not None
    assert broken.lines() == ["a\ufffdb\\x41"]


def test_a_print_of_several_lines_is_split_where_the_driver_repeats_its_name() -> None:
    """Lines of the driver's own message are looked at one by one."""
    lines = record("NVRM: one\nNVRM: two\nother: three").lines()
    assert lines == ["NVRM: one", "NVRM: two"]


def test_a_line_feed_in_a_tenants_name_makes_no_line() -> None:
    """A file or process named like a driver line cannot forge one."""
    forged = "a[1]: segfault at 0 ip 0 sp 0 error 4 in x\nNVRM: Xid (PCI:0000:3b:00): 79, gone"
    assert record(forged).lines() == [forged.split("\n", maxsplit=1)[0]]


def test_a_long_line_is_cut() -> None:
    """A line of any length costs a bounded amount of work."""
    assert len(record("x" * 10_000).lines()[0]) == 2048


def test_properties_are_the_lines_that_follow() -> None:
    """` KEY=value` lines name subsystem and device."""
    data = b"3,1,2,-;text\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n"
    assert properties(data) == {"SUBSYSTEM": "pci", "DEVICE": "+pci:0000:3b:00.0"}
    parsed = parse_kmsg(data)
    assert parsed is not None
    assert parsed.lines() == ["text"]


def test_a_piece_of_a_recording_is_split_into_records() -> None:
    """Properties stay with their record, and an unfinished record is given back."""
    records, rest = split_kmsg(b"4,1,2,-;a\n K=v\n4,2,3,-;b\n4,3")
    assert records == [b"4,1,2,-;a\n K=v\n", b"4,2,3,-;b\n"]
    assert rest == b"4,3"


def test_syslog_lines_are_records_with_stamps_and_no_sequence() -> None:
    """Facility and level come in angle brackets, the time in seconds; callers are passed over."""
    records = list(parse_syslog(b"<4>[   12.000345] NVRM: a\n<13>[   13.5][  T812] b\n"))
    assert [(r.prefix, r.sequence, r.stamp, r.lines()) for r in records] == [
        (4, None, 12.000345, ["NVRM: a"]),
        (13, None, 13.5, ["b"]),
    ]
    assert [r.is_from_user for r in records] == [False, True]


def test_syslog_lines_of_one_moment_are_one_record_unless_they_start_alike() -> None:
    """A line with the stamp of a foreign line before it cannot be told from a forged one."""
    text = (
        b"<6>[    1.000001] a[1]: segfault at 0 ip 0 sp 0 error 4 in x\n"
        b"<6>[    1.000001] NVRM: Xid (PCI:0000:3b:00): 79, gone[7f+1]\n"
        b"<4>[    2.000001] NVRM: one\n"
        b"<4>[    2.000001] NVRM: one\n"
    )
    lines = [r.lines() for r in parse_syslog(text)]
    assert lines == [["a[1]: segfault at 0 ip 0 sp 0 error 4 in x"], ["NVRM: one"], ["NVRM: one"]]


def test_syslog_text_without_stamps_says_nothing() -> None:
    """Lines that cannot be placed in time are left out."""
    assert list(parse_syslog(b"<4>NVRM: a\n\nplain\n")) == []
