r"""Records of the kernel log as text: the layouts of /dev/kmsg and of syslog(2).

/dev/kmsg is documented in the kernel's Documentation/ABI/testing/dev-kmsg: one read gives one
record, `prefix,sequence,microseconds,flags;text`, then lines ` KEY=value`; bytes that are not
printable are written `\xNN`. syslog(2) gives lines `<prefix>[seconds.micros] text`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

MAX_LINE_CHARS = 2048
"""More of a line is not looked at; the kernel's own limit is about 1,000."""

MAX_SUB_LINES = 16
"""More lines of one record are not looked at."""

_KMSG = re.compile(rb"(\d{1,9}),(\d{1,19}),(\d{1,19}),[^;\n]{0,200};([^\n]*)")
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
_SYSLOG = re.compile(r"<(\d{1,9})>\[ *(\d{1,12})\.(\d{1,6})\](?:\[ *[TC]\d+\])? ?(.*)")
_SYSLOG_MORE = re.compile(r"<\d{1,9}>")
_FIRST_WORD = re.compile(r"[^ :\[(]*")


class Record(NamedTuple):
    r"""One record of the kernel log, its text still as it was read.

    `prefix` is facility x 8 + level; `stamp` counts seconds since boot without suspended time;
    `sequence` is None where the layout has none; `is_escaped` tells whether `\xNN` is to be read.
    """

    prefix: int
    sequence: int | None
    stamp: float
    body: bytes
    is_escaped: bool = True

    @property
    def is_from_user(self) -> bool:
        """Whether a program wrote it; the kernel gives such records a facility other than 0."""
        return self.prefix >= 8  # noqa: PLR2004 - facility 0 is prefix 0 to 7

    def lines(self) -> list[str]:
        """The lines to look at: the first, and those after it that may be believed.

        A line feed inside a record may come from a name that a tenant chose (a process, a file),
        so a further line is believed only when it repeats the first word of the record, as the
        NVIDIA driver's own messages of several lines do.
        """
        body = self.body
        if self.is_escaped and b"\\" in body:
            body = _ESCAPE.sub(lambda found: bytes((int(found[1], 16),)), body)
        first, *others = body.decode("utf-8", "replace").split("\n", MAX_SUB_LINES)
        lines = [first[:MAX_LINE_CHARS]]
        if others:
            word = first_word(first)
            lines += [line[:MAX_LINE_CHARS] for line in others if word and first_word(line) == word]
        return lines


def first_word(text: str) -> str:
    """What a line starts with, up to a space, a colon or a bracket: `NVRM`, `pcieport`."""
    found = _FIRST_WORD.match(text)
    return found[0] if found else ""


def parse_kmsg(data: bytes) -> Record | None:
    """The record in what one read of /dev/kmsg gave, or None when it is malformed."""
    match = _KMSG.match(data)
    if match is None:
        return None
    prefix, sequence, micros, body = match.groups()
    return Record(int(prefix), int(sequence), int(micros) / 1e6, body)


def properties(data: bytes) -> Mapping[str, str]:
    """The ` KEY=value` lines of a /dev/kmsg record: `SUBSYSTEM`, `DEVICE`."""
    found = {}
    for line in data.split(b"\n")[1:]:
        key, equals, value = line.partition(b"=")
        if equals and key.startswith(b" "):
            found[key[1:].decode("ascii", "replace")] = value.decode("utf-8", "replace")
    return found


def split_kmsg(data: bytes) -> tuple[list[bytes], bytes]:
    """Whole records in a piece of a recording or a pipe, and what is left of the last one.

    The device gives exactly one record; a file or a pipe with the same text may give several.
    Properties without their record, which came in the piece before, are left out.
    """
    if data.endswith(b"\n") and data.find(b"\n", 0, -1) < 0:
        return [data], b""
    records: list[bytes] = []
    *lines, rest = data.split(b"\n")
    for line in lines:
        if not line.startswith(b" "):
            records.append(line + b"\n")
        elif records:
            records[-1] += line + b"\n"
    return records, rest


def parse_syslog(data: bytes) -> Iterator[Record]:
    """The records in what syslog(2) gave; lines without a time stamp are left out.

    A print of several lines comes as several lines with one stamp. So a line with the stamp of
    the line before it is taken as a part of that record, unless it starts with the same word:
    then it is a record of its own (a burst within one microsecond).
    """
    record: Record | None = None
    for line in data.decode("utf-8", "replace").split("\n"):
        match = _SYSLOG.match(line)
        if match is None:
            if record is not None and line and _SYSLOG_MORE.match(line) is None:
                record = record._replace(body=record.body + b"\n" + line.encode())
            continue
        prefix, seconds, micros, text = match.groups()
        stamp = int(seconds) + int(micros.ljust(6, "0")) / 1e6
        if record is not None and record.stamp == stamp and not _is_new(record, text):
            record = record._replace(body=record.body + b"\n" + text.encode())
            continue
        if record is not None:
            yield record
        record = Record(int(prefix), None, stamp, text.encode(), is_escaped=False)
    if record is not None:
        yield record


def _is_new(record: Record, text: str) -> bool:
    """Whether the text starts a record of its own although its stamp is that of `record`."""
    word = first_word(text)
    head = first_word(record.body.decode("utf-8", "replace"))
    return bool(word) and word == head
