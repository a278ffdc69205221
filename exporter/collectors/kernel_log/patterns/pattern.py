"""A pattern of a kernel log line: how it is matched and which component it is about."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Fields: TypeAlias = "Mapping[str, str]"
"""What a line said, by name; names are those of the groups of the pattern."""

Subject: TypeAlias = "tuple[str, str]"
"""Type and id of what an event is about; the node itself is `("node", "")`."""

NODE: Subject = ("node", "")

PCI = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
"""A PCI address in a pattern."""

LINE_FEED = "\ufffd"
"""The placeholder for a line feed in the text of a one-line record."""

COMM = ".{1,15}"
"""The pattern of a process name (TASK_COMM_LEN without the terminating zero)."""


class Chosen(Enum):
    """Text in kernel messages that a tenant controls, and why that is harmless."""

    COMM = (
        "the name of a process",
        "at most 15 bytes, shown as a name only; no rule uses it, and the PID is the kernel's",
    )
    FILE = ("the name of a file", "it is only shown; no rule uses it")
    CGROUP = (
        "the names of cgroups below its own",
        "an ambiguous path is not attributed to a pod",
    )
    SERVER = (
        "the name of the server of one of its mounts",
        "the event is about this server name, which only the tenant's mounts use",
    )
    INTERFACE = (
        "the name of an interface in its own network namespace",
        (
            "at most 15 bytes without blanks and colons; the driver logs such messages only about "
            "real adapters, with their PCI address; a tenant can name its own virtual function "
            "like another interface, and so cause a warning about that name"
        ),
    )

    def __init__(self, what: str, why_harmless: str) -> None:
        self.what = what
        self.why_harmless = why_harmless


class Role(Enum):
    """What a line does to the event it belongs to."""

    WHOLE = "whole"  # an event by itself
    START = "start"  # begins an event that further lines may add to
    JOIN = "join"  # adds to the event that is open, else begins one
    CONTINUATION = "continuation"  # adds to the event that is open, else says nothing
    ENDED = "ended"  # says that what the kind is about is over: an event that is not counted
    DROPPED = "dropped"  # counts lines that the kernel left out


@dataclass(frozen=True, slots=True)
class LinePattern:
    """One row: a kind of event (see `kinds.py`), its line, and what it is about.

    `tag` is a text without which the pattern cannot match; it is looked for first because that
    is cheap. The pattern is anchored at the start of the line and needs linear time. A line joins
    an open event only when the field `same` is equal in both (or said by one only) and the event
    does not have the field `once` yet. An event without the field `needs` is not one.
    `chosen` names the words that a tenant can choose; `fields` those of the event where `refine`
    makes others than the groups of the pattern. `is_head` tells that the driver prints
    further lines within the same record; nobody else's further lines are believed.
    """

    kind: str
    tag: str
    pattern: re.Pattern[str]
    about: Callable[[Fields], Subject]
    role: Role = Role.WHOLE
    same: str = ""
    once: str = ""
    needs: str = ""
    refine: Callable[[dict[str, str]], dict[str, str]] | None = None
    chosen: tuple[Chosen, ...] = ()
    fields: tuple[str, ...] = ()
    is_head: bool = False


def rx(pattern: str) -> re.Pattern[str]:
    """Compile the pattern; `@PCI@` stands for a PCI address and `@COMM@` for a process."""
    return re.compile(pattern.replace("@PCI@", PCI).replace("@COMM@", COMM), re.ASCII)


def on_node(_fields: Fields) -> Subject:
    """Return the node as a whole as what the event is about."""
    return NODE


def on(hw_type: str, field: str) -> Callable[[Fields], Subject]:
    """Make a function that names what this field holds as what the event is about.

    About the node when it is not said.
    """

    def about(fields: Fields) -> Subject:
        hw_id = fields.get(field)
        return (hw_type, hw_id) if hw_id else NODE

    return about
