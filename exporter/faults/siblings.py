"""Joins the same fault of most siblings to one fault of their parent."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from exporter.faults.alert_state import Alert, AlertState
from exporter.faults.entities.graph import NODE_KIND, SIBLINGS, Graph
from exporter.faults.root_cause import Place
from exporter.faults.values import Entity, KindTraits
from exporter.model.verdict import Key
from exporter.record import dataclass

TOGETHER_SECS = 60.0
"""Equal faults that begin within this time have one cause."""

AT_ONCE_SECS = 2.0
"""Equal lines of the kernel within this time have one cause, however few the components are."""

FEWEST, FEWEST_UNCOUNTED = 2, 4
"""The fewest siblings of a group; the second is for kinds whose number is unknown (only events)."""


@dataclass(frozen=True, slots=True)
class Group:
    """A fault of a parent, the equal faults of its parts by onset, and the number of parts.

    The first part stands for the parent if its fault was shown before the others began.
    """

    place: Place
    members: tuple[Place, ...]
    total: int

    def alert(self, alerts: Mapping[Place, Alert], now: float, summary: str) -> Alert:
        """Return the state of the parent's fault, which begins with the fault of the first part."""
        parts = [alerts[place] for place in self.members]
        first = parts[0]
        is_one = len({part.advice for part in parts}) == 1
        return Alert(
            first.active_since,
            now,
            AlertState.ACTIVE,
            is_escalated=any(part.is_escalated for part in parts),
            confidence=max(part.confidence for part in parts),
            summary=summary,
            advice=first.advice if is_one else f"For each, as here for the first: {first.advice}",
            last_evidence=max(part.last_evidence for part in parts),
            described=first.described,
            evidence=first.evidence,
        )


class Siblings:
    """Finds the groups among faults that nothing explains."""

    def __init__(
        self, by_kind: Mapping[str, Sequence[Entity]], graph: Graph, traits: KindTraits
    ) -> None:
        self._by_kind = by_kind
        self._graph = graph
        self._traits = traits

    def groups(self, roots: Mapping[Place, Alert], active: Container[Place]) -> list[Group]:
        """Return the groups among the roots of the active faults; a fault is in one group at most.

        Where the parent itself has the fault, and that fault is a root, it stands for the parts.
        """
        equal: dict[tuple[str, str], list[Place]] = {}
        for place in sorted(roots, key=lambda place: (roots[place].active_since, place)):
            rule, (kind, _) = place
            if kind in self._traits.with_siblings:
                equal.setdefault((rule, kind), []).append(place)
        return [
            group
            for (rule, kind), places in equal.items()
            for group in self._of_rule(rule, kind, places, roots)
            if group.place in roots or group.place not in active
        ]

    def _of_rule(
        self, rule: str, kind: str, places: list[Place], roots: Mapping[Place, Alert]
    ) -> Iterator[Group]:
        """Yield the groups of one rule, groups of the last evaluation first."""
        since = {place: roots[place].active_since for place in places}
        known = self._known(places, roots)
        for parent in known:
            old = [place for place in places if _known_parent(roots[place]) == parent]
            if not old:
                continue
            is_above = parent in self._parents(old[0][1])
            joined = [p for p in places if p not in old and since[p] >= since[old[0]]]
            inside = {*old, *(p for p in joined if not is_above or parent in self._parents(p[1]))}
            inside.discard((rule, parent))
            members = tuple(place for place in places if place in inside)
            if is_above or (rule, parent) in roots:
                yield Group((rule, parent), members, self._total(kind, parent, members))
            places = [place for place in places if place not in inside]
        if len(places) < FEWEST:
            return
        for parent in self._by_share(kind, places, known):
            below = [p for p in places if p[1] != parent and parent in self._parents(p[1])]
            burst = _burst(below, since)
            total = self._total(kind, parent, burst)
            if self._is_most(kind, len(burst), total) or _are_at_once(burst, roots):
                if roots[burst[0]].shown_since is None:
                    yield Group((rule, parent), burst, total)
                else:  # the first was told as a root: to tell it anew would page twice
                    yield Group(burst[0], burst[1:], total)
                places = [place for place in places if place not in burst]

    def _by_share(self, kind: str, places: Sequence[Place], known: Container[Key]) -> list[Key]:
        """Return the possible parents: by the number of faulty parts, then by their share."""
        ill: dict[Key, int] = {}
        for place in places:
            for parent in self._parents(place[1]):
                if parent != place[1] and parent not in known:
                    ill[parent] = ill.get(parent, 0) + 1
        shares = {
            parent: number / self._total(kind, parent, places[:number])
            for parent, number in ill.items()
            if number >= FEWEST
        }
        return sorted(shares, key=lambda parent: (-ill[parent], -shares[parent]))

    def _known(self, places: Iterable[Place], roots: Mapping[Place, Alert]) -> list[Key]:
        parents = (_known_parent(roots[place]) for place in places)
        return list(dict.fromkeys(parent for parent in parents if parent))

    def _is_most(self, kind: str, number: int, total: int) -> bool:
        fewest = FEWEST_UNCOUNTED if kind in self._traits.uncounted else FEWEST
        return number >= fewest and 2 * number >= total

    def _parents(self, key: Key) -> list[Key]:
        """Return what the component is part of or connected to, the widest (the node) first."""
        node = self._by_kind.get(NODE_KIND, ())
        above = list(self._graph.above(key))[::-1]
        wholes = [whole for whole in self._graph.wholes(key) if whole not in above]
        return [*(entity.key for entity in node), *above, *wholes]

    def _total(self, kind: str, parent: Key, members: Sequence[Place]) -> int:
        parts = self._by_kind.get(kind, ())
        if parent[0] != NODE_KIND:
            parts = [part for part in parts if parent in self._parents(part.key)]
        return max(len(parts), len(members))


def _known_parent(alert: Alert) -> Key | None:
    """Return the parent whose fault the alert was joined to; None if there is none."""
    nearest = alert.causes[0] if alert.causes else None
    return nearest.subject.key if nearest and nearest.via == SIBLINGS else None


def _are_at_once(places: Sequence[Place], roots: Mapping[Place, Alert]) -> bool:
    """Tell whether lines of the kernel said the same of several components at once."""
    alerts = [roots[place] for place in places]
    are_events = len(alerts) >= FEWEST and all(alert.has_events for alert in alerts)
    return are_events and alerts[-1].active_since - alerts[0].active_since <= AT_ONCE_SECS


def _burst(places: Sequence[Place], since: Mapping[Place, float]) -> tuple[Place, ...]:
    """Return the largest set of these faults, ordered by onset, that began within TOGETHER_SECS."""
    bursts = (
        tuple(p for p in places[index:] if since[p] - since[first] <= TOGETHER_SECS)
        for index, first in enumerate(places)
    )
    return max(bursts, key=len, default=())
