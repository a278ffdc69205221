"""The search for the pattern that a line matches."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby, takewhile

from exporter.collectors.kernel_log.pattern import LINE_FEED, LinePattern, Role
from exporter.collectors.kernel_log.pattern_file import Lines, shipped_lines
from exporter.collectors.pcie.address import pci_address
from exporter.model.label import clean_text
from exporter.record import dataclass

MAX_LINE_CHARS = 2048
"""More of a line is not looked at; the kernel's own limit is about 1,000."""

MAX_LINES = 17
"""More lines of one record are not looked at."""

UNPRINTABLE = "\ufffd"
"""What is shown of a word without a sign that can be shown."""

PCI_FIELDS = frozenset({"pci", "port"})


@dataclass(frozen=True, slots=True)
class Match:
    """A line that is known: its row and what it said, addresses and texts made uniform."""

    row: LinePattern
    fields: dict[str, str]
    line: str


class Table:
    """Finds the row of a line; a line without any tag costs one search."""

    def __init__(self, lines: Lines | None = None) -> None:
        lines = lines or shipped_lines()
        self._rows = lines.rows
        self.kinds = lines.kinds
        self.may_match = search_for(tuple(row.contains for row in self._rows))
        """Whether raw text may be a known line; None when it surely is not."""

    def matches(self, text: str, *, is_one_print: bool) -> Iterator[Match]:
        """Find the lines of a record that are known and may be believed.

        A line feed may come from a name that a tenant chose, so a further line is believed only
        as a continuation of a message that the driver prints in several lines. Where the text
        may be that of several records (syslog(2)), the lines after one without a word that a
        tenant chooses are records of their own; all other further lines are left out.
        """
        lines = [line[:MAX_LINE_CHARS] for line in text.split("\n", MAX_LINES)[:MAX_LINES]]
        for index, line in enumerate(lines):
            is_last = index == len(lines) - 1
            match = self.match(line)
            if match is not None and (is_last or match.row.is_head):
                yield match
                yield from self._continuations(match, lines[index + 1 :])
                return
            if match is None and is_last:
                return
            if is_one_print or match is None or match.row.tenant_words:
                break
            yield match
        match = self.match(LINE_FEED.join(lines[index:])[:MAX_LINE_CHARS])
        if match is not None:
            yield match

    def _continuations(self, head: Match, lines: Iterable[str]) -> Iterator[Match]:
        for line in lines:
            match = self.match(line)
            is_more = match is not None and match.row.role is Role.CONTINUATION
            if match is not None and is_more and match.row.kind == head.row.kind:
                yield match

    def match(self, line: str) -> Match | None:
        """Return the first row that the line matches, or None."""
        for row in self._rows:
            if row.contains in line:
                found = row.pattern.match(line)
                if found is not None:
                    return Match(row, _fields(row, found), line)
        return None


@cache
def search_for(words: tuple[str, ...]) -> Callable[[bytes], re.Match[bytes] | None]:
    """Return the search for any of the words, compiled once for all tables."""
    return re.compile(any_of(word.encode() for word in words)).search


def any_of(words: Iterable[bytes]) -> bytes:
    """Return a pattern for any of the words, in which a beginning that words share stands once.

    A search for it compares a place in a text with few letters, not with every word.
    """
    branches = []
    for _, group in groupby(sorted(words), key=lambda word: word[:1]):
        alike = list(group)
        pairs = zip(alike[0], alike[-1], strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        rests = {word[shared:] for word in alike}
        branches.append(re.escape(alike[0][:shared]) + (b"" if b"" in rests else any_of(rests)))
    return b"(?:" + b"|".join(branches) + b")"


def _fields(row: LinePattern, found: re.Match[str]) -> dict[str, str]:
    fields = row.fields_of(found)
    for name, value in fields.items():
        # Up to 4.x the IOMMU of Intel prints [0x3b:0x00.0].
        address = pci_address(value.replace("0x", "")) if name in PCI_FIELDS else None
        # A name of blanks is a name: the event stays with what it is about.
        fields[name] = address or clean_text(value) or UNPRINTABLE[: len(value)]
    return fields
