r"""Records of the kernel log as text: the layouts of /dev/kmsg and of syslog(2).

/dev/kmsg is documented in the kernel's Documentation/ABI/testing/dev-kmsg: one read gives one
record, `prefix,sequence,microseconds,flags;text`, then lines ` KEY=value`; bytes that are not
printable are written `\xNN`. syslog(2) gives lines `<prefix>[seconds.micros] text`.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

_KMSG = re.compile(rb"(\d{1,9}),(\d{1,19}),(\d{1,19}),([^,;\n]{0,8})[^;\n]{0,200};([^\n]*)")
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
_SYSLOG = re.compile(rb"<(\d{1,9})>\[ *(\d{1,12})\.(\d{1,6})\](?:\[ *[TC]\d+\])? ?(.*)")


class Record(NamedTuple):
    r"""One record of the kernel log, its text still as it was read.

    `prefix` is facility x 8 + level; `stamp` counts seconds since boot without suspended time;
    `sequence` is None where syslog(2) gave it: then `\xNN` is no escape, and the lines may be
    those of several records with one stamp. `is_continuation` is the kernel's flag `c`,
    or `+` up to 4.9.
    """

    prefix: int
    sequence: int | None
    stamp: float
    body: bytes
    is_continuation: bool = False

    @property
    def is_from_user(self) -> bool:
        """Whether a program wrote it; the kernel gives such records a facility other than 0."""
        return self.prefix >= 8  # noqa: PLR2004 - facility 0 is prefix 0 to 7

    def text(self) -> str:
        """Decode the text; it may hold line feeds."""
        body = self.body
        if self.sequence is not None and b"\\" in body:
            body = _ESCAPE.sub(lambda found: bytes((int(found[1], 16),)), body)
        return body.decode("utf-8", "replace")


def parse_kmsg(data: bytes) -> Record | None:
    """Return the record of one read of /dev/kmsg, or None when it is malformed."""
    match = _KMSG.match(data)
    if match is None:
        return None
    prefix, sequence, micros, flags, body = match.groups()
    return Record(
        int(prefix), int(sequence), int(micros) / 1e6, body, b"c" in flags or b"+" in flags
    )


def split_kmsg(data: bytes) -> tuple[list[bytes], bytes]:
    """Split a piece of a recording or a pipe into whole records and what is left of the last.

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


def parse_syslog(data: bytes) -> list[Record]:
    """Return the lines of syslog(2) as records; those without a time stamp are dropped.

    A line feed in a text makes a further line with the stamp of the first; bytes without a head
    belong to the line before them.
    """
    records: list[Record] = []
    for line in data.split(b"\n"):
        match = _SYSLOG.fullmatch(line)
        if match is None:
            continue
        prefix, seconds, micros, text = match.groups()
        stamp = int(seconds) + int(micros.ljust(6, b"0")) / 1e6
        records.append(Record(int(prefix), None, stamp, text, is_continuation=True))
    return records


def join_lines(lines: Iterable[Record]) -> Iterator[Record]:
    """Put the lines of syslog(2) that may be of one record together: one stamp, one prefix."""
    for _, group in groupby(lines, key=lambda line: (line.stamp, line.prefix)):
        first, *others = group
        if others:
            first = first._replace(body=b"\n".join((first.body, *(line.body for line in others))))
        yield first
