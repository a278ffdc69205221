"""Validates query parameters: known names, each once, with a bounded value."""

from collections.abc import Collection, Sequence

MAX_VALUE_CHARS = 256


class MalformedQuery(Exception):
    """A query that cannot be answered; the message is one sentence."""


def parameters(query: Sequence[tuple[str, str]], allowed: Collection[str]) -> dict[str, str]:
    """Return the parameters by name; raise MalformedQuery for unknown, empty or repeated ones."""
    values: dict[str, str] = {}
    for name, value in query:
        if name not in allowed:
            raise MalformedQuery(f"may have the parameters {', '.join(allowed)}")
        if name in values:
            raise MalformedQuery(f"{name} is given twice")
        if not value or len(value) > MAX_VALUE_CHARS:
            raise MalformedQuery(f"{name} must have 1 to {MAX_VALUE_CHARS} characters")
        values[name] = value
    return values
