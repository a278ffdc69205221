"""Reads fields of old recordings under their present names, and logs each old name."""

import logging
from collections.abc import Mapping
from typing import Any, TypeAlias

logger = logging.getLogger(__name__)

Tree = dict[str, Any]
OldNames: TypeAlias = Mapping[tuple[str, ...], Mapping[str, str]]
"""Present names by old names, for each path; `*` in a path is any name, or each of a list.

The present name of a field that is no longer recorded is empty.
"""

OF_EVERY_READING: OldNames = {("*",): {"left_out": "truncated"}}


class Renaming:
    """Renames the old names of one recording; each is logged once."""

    def __init__(self, old_names: OldNames) -> None:
        self._names = old_names
        self._noted: set[str] = set()

    def read(self, readings: Mapping[str, Any]) -> Tree:
        """Return the readings with present names."""
        found: Tree = self._read(dict(readings), self._names)
        return found

    def _read(self, found: Any, names: OldNames) -> Any:
        """Rename below this path: inner names first, since paths use old names."""
        if isinstance(found, list):
            return self._read_list(found, names)
        if not isinstance(found, dict) or not names:
            return found
        inner = {name: self._read(value, _below(names, name)) for name, value in found.items()}
        return self._renamed(inner, names.get((), {}))

    def _read_list(self, found: list[Any], names: OldNames) -> list[Any]:
        """Rename in each object of a list; in rows the first text is the name."""
        here, below = names.get((), {}), _below(names, "*")
        return [
            [*self._renamed({row[0]: None}, here), *row[1:]]
            if here and isinstance(row, list) and row and isinstance(row[0], str)
            else self._read(row, below)
            for row in found
        ]

    def _renamed(self, fields: Tree, names: Mapping[str, str]) -> Tree:
        old = names.keys() & fields.keys()
        for name in sorted(old - self._noted):
            self._noted.add(name)
            if names[name]:
                logger.warning("%s is an old name, and is read as %s", name, names[name])
            else:
                logger.warning("%s is no longer recorded, and is left out", name)
        present = ((names.get(name, name), value) for name, value in fields.items())
        return {name: value for name, value in present if name} if old else fields


def _below(names: OldNames, name: str) -> OldNames:
    """Return the old names below this path."""
    return {place[1:]: table for place, table in names.items() if place[:1] in ((name,), ("*",))}
