"""Time series of fields for windows: bounded, and dropped with their entities."""

import math
from array import array
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from exporter.faults.values import Value
from exporter.model.verdict import Key

BUCKETS = 30
"""The number of steps of a window: a long window has coarse steps, one of minutes every sample."""

MAX_SERIES = 20_000


# The cells of one step; sums count from the beginning of the series.
CELLS = 7
(
    BEGAN,
    ENDED,
    HIGHEST,
    FIRST_RISEN,  # sums at the first sample of the step: increase, changes
    FIRST_CHANGES,
    LAST_RISEN,  # sums at the last sample of the step
    LAST_CHANGES,
) = range(CELLS)


class Series:
    """One field of one entity over its longest window.

    All steps lie in one array: a node with many processes has thousands of them, and an object each
    would cost six times as much memory. `looks` are later moments at which the last value was
    there, in a list that series share; the steps of the first `_taken` of them are made.
    """

    __slots__ = ("_cells", "_changes", "_last", "_looks", "_risen", "_step_secs", "_taken")

    def __init__(self, window_secs: float) -> None:
        self._step_secs = window_secs / BUCKETS
        self._cells = array("d")
        self._risen = 0.0
        self._changes = 0
        self._last: Value = None
        self._looks: Sequence[float] = ()
        self._taken = 0

    def take(
        self,
        now: float,
        value: float | bool | str,  # noqa: FBT001 - what was seen
        looks: Sequence[float] = (),
    ) -> None:
        """Add the value at this boot time in seconds, and at those to be noted in `looks`."""
        self._catch_up()
        self._add(now, value)
        self._looks, self._taken = looks, len(looks)

    def _catch_up(self) -> None:
        """Make the steps of the moments at which the last value was still there."""
        later = self._looks[self._taken :]
        if later and self._last is not None:
            cells, sums = self._cells, (self._risen, self._changes)
            number = float(self._last) if not isinstance(self._last, str) else 0.0
            for now in later:  # as `_add` does, without its calls: it is the same value
                if now - cells[BEGAN - CELLS] < self._step_secs:
                    cells[ENDED - CELLS] = now
                else:
                    self._begin_step(now, number, sums)
        self._taken = len(self._looks)

    def _add(self, now: float, value: float | bool | str) -> None:  # noqa: FBT001 - what was seen
        if value == self._last and now - self._cells[BEGAN - CELLS] < self._step_secs:
            self._cells[ENDED - CELLS] = now
            return
        number = float(value) if not isinstance(value, str) else 0.0
        if value != self._last and self._last is not None:
            self._changes += 1
            if not isinstance(value, str) and not isinstance(self._last, str):
                self._risen += max(0.0, number - float(self._last))  # a fall is a reset
        self._last = value
        self._store(now, number)

    def _store(self, now: float, number: float) -> None:
        cells = self._cells
        if cells and now - cells[BEGAN - CELLS] < self._step_secs:
            cells[ENDED - CELLS] = now
            cells[HIGHEST - CELLS] = max(cells[HIGHEST - CELLS], number)
            cells[LAST_RISEN - CELLS] = self._risen
            cells[LAST_CHANGES - CELLS] = self._changes
            return
        self._begin_step(now, number, (self._risen, self._changes))

    def _begin_step(self, now: float, number: float, sums: tuple[float, int]) -> None:
        cells = self._cells
        if len(cells) == CELLS * (BUCKETS + 2):
            del cells[:CELLS]
        cells.extend((now, now, number, *sums, *sums))

    def forget(self) -> None:
        """Begin anew."""
        self._cells = array("d")
        self._risen, self._changes, self._last = 0.0, 0, None
        self._looks, self._taken = (), 0

    def is_of(self, now: float) -> bool:
        """Whether the last sample was taken now: an older sample is not fresh."""
        self._catch_up()
        return bool(self._cells) and self._cells[ENDED - CELLS] >= now

    def same_until(self, function: str, secs: float, now: float) -> float:
        """Return until which boot time a window stays as it is for as long as the value does.

        A change leaves the window as the samples of its step do; time alone lowers a rate.
        """
        cells = self._cells
        if not self.is_of(now):
            return math.inf
        if cells[BEGAN] < now and cells[FIRST_CHANGES] == self._changes:
            return math.inf
        if cells[BEGAN] >= now or function == "rate":
            return -math.inf
        moments = (cells[at + end] for at in self._steps() for end in (BEGAN, ENDED))
        leaves = min(moment for moment in moments if moment >= now - secs)
        return math.nextafter(leaves + secs, -math.inf)

    def over(self, function: str, secs: float, now: float) -> float | None:
        """Return a function of the last `secs` seconds; None without a fresh sample."""
        if not self.is_of(now):
            return None
        if function == "max_over":
            cells = self._cells
            inside = (at for at in self._steps() if cells[at + ENDED] >= now - secs)
            return max(cells[at + HIGHEST] for at in inside)
        return self._difference(function, now - secs, now)

    def _difference(self, function: str, since: float, now: float) -> float | None:
        """Return the increase or the number of changes since `since`; None with only one sample."""
        began, (risen, changes) = self._start(since)
        if began >= now:
            return None  # one sample says nothing about a change
        if function == "changes":
            return float(self._changes - changes)
        added = self._risen - risen
        return added if function == "increase" else added / (now - began)

    def _start(self, since: float) -> tuple[float, tuple[float, float]]:
        """Return the last sample before `since`, else the first sample."""
        cells, start = self._cells, 0
        for at in self._steps():
            if cells[at + BEGAN] > since:  # untested: BEGAN is 0, adding it is for readers
                break
            start = at
        if cells[start + ENDED] <= since:
            return cells[start + ENDED], (cells[start + LAST_RISEN], cells[start + LAST_CHANGES])
        return cells[start + BEGAN], (cells[start + FIRST_RISEN], cells[start + FIRST_CHANGES])

    def _steps(self) -> range:
        """Return the index of each step, oldest first."""
        return range(0, len(self._cells), CELLS)


class History:
    """All series that windows of rules need, at most MAX_SERIES."""

    def __init__(self) -> None:
        self._series: dict[tuple[Key, str, float], Series] = {}
        self._present: set[Key] = set()

    def take(
        self,
        key: Key,
        name: str,
        window_secs: float,
        now: float,
        value: Value,
        *,
        looks: Sequence[float] = (),
    ) -> None:
        """Add one sample of a field to the series of this window, as `Series.take`.

        An unknown value adds none, nor does one for which there are too many series.
        """
        series = self._series.get((key, name, window_secs))
        if series is None and len(self._series) < MAX_SERIES and value is not None:
            series = self._series[key, name, window_secs] = Series(window_secs)
        if series is not None and value is not None:
            series.take(now, value, looks)

    def keep_only(self, keys: AbstractSet[Key]) -> None:
        """Delete the series of all other entities."""
        if keys != self._present:
            self._series = {k: v for k, v in self._series.items() if k[0] in keys}
            self._present = set(keys)

    def forget(self, key: Key) -> None:
        """Begin the series of an entity anew."""
        for place, series in self._series.items():
            if place[0] == key:
                series.forget()

    def series(self, key: Key, name: str, window_secs: float) -> Series | None:
        """Return the series of one field over this window; None without samples."""
        return self._series.get((key, name, window_secs))
