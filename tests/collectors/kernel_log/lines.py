"""Messages of the kernel and their events: `kernel_log.toml` beside the tests of each collector.

A table is named for the kind of the one event that its message makes. `log` holds the records of
the message, one text or several; `about` is what the event is about, the node where it is not
there; `fields` are some fields of the event, and `without` are fields that it does not have.
`quiet` lists lines that make no event.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from exporter.toml import tomllib

FOLDER = Path(__file__).resolve().parents[1]


class KernelMessage(NamedTuple):
    """The records of one message, and what is told of the event that they make."""

    records: tuple[str, ...]
    kind: str
    about: str
    fields: Mapping[str, str | None]


def _message(kind: str, row: Mapping[str, Any]) -> KernelMessage:
    assert row.keys() <= {"log", "about", "fields", "without"}, row
    records = (row["log"],) if isinstance(row["log"], str) else tuple(row["log"])
    fields = row.get("fields", {}) | dict.fromkeys(row.get("without", ()))
    return KernelMessage(records, kind, row.get("about", "node "), fields)


_FILES = {
    path.parent.name: tomllib.loads(path.read_text("utf-8"))
    for path in sorted(FOLDER.glob("*/kernel_log.toml"))
}
QUIET: Mapping[str, tuple[str, ...]] = {
    collector: tuple(file.pop("quiet")) for collector, file in _FILES.items() if "quiet" in file
}
"""Lines that make no event, by the collector that they are near to."""
MESSAGES: Mapping[str, tuple[KernelMessage, ...]] = {
    collector: tuple(_message(kind, row) for kind, rows in file.items() for row in rows)
    for collector, file in _FILES.items()
}
"""Messages by the collector that they are about."""
KNOWN_LINES = tuple(
    dict.fromkeys(
        line
        for messages in MESSAGES.values()
        for each in messages
        for record in each.records
        for line in record.split("\n")
    )
)
"""A line for every layout that is known."""
