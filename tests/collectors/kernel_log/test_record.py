"""Records of the kernel log as text."""

import pytest

from exporter.collectors.kernel_log.record import join_lines, parse_kmsg, parse_syslog, split_kmsg
from tests.collectors.kernel_log.feeding import record


def test_a_record_of_the_device_has_prefix_sequence_time_and_text() -> None:
    """The head is read up to the first semicolon; further fields of it are passed over."""
    parsed = parse_kmsg(b"4,90214,5123480000,c,caller=T812;NVRM: a;b\n")
    assert parsed is not None
    assert (parsed.prefix, parsed.sequence, parsed.stamp) == (4, 90214, 5123.48)
    assert parsed.text() == "NVRM: a;b"
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
    assert record("größe a\\b\x07").text() == "größe a\\b\x07"
    broken = parse_kmsg(b"4,1,2,-;a\\xffb\\x5cx41\n")
    assert broken is not None
    assert broken.text() == "a\ufffdb\\x41"


def test_syslog_escapes_nothing() -> None:
    """What looks like an escape there is what was printed."""
    (line,) = parse_syslog(b"<4>[    1.000000] a\\x41b\n")
    assert line.text() == "a\\x41b"


def test_the_flag_of_a_continuation_is_read() -> None:
    """The kernel marks what continues a print that another one interrupted."""
    flags = [parse_kmsg(b"4,1,2," + flag + b";x\n") for flag in (b"c", b"-", b"c,caller=T1")]
    assert [one.is_continuation for one in flags if one is not None] == [True, False, True]


def test_properties_are_no_text() -> None:
    """` KEY=value` lines that name subsystem and device follow the text."""
    parsed = parse_kmsg(b"3,1,2,-;text\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n")
    assert parsed is not None
    assert parsed.text() == "text"


def test_a_piece_of_a_recording_is_split_into_records() -> None:
    """Properties stay with their record, and an unfinished record is given back."""
    records, rest = split_kmsg(b"4,1,2,-;a\n K=v\n4,2,3,-;b\n4,3")
    assert records == [b"4,1,2,-;a\n K=v\n", b"4,2,3,-;b\n"]
    assert rest == b"4,3"


def test_syslog_lines_are_records_with_stamps_and_no_sequence() -> None:
    """Facility and level come in angle brackets, the time in seconds; callers are passed over."""
    records = parse_syslog(b"<4>[   12.000345] NVRM: a\n<13>[   13.5][  T812] b\n")
    assert [(r.prefix, r.sequence, r.stamp, r.text()) for r in records] == [
        (4, None, 12.000345, "NVRM: a"),
        (13, None, 13.5, "b"),
    ]
    assert [r.is_from_user for r in records] == [False, True]


def test_syslog_lines_of_one_moment_may_be_one_record() -> None:
    """Lines with one stamp and one prefix stay together, so that the first can answer for them."""
    text = b"<6>[    1.000001] a\n<6>[    1.000001] b\n<4>[    1.000001] c\n<4>[    2.000001] d\n"
    assert [r.text() for r in join_lines(parse_syslog(text))] == ["a\nb", "c", "d"]


def test_syslog_text_without_stamps_says_nothing() -> None:
    """Lines that cannot be placed in time are left out."""
    assert parse_syslog(b"<4>NVRM: a\n\nplain\n") == []
