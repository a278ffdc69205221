"""Which rank enters collectives later than the others, again and again.

Ranks enter the same collectives in the same order. Where all have entered equally many, the sums
of the times at which they did differ by how much later one was, in all. Of those that are one
ahead the last time is taken off; nothing else is kept.
"""

from collections import deque
from collections.abc import Sequence
from statistics import median

from exporter.collectors.ebpf.collectives.rank import Order, Rank
from exporter.record import dataclass

WINDOW_NS = 4_000_000_000
LONGEST_WINDOW_NS = 60_000_000_000
MIN_ENTERED = 5
WINDOWS = 3
"""In so many windows one after the other the same rank has to be late."""

NANOSECONDS = 1e9
_UINT64 = 2**64
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Late:
    """How much later one rank entered than the others, and as a share of the time between two."""

    rank: Order
    secs: float
    ratio: float


@dataclass(frozen=True, slots=True)
class _Milestone:
    """What all ranks had done when the last of them had entered so many collectives."""

    at_ns: int
    entered: int
    moments: tuple[int, ...]
    distances: tuple[int, ...]
    ranks: tuple[Order, ...]


class Lateness:
    """Looks at the ranks of one communicator, always in the same order."""

    def __init__(self) -> None:
        self._mark: _Milestone | None = None
        self._windows: deque[Late] = deque(maxlen=WINDOWS)

    def look(self, ranks: Sequence[Rank], now_ns: int) -> Late | None:
        """Return the rank that was late in each of the last windows; None where none was."""
        entered = [rank.entered for rank in ranks]
        if len(ranks) > 1 and max(entered) - min(entered) <= 1:
            self._close_window(_mark(ranks, min(entered), now_ns))
        elif self._mark is not None and now_ns - self._mark.at_ns > LONGEST_WINDOW_NS:
            self._mark = None
            self._windows.clear()
        if len(self._windows) < WINDOWS or len({late.rank for late in self._windows}) > 1:
            return None
        return min(self._windows, key=lambda late: late.ratio)

    def _close_window(self, mark: _Milestone) -> None:
        before = self._mark
        length = 0 if before is None else mark.at_ns - before.at_ns
        if before is None or before.ranks != mark.ranks or length > LONGEST_WINDOW_NS:
            self._mark = mark
            self._windows.clear()
        elif length >= WINDOW_NS and mark.entered - before.entered >= MIN_ENTERED:
            self._mark = mark
            self._windows.append(_late(before, mark))


def _mark(ranks: Sequence[Rank], entered: int, now_ns: int) -> _Milestone:
    return _Milestone(
        now_ns,
        entered,
        tuple(rank.moments - (rank.newest_ns if rank.entered > entered else 0) for rank in ranks),
        tuple(rank.distances for rank in ranks),
        tuple(rank.order() for rank in ranks),
    )


def _late(before: _Milestone, after: _Milestone) -> Late:
    """Compare the latest rank of a window with the median of the others.

    The time between two collectives is weighted by itself: of a step that ends in a burst of them
    it is nearly the length of the step.
    """
    entered = after.entered - before.entered
    risen = [b - a for a, b in zip(before.moments, after.moments, strict=True)]
    behind = [_signed(each - risen[0]) / entered / NANOSECONDS for each in risen]
    latest = max(range(len(behind)), key=behind.__getitem__)
    others = [each for place, each in enumerate(behind) if place != latest]
    secs = behind[latest] - median(others)
    distances = median(b - a for a, b in zip(before.distances, after.distances, strict=True))
    between = distances / ((after.at_ns - before.at_ns) / 1000) / 1e6
    return Late(after.ranks[latest], secs, min(1.0, secs / between) if between else 0.0)


def _signed(number: int) -> int:
    """Read a difference of sums that the kernel keeps in 64 bits."""
    return (number + _INT64) % _UINT64 - _INT64
