"""The clock, as the kernel judges it."""

import errno
import struct

import pytest

from exporter.collectors.clock import Clock, ClockReader, parse_timex, read_timex
from exporter.reading.source import SourceFailed


def timex(offset: int = 0, bound: int = 0, status: int = 0) -> bytes:
    """The kernel's structure with these fields, the time in it after them left out."""
    return struct.pack("@I4li", 0, offset, 0, bound, 0, status) + bytes(200)


@pytest.mark.parametrize(
    ("state", "status", "is_synchronized"),
    [(0, 0x0001, True), (0, 0x2001, True), (5, 0x0040, False), (0, 0x0040, False), (5, 0, False)],
)
def test_a_clock_is_in_step_when_state_and_status_say_so(
    state: int, status: int, *, is_synchronized: bool
) -> None:
    """Either of the two can say that it is not."""
    assert parse_timex(state, timex(status=status)).synchronized is is_synchronized


def test_the_unit_of_the_offset_follows_a_flag() -> None:
    """Nanoseconds with the flag, microseconds without; the bound is always in microseconds."""
    assert parse_timex(0, timex(-1500, 20_000)) == Clock(
        synchronized=True, offset_seconds=-0.0015, error_seconds=0.02
    )
    assert parse_timex(0, timex(1500, 20_000, 0x2000)).offset_seconds == pytest.approx(1.5e-6)


def test_a_short_answer_is_refused() -> None:
    """Nothing is read behind its end."""
    with pytest.raises(SourceFailed):
        parse_timex(0, b"\x00" * 8)


def test_a_call_that_is_forbidden_is_a_failure_with_its_reason() -> None:
    """Some sandboxes forbid it even to those who only read."""

    def refused() -> tuple[int, bytes]:
        raise OSError(errno.EPERM, "Operation not permitted")

    with pytest.raises(SourceFailed, match="not permitted"):
        ClockReader(adjtimex=refused).read()


def test_the_real_kernel_answers() -> None:
    """The structure is laid out as we think: the bound is between zero and the kernel's limit."""
    state, raw = read_timex()
    clock = parse_timex(state, raw)
    assert 0 <= clock.error_seconds <= 16.0
    assert abs(clock.offset_seconds) < 1.0


def test_a_clock_that_was_synchronized_once_is_told_from_one_that_never_was() -> None:
    """A node without a time service has lost nothing."""
    unsynchronized = timex(status=0x0040)
    answers = iter((unsynchronized, timex(), unsynchronized))
    reader = ClockReader(adjtimex=lambda: (0, next(answers)))
    clocks = [reader.read().value for _ in range(3)]
    assert [clock.synchronized for clock in clocks] == [False, True, False]
    assert [clock.was_synchronized for clock in clocks] == [False, True, True]
