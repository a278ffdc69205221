"""What one row of the tables of kernel-log lines says: how a line is known and what it is about."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from exporter.model.event import EventType

Fields: TypeAlias = "Mapping[str, str]"
"""What a line said, by name; names are those of the groups of the pattern."""

Subject: TypeAlias = "tuple[str, str]"
"""Type and id of what an event is about; the node itself is `("node", "")`."""

NODE: Subject = ("node", "")

PCI = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
"""A PCI address in a pattern."""


class Role(Enum):
    """What a line does to the event it belongs to."""

    WHOLE = "whole"  # an event by itself
    START = "start"  # begins an event that further lines may add to
    JOIN = "join"  # adds to the event that is open, else begins one
    MORE = "more"  # adds to the event that is open, else says nothing
    ENDED = "ended"  # says that what the kind is about is over: an event that is not counted
    LOSS = "loss"  # says that the kernel left lines out


@dataclass(frozen=True, slots=True)
class Kind:
    """One row: the kind of event, how its line is known, and what it is about.

    `tag` is a text without which the pattern cannot match; it is looked for first because that
    is cheap. The pattern is anchored at the start of the line and needs linear time. A line joins
    an open event only when the field `same` is equal in both (or said by one only) and the event
    does not have the field `once` yet. An event without the field `needs` is not one.
    """

    name: str
    tag: str
    pattern: re.Pattern[str]
    about: Callable[[Fields], Subject]
    type: EventType = EventType.ERROR_HW
    role: Role = Role.WHOLE
    same: str = ""
    once: str = ""
    needs: str = ""
    refine: Callable[[dict[str, str]], dict[str, str]] | None = None


def rx(pattern: str) -> re.Pattern[str]:
    """The compiled pattern, with ` @PCI@ ` standing for a PCI address."""
    return re.compile(pattern.replace("@PCI@", PCI), re.ASCII)


def on_node(_fields: Fields) -> Subject:
    """The event is about the node as a whole."""
    return NODE


def on(hw_type: str, field: str) -> Callable[[Fields], Subject]:
    """The event is about the thing that this field names; about the node when it is not said."""

    def about(fields: Fields) -> Subject:
        hw_id = fields.get(field)
        return (hw_type, hw_id) if hw_id else NODE

    return about
