"""The clock: whether it is synchronized, and by how much it is off."""

import ctypes
import os
import struct
from collections.abc import Callable

from exporter.collector import About, Collector, files
from exporter.exposition.rows import Row, families, reading
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject
from exporter.model.reading import Reading
from exporter.reading.known_good import KnownGood
from exporter.reading.source import SourceFailed
from exporter.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Clock:
    """How far the clock may be off, and whether a time service keeps it synchronized."""

    synchronized: bool
    offset_seconds: float  # still to be corrected
    error_seconds: float  # at most so far from true time, by the kernel's own bound
    was_synchronized: bool | None = None  # now or ever before, as far as is remembered


TIME_ERROR = 5

STA_UNSYNC = 0x0040

STA_NANO = 0x2000

TIMEX = struct.Struct("@I4li")  # modes, offset, freq, maxerror, esterror, status

TIMEX_BYTES = 512  # more than the structure has on any machine

MICROSECONDS_PER_SECOND = 1_000_000

NANOSECONDS_PER_SECOND = 1_000_000_000

Adjtimex = Callable[[], "tuple[int, bytes]"]
"""The state of the clock, and the structure as the kernel filled it; raises OSError."""


def read_timex() -> tuple[int, bytes]:
    """Ask the kernel and change nothing: `modes` is zero; raises OSError."""
    buffer = ctypes.create_string_buffer(TIMEX_BYTES)
    state = ctypes.CDLL(None, use_errno=True).adjtimex(buffer)
    if state < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return state, buffer.raw


class ClockReader:
    """Asks the kernel about its clock."""

    def __init__(
        self, known_good: KnownGood | None = None, adjtimex: Adjtimex = read_timex
    ) -> None:
        self._known_good = known_good or KnownGood()
        self._adjtimex = adjtimex

    def read(self) -> Reading[Clock]:
        """Read the clock now; raise SourceFailed where the call is forbidden."""
        try:
            state, raw = self._adjtimex()
        except OSError as error:
            raise SourceFailed(f"adjtimex is refused: {error.strerror}") from error
        clock = parse_timex(state, raw)
        was_good = self._known_good.update("clock", is_good=clock.synchronized)
        return Reading(replace(clock, was_synchronized=was_good))


def parse_timex(state: int, raw: bytes) -> Clock:
    """Parse the kernel's structure; raise SourceFailed for a short one."""
    if len(raw) < TIMEX.size:
        raise SourceFailed("adjtimex answered less than its structure")
    _, offset, _, bound, _, status = TIMEX.unpack_from(raw)
    parts = NANOSECONDS_PER_SECOND if status & STA_NANO else MICROSECONDS_PER_SECOND
    return Clock(
        synchronized=state != TIME_ERROR and not status & STA_UNSYNC,
        offset_seconds=offset / parts,
        error_seconds=bound / MICROSECONDS_PER_SECOND,
    )


FAMILIES = families(
    "hw_node_clock_",
    reading(Clock),
    Row("synchronized", "Whether the clock is synchronized (NTP, PTP)."),
    Row("offset_seconds", "Clock offset the kernel is still correcting."),
    Row("error_seconds", "Maximum clock error by the kernel's estimate."),
)


COLLECTOR = Collector(
    "clock",
    sources=(
        files(
            "clock",
            "clock",
            lambda ctx: ClockReader(ctx.known_good),
            about=About(
                "adjtimex(2)",
                "`hw_node_clock_*`",
                "a seccomp profile that allows adjtimex to read",
                without="the source fails, with the reason",
            ),
        ),
    ),
    values=(Clock,),
    families=FAMILIES,
    subject=CollectorSubject(
        node=NodeFields(readings=(("clock_", Clock),)),
    ),
)
