"""Takes the samples of fields that windows of rules look back at."""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TypeAlias

from exporter.faults.entities.components import NOTHING, Components
from exporter.faults.timeseries import History
from exporter.faults.values import Entity, Place, Value
from exporter.model.verdict import Key
from exporter.record import dataclass

Window: TypeAlias = tuple[str, float]
"""A field and how many seconds of it are kept."""

MAX_LOOKS = 32
"""After so many looks that found the same values, their samples are taken."""


@dataclass(slots=True)
class _Looks:
    """The components of a kind, as a list that is another one if they are others; their keys.

    `noted` has the times of looks since the last sample, by window.
    """

    group: list[Entity]
    keys: list[Key]
    noted: dict[Window, list[float]] = field(default_factory=dict)


@dataclass(slots=True)
class Sampler:
    """The fields of each kind that windows look back at.

    While the values of a field stay as they are, only the time of each look is noted: the series
    share the list, and add these samples when they are asked.
    """

    history: History
    _windows: dict[str, set[Window]] = field(default_factory=dict)
    _looks: dict[str, _Looks] = field(default_factory=dict)

    def track(self, kind: str, name: str, secs: float) -> None:
        """Keep samples of this field for so many seconds."""
        self._windows.setdefault(kind, set()).add((name, secs))

    def places(self) -> Iterable[Place]:
        """Return the fields that are sampled, with their kinds."""
        return [(kind, name) for kind, windows in self._windows.items() for name, _ in windows]

    def take(self, parts: Components, now: float) -> None:
        """Add what the components say at this boot time to their series."""
        for kind, windows in self._windows.items():
            looks = self._looks_at(kind, parts.by_kind.get(kind, NOTHING))
            columns = parts.columns(kind)
            for window in windows:
                place, noted = (kind, window[0]), looks.noted.get(window)
                if noted is None or len(noted) == MAX_LOOKS or place in parts.changed:
                    values = columns.get(window[0]) or ()
                    looks.noted[window] = self._sampled(looks.keys, window, values, now)
                else:
                    noted.append(now)

    def _looks_at(self, kind: str, group: list[Entity]) -> _Looks:
        """Return the looks at the components of a kind; new ones when the keys are others."""
        looks = self._looks.get(kind)
        if looks is None or looks.group is not group:
            keys = [entity.key for entity in group]
            if looks is None or looks.keys != keys:
                looks = self._looks[kind] = _Looks(group, keys)
            looks.group = group
        return looks

    def forget(self, key: Key) -> None:
        """Begin the series of a component anew."""
        self.history.forget(key)
        self._looks.pop(key[0], None)

    def _sampled(
        self, keys: Sequence[Key], window: Window, values: Sequence[Value], now: float
    ) -> list[float]:
        """Add the values to their series; return the list for the next looks."""
        looks: list[float] = []
        for key, value in zip(keys, values):  # noqa: B905 - none where a field cannot be read
            self.history.take(key, *window, now, value, looks=looks)
        return looks
