"""What a knob is: a field of the configuration with default, sentence and bounds."""

import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any


def knob(
    default: Any,
    doc: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    one_of: tuple[str, ...] = (),
    are_patterns: bool = False,
    is_duration: bool = False,
) -> Any:
    """A field of the configuration: its default, its sentence, and what is allowed."""
    bounds = {
        "doc": doc,
        "at_least": at_least,
        "at_most": at_most,
        "one_of": one_of,
        "are_patterns": are_patterns,
        "is_duration": is_duration,
    }
    if isinstance(default, Mapping):
        frozen = MappingProxyType(dict(default))
        return field(default_factory=lambda: frozen, metadata=bounds)
    return field(default=default, metadata=bounds)


def section(kind: type, doc: str) -> Any:
    """A nested table of the configuration."""
    return field(default_factory=kind, metadata={"doc": doc})


def duration_secs(text: str) -> float | None:
    """The seconds of a duration such as 500ms, 30s, 5m or 2h; None when it is none."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)", text)
    if match is None or float(match[1]) == 0:
        return None
    return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[match[2]]
