"""Filters of devices: names and shell patterns (`*`, `?`, `[…]`), matched in linear time."""

import fnmatch
import re
from collections.abc import Callable, Iterable

NOTHING = r"(?!)"


def shown(exclude: Iterable[str], include: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a name is included or not excluded."""
    excluded, included = _any_of(exclude), _any_of(include)
    return lambda name: excluded.match(name) is None or included.match(name) is not None


def at_most(limit: int, names: Iterable[str], is_hardware: Callable[[str], bool]) -> list[str]:
    """Return at most so many of the names, sorted: hardware first, then the first by name.

    What is made by the dozen leaves no real device out.
    """
    found = sorted(names)
    if len(found) > limit:
        found.sort(key=lambda name: not is_hardware(name))
    return sorted(found[:limit])


def _any_of(patterns: Iterable[str]) -> "re.Pattern[str]":
    """Return one expression for all patterns; `fnmatch.translate` makes `*` without backtracking.

    The empty list matches nothing.
    """
    return re.compile("|".join(map(fnmatch.translate, patterns)) or NOTHING)
