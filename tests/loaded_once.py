"""Collectors whose shipped rules are read once in a process, not at each start."""

from collections.abc import Iterable

from exporter.collector import Collectors
from exporter.collectors.everything import EVERYTHING
from exporter.faults.rules.loader import RuleBook

BOOKS: dict[tuple[str, ...], RuleBook] = {}
"""The shipped rules of the collectors with these names."""


class LoadedOnce(Collectors):
    """Collectors of the program; rules of a site, and what it makes of rules, are read anew."""

    def rule_book(self, further: Iterable[str] = ()) -> RuleBook:
        """Load the shipped rules once, and each time if there are rules or mistakes of a site."""
        places = tuple(further)
        if places or any(row.mistakes for row in self.rows):
            return super().rule_book(places)
        names = tuple(row.name for row in self.rows)
        if names not in BOOKS:
            BOOKS[names] = super().rule_book()
        return BOOKS[names]


def loaded_once(collectors: Collectors) -> Collectors:
    """Return the same collectors, whose rules are read once."""
    return LoadedOnce(collectors.rows, collectors.nodes, lambda: EVERYTHING_ONCE)


EVERYTHING_ONCE = loaded_once(EVERYTHING)
