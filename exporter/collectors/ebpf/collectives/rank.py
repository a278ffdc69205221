"""One process as a rank of a communicator: how often, when and in what it was last seen."""

from exporter.collectors.ebpf.collectives.program import DISTANCES, ENTERED, MOMENTS
from exporter.record import dataclass

Order = tuple[int, int]
"""Rank and pid: sorts ranks, and tells two of one process apart."""

UNSEEN_NS = 30_000_000_000
"""A process that is not found for so long has ended before it was looked at."""

USUAL_STATES = ("", "running", "sleeping")


@dataclass(slots=True)
class Rank:
    """A rank; `id`, `rank` and `ranks` are known where its start was seen.

    `is_whole` tells whether all that it entered since was counted.

    `moments` is the sum of the times at which it entered, in nanoseconds, `distances` that of the
    squared microseconds between two of them, `newest_ns` the last of the times.
    """

    pid: int
    id: str = ""
    rank: int | None = None
    ranks: int | None = None
    is_whole: bool = False
    entered: int = 0
    moments: int = 0
    distances: int = 0
    newest_ns: int = 0
    call: str = ""
    inside_ns: int = 0
    seen_ns: int = -(2**63)
    born_ns: int = 0
    was_there: bool = False
    has_ended: bool = False

    def note(self, *, is_there: bool, now_ns: int) -> None:
        """Note whether its process is there; one that was not yet looked at may be."""
        self.was_there = self.was_there or is_there
        is_unseen = self.was_there or now_ns - self.born_ns > UNSEEN_NS
        self.has_ended = is_unseen and not is_there

    def count(self, what: int, value: int) -> None:
        """Add to one of the three sums."""
        if what == ENTERED:
            self.entered += value
        elif what == MOMENTS:
            self.moments += value
        elif what == DISTANCES:
            self.distances += value

    def enter(self, call: str, since_ns: int, now_ns: int) -> None:
        """Note that it is inside this call, since when, as seen now."""
        self.call, self.inside_ns, self.seen_ns = call, since_ns, now_ns

    def order(self) -> Order:
        """Return its place among the others."""
        return (-1 if self.rank is None else self.rank, self.pid)

    def name(self, state: str = "") -> str:
        """Name it, with a state where that is not a usual one."""
        words = f"pid {self.pid}" + ("" if state in USUAL_STATES else f", {state}")
        return words if self.rank is None else f"rank {self.rank} ({words})"
