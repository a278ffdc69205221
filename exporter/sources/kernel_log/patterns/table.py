"""The one table of all kinds of lines, and finding the row that a line matches."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from exporter.model.label import clean_text
from exporter.model.pci import pci_address
from exporter.sources.kernel_log.patterns.memory import MEMORY
from exporter.sources.kernel_log.patterns.network import NETWORK
from exporter.sources.kernel_log.patterns.nvidia import NVIDIA, SEGFAULT
from exporter.sources.kernel_log.patterns.pattern import Kind
from exporter.sources.kernel_log.patterns.pcie import PCIE
from exporter.sources.kernel_log.patterns.process import PROCESS_KINDS
from exporter.sources.kernel_log.patterns.storage import STORAGE

KINDS: tuple[Kind, ...] = (
    *NVIDIA,
    SEGFAULT,
    *PROCESS_KINDS,
    *PCIE,
    *MEMORY,
    *STORAGE,
    *NETWORK,
)
"""Every row; the first that matches a line wins."""

PCI_FIELDS = frozenset({"pci", "port"})


@dataclass(frozen=True, slots=True)
class Match:
    """A line that is known: its row and what it said, addresses and texts made uniform."""

    kind: Kind
    fields: dict[str, str]


class Table:
    """Finds the row of a line; a line without any tag costs one search."""

    def __init__(self, kinds: Iterable[Kind] = KINDS) -> None:
        self._rows = tuple(kinds)
        tags = sorted({row.tag.encode() for row in self._rows})
        self.may_match = re.compile(b"|".join(map(re.escape, tags))).search
        """Whether raw text may be a known line; None when it surely is not."""

    def match(self, line: str) -> Match | None:
        """The first row that the line matches, or None."""
        for row in self._rows:
            if row.tag in line:
                found = row.pattern.match(line)
                if found is not None:
                    return Match(row, _fields(row, found))
        return None


def _fields(row: Kind, found: re.Match[str]) -> dict[str, str]:
    fields = {name: value for name, value in found.groupdict().items() if value is not None}
    if row.refine is not None:
        fields = row.refine(fields)
    for name, value in fields.items():
        address = pci_address(value) if name in PCI_FIELDS else None
        fields[name] = address or clean_text(value)
    return fields
