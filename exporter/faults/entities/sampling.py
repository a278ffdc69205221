"""Takes the samples of fields that windows of rules look back at."""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TypeAlias

from exporter.faults.entities.components import Components
from exporter.faults.timeseries import History, Series
from exporter.faults.values import Place, Value
from exporter.model.verdict import Key
from exporter.record import dataclass

Window: TypeAlias = tuple[str, float]
"""A field and how many seconds of it are kept."""

SeriesOf: TypeAlias = dict[Window, list[Series | None]]
"""The series of each component of a kind; None where there is none."""


@dataclass(slots=True)
class Sampler:
    """The fields of each kind that windows look back at, and their series."""

    history: History
    _windows: dict[str, set[Window]] = field(default_factory=dict)
    _rows: dict[str, tuple[list[Key], SeriesOf]] = field(default_factory=dict)

    def track(self, kind: str, name: str, secs: float) -> None:
        """Keep samples of this field for so many seconds."""
        self._windows.setdefault(kind, set()).add((name, secs))

    def places(self) -> Iterable[Place]:
        """Return the fields that are sampled, with their kinds."""
        return [(kind, name) for kind, windows in self._windows.items() for name, _ in windows]

    def take(self, parts: Components, now: float) -> None:
        """Add what the components say at this boot time to their series."""
        for kind, windows in self._windows.items():
            keys = [entity.key for entity in parts.by_kind.get(kind, ())]
            known, rows = self._rows.get(kind, ([], {}))
            if keys != known:
                rows = {}
                self._rows[kind] = (keys, rows)
            columns = parts.columns(kind)
            for window in windows:
                series = rows.setdefault(window, [None] * len(keys))
                self._add(keys, window, series, columns.get(window[0]) or (), now)

    def _add(
        self,
        keys: Sequence[Key],
        window: Window,
        series: list[Series | None],
        values: Sequence[Value],
        now: float,
    ) -> None:
        """Add the values to the series of their components; open missing series."""
        for at, value in enumerate(values):
            if value is None:
                continue
            if (known := series[at]) is not None:
                known.take(now, value)
            else:
                series[at] = self.history.take(keys[at], *window, now, value)
