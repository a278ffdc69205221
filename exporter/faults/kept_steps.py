"""Remembers which fault explains which, while all that decides on it is the same."""

from collections.abc import Sequence

from exporter.faults.entities.graph import Graph
from exporter.faults.root_cause import NOTIFIED_SECS, find_causes
from exporter.faults.standing import Standing, Step


class KeptSteps:
    """The causes of the last evaluation, with what they were found by."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        self._read: tuple[object, ...] = ()
        self._steps: tuple[Step | None, ...] = ()

    def find(
        self, standings: Sequence[Standing], graph: Graph, known: Sequence[Step | None], causes: int
    ) -> tuple[Step | None, ...]:
        """Return what `find_causes` returns for these faults."""
        read = (causes, known, _decisive(standings))
        if graph is not self._graph or read != self._read:
            self._graph, self._read = graph, read
            self._steps = find_causes(standings, graph, known, causes)
        return self._steps


def _decisive(standings: Sequence[Standing]) -> list[tuple[object, ...]]:
    """Return what decides on causes: the same for as long as only time goes on.

    When a fault was last seen is compared only with when faults began, and how long it has been
    shown only with NOTIFIED_SECS: no later time changes a comparison.
    """
    latest = max((each.onset for each in standings), default=0.0)
    return [
        (
            *(each.rule, each.key, each.onset, min(each.last_evidence, latest)),
            *(each.is_event, each.was_shown),
            None if each.shown_secs is None else min(each.shown_secs, NOTIFIED_SECS),
        )
        for each in standings
    ]
