"""Durations in rules and configuration: 500ms, 30s, 5m, 1h, 1d."""

import re
from datetime import datetime
from functools import lru_cache

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}

MAX_MOMENT_CHARS = 40
ALLOWED = "a number with ms, s, m, h or d, such as 90s or 10m"


@lru_cache(maxsize=256)  # the rules have 1,700 durations, 70 different ones
def parse_duration(text: str) -> float | None:
    """Parse a duration into seconds; None for another text."""
    match = _DURATION.fullmatch(text)
    return None if match is None else float(match[1]) * _SECONDS[match[2]]


def parse_moment(text: object) -> float | None:
    """Parse a time of RFC 3339 with its offset into seconds since the epoch; None for others."""
    if not isinstance(text, str) or len(text) > MAX_MOMENT_CHARS:
        return None
    try:
        at = datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text)
        return None if at.tzinfo is None else at.timestamp()
    except (ValueError, OverflowError):
        return None


def show_duration(secs: float) -> str:
    """Format seconds as a duration, in the largest unit without a fraction."""
    for unit in ("d", "h", "m"):
        if secs >= _SECONDS[unit] and secs % _SECONDS[unit] == 0:
            return f"{secs / _SECONDS[unit]:g}{unit}"
    return f"{secs:g}s"
