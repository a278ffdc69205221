"""Fields with the same name in the model and in JSON."""

from typing import Any


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Return these fields of a value by name; all null if the value is None."""
    return {name: None if value is None else getattr(value, name) for name in names}
