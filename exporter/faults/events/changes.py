"""What was remembered of components, compared with what they are now; bounded in size."""

from collections.abc import Mapping
from typing import TypeVar

MAX_REMEMBERED = 2_000
"""Components of one kind that are compared with what they were."""

T = TypeVar("T")


def turned_good(known: dict[str, bool], now: Mapping[str, bool]) -> list[str]:
    """Return what is good now and was not; what is away was not good."""
    turned = [name for name, is_good in now.items() if is_good and known.get(name) is False]
    known.update(dict.fromkeys(known.keys() - now.keys(), False))
    for name, is_good in now.items():
        remember(known, name, is_good)
    return turned


def remember(known: dict[str, T], name: str, value: T) -> None:
    """Keep the value of a name; the one that was first seen goes where there is no room."""
    if name not in known and len(known) >= MAX_REMEMBERED:
        del known[next(iter(known))]
    known[name] = value
