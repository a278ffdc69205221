"""Finds the workloads and processes that use a faulty component."""

from collections.abc import Sequence
from typing import TypeAlias

from exporter.faults.entities.graph import Graph
from exporter.faults.entities.naming import SubjectIndex
from exporter.faults.observation import View
from exporter.model.verdict import Edge, Key, Subject

MAX_AFFECTED = 20
MAX_USERS = 200
USERS = ("workload", "process")
"""The kinds that a fault affects; of each kind at most MAX_AFFECTED are named."""

ENDED_WITHIN_SECS = 60.0
"""A process that ends so shortly before or after a fault begins is affected by the fault."""

Moments: TypeAlias = tuple[tuple[Key, float], ...]
"""Components, each with the boot time at which its fault began."""


class Affected:
    """Finds users; remembers them until it is told to forget them."""

    def __init__(self, subjects: SubjectIndex) -> None:
        self._subjects = subjects
        self._found: dict[tuple[Key, float], tuple[Subject, ...]] = {}

    def forget(self) -> None:
        """Forget all users: names, uses or the graph have changed."""
        self._found.clear()

    def by(self, key: Key, since: float, view: View) -> tuple[Subject, ...]:
        """Return the workloads and processes that use the faulty component, workloads first.

        Users that ended within a minute of `since`, when the fault began, are included.
        """
        if (key, since) not in self._found:
            uses = view.ended_uses.items()
            ended = [use for use, at in uses if abs(at - since) <= ENDED_WITHIN_SECS]
            self._found[key, since] = self._users(key, ended, view.graph)
        return self._found[key, since]

    def with_parts(self, parts: Moments, view: View) -> tuple[Subject, ...]:
        """Return the faulty parts, each followed by the workloads and processes using the part."""
        rows = ((self._subjects.of(key), *self.by(key, at, view)) for key, at in parts)
        return tuple(dict.fromkeys(it for row in rows for it in row))

    def _users(self, key: Key, ended: Sequence[Edge], graph: Graph) -> tuple[Subject, ...]:
        """Return the present users of a component, and those of the uses that have ended."""
        users = graph.users(key)[:MAX_USERS]
        workloads = [other for user in users for other in graph.targets("runs_in", user)]
        same = graph.same(key) if ended else ()
        gone = {use.source for use in ended if use.target in same}
        workloads += [use.target for use in ended if use.source in gone]
        found = dict.fromkeys((*workloads, *users, *sorted(gone)))
        kept = {kind: [other for other in found if other[0] == kind] for kind in USERS}
        named = (other for kind in USERS for other in kept[kind][:MAX_AFFECTED])
        return tuple(self._subjects.of(other) for other in named)
