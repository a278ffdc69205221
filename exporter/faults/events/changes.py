"""Compares components with their remembered state; bounded in size."""

from collections.abc import Mapping
from typing import TypeVar

MAX_REMEMBERED = 2_000
"""The most components of one kind that are remembered."""

T = TypeVar("T")


def turned_good(known: dict[str, bool], now: Mapping[str, bool]) -> list[str]:
    """Return the names that are good now and were not before; an absent component is not good."""
    turned = [name for name, is_good in now.items() if is_good and known.get(name) is False]
    known.update(dict.fromkeys(known.keys() - now.keys(), False))
    for name, is_good in now.items():
        remember(known, name, is_good)
    return turned


def remember(known: dict[str, T], name: str, value: T) -> None:
    """Set the value of a name; when the limit is reached the oldest name is removed."""
    if name not in known and len(known) >= MAX_REMEMBERED:
        del known[next(iter(known))]
    known[name] = value
