"""A pattern of a kernel log line: how it is matched and which component it is about."""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from exporter.record import dataclass

Fields: TypeAlias = "Mapping[str, str]"
"""What a line said, by name; names are those of the groups of the pattern."""

Subject: TypeAlias = "tuple[str, str]"
"""Type and id of the component of an event; the node itself is `("node", "")`."""

NODE: Subject = ("node", "")

LINE_FEED = "\ufffd"
"""The placeholder for a line feed in the text of a one-line record."""

PARTS: Mapping[str, str] = MappingProxyType(
    {
        "PCI": r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?",
        "COMM": ".{1,15}",  # TASK_COMM_LEN without the terminating zero
        "LF": LINE_FEED,
    }
)
"""What `@PCI@` and the like stand for in every pattern."""

PART = re.compile(r"@([A-Z][A-Z0-9_]{0,39})@")

MAX_DEPTH = 8
"""Parts within parts."""


class TenantWord(Enum):
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
            "like another interface, and so cause a warning about that name; what is said of a "
            "bond is a fault only while the node's own bond of that name has no link"
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


def on_node(_fields: Fields) -> Subject:
    """Return the node as a whole as the component of the event."""
    return NODE


def same_fields(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields as the line said them."""
    return fields


@dataclass(frozen=True)
class LinePattern:
    """One table `[[line]]` of a file `kernel_log.toml`.

    `source` is the regular expression, in which `@NAME@` stands for a part; it is compiled when a
    line holds the text `contains`, without which it cannot match. `about` returns the component
    and `convert` the fields of the event. A line joins an open event only when the field `same` is
    equal in both (or said by one only) and the event does not have the field `once` yet; a line
    that ends events ends those of the same `same`. An event
    without the field `needs` is not one. A line that `opens` another kind begins an event that the
    further lines of that other kind belong to.
    """

    kind: str
    contains: str
    source: str
    about: Callable[[Fields], Subject] = on_node
    role: Role = Role.WHOLE
    same: str = ""
    once: str = ""
    needs: str = ""
    opens: str = ""
    constants: Fields = field(default_factory=dict)
    convert: Callable[[dict[str, str]], dict[str, str]] = same_fields
    fields: tuple[str, ...] = ()
    tenant_words: tuple[TenantWord, ...] = ()
    is_head: bool = False
    parts: Mapping[str, str] = field(default_factory=lambda: PARTS)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; raises re.error, and ValueError for a part that is not there."""
        return re.compile(filled(self.source, self.parts), re.ASCII)

    def fields_of(self, found: re.Match[str]) -> dict[str, str]:
        """Return the fields of a line; those of `name_2` are the field `name`, said elsewhere."""
        fields = {
            name.removesuffix("_2"): text
            for name, text in found.groupdict().items()
            if text is not None
        }
        fields.update(self.constants)
        return self.convert(fields)

    @property
    def field_names(self) -> tuple[str, ...]:
        """The fields that an event of this line may have."""
        groups = (name.removesuffix("_2") for name in self.pattern.groupindex)
        ended = ("ended", *(["ends"] if self.same else [])) if self.role is Role.ENDED else ()
        return (*(self.fields or (*groups, *self.constants)), *ended)


def filled(source: str, parts: Mapping[str, str], depth: int = MAX_DEPTH) -> str:
    """Return the pattern with its parts in place of their names.

    Raises ValueError for a part that does not exist, or that is within itself.
    """
    if not depth:
        raise ValueError("parts are nested too deeply")

    def part(name: re.Match[str]) -> str:
        if name[1] not in parts:
            raise ValueError(f"there is no part {name[0]}; there are {', '.join(sorted(parts))}")
        return filled(parts[name[1]], parts, depth - 1)

    return PART.sub(part, source) if "@" in source else source
