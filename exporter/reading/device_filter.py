"""Which devices are shown: names and shell patterns (`*`, `?`, `[…]`), matched in linear time."""

import fnmatch
import re
from collections.abc import Callable, Iterable

NOTHING = r"(?!)"


def shown(exclude: Iterable[str], include: Iterable[str]) -> Callable[[str], bool]:
    """Tell whether a name is shown: it is not excluded, or it is included all the same."""
    excluded, included = _any_of(exclude), _any_of(include)
    return lambda name: excluded.match(name) is None or included.match(name) is not None


def _any_of(patterns: Iterable[str]) -> "re.Pattern[str]":
    """One expression for all patterns; `fnmatch.translate` writes `*` so that it never tries twice.

    The empty list matches nothing.
    """
    return re.compile("|".join(map(fnmatch.translate, patterns)) or NOTHING)
