"""Reading /dev/kmsg: what one read may give."""

import errno
from collections.abc import Iterable

import pytest

from exporter.collectors.kernel_log.kmsg import KmsgReader, Pumped
from exporter.collectors.kernel_log.pipeline import Pipeline
from tests.collectors.kernel_log.feeding import XID, kmsg, pipeline


def reading(answers: Iterable[bytes | OSError]) -> tuple[KmsgReader, Pipeline]:
    """A reader whose reads give these answers, then nothing new."""
    left = iter(answers)
    taker = pipeline()

    def read() -> bytes:
        answer = next(left, BlockingIOError())
        if isinstance(answer, OSError):
            raise answer
        return answer

    return KmsgReader(read, taker), taker


def test_records_are_read_until_nothing_is_new() -> None:
    """One read, one record; the end is told apart from the limit."""
    reader, taker = reading([kmsg(XID, sequence=1), kmsg(XID, sequence=2), kmsg(XID, sequence=3)])
    assert reader.pump(limit=2) is Pumped.MORE
    assert taker.counters.records == 2
    assert reader.pump(limit=10) is Pumped.DRAINED
    assert taker.counters.kinds == {"xid": 3}


def test_an_overwritten_ring_costs_what_was_overwritten() -> None:
    """After EPIPE reading goes on at the oldest record, and the gap is counted."""
    reader, taker = reading(
        [kmsg(XID, sequence=1), OSError(errno.EPIPE, "pipe"), kmsg(XID, sequence=101)]
    )
    assert reader.pump(limit=10) is Pumped.DRAINED
    assert (taker.counters.lost, taker.counters.records) == (99, 2)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [(b"garbage\n", "malformed"), (OSError(errno.EINVAL, "it does not fit"), "too_long")],
)
def test_what_is_no_record_costs_itself(bad: bytes | OSError, reason: str) -> None:
    """It is counted and passed over."""
    reader, taker = reading([bad, kmsg(XID)])
    reader.pump(limit=10)
    assert taker.counters.rejected == {reason: 1}
    assert taker.counters.kinds == {"xid": 1}


def test_a_stream_may_be_cut_anywhere() -> None:
    """A pipe gives pieces: records are put together again."""
    stream = b"".join(kmsg(XID, sequence=number) + b" K=v\n" for number in range(5))
    pieces = [stream[start : start + 7] for start in range(0, len(stream), 7)]
    reader, taker = reading([*pieces, b""])
    assert reader.pump(limit=1000) is Pumped.ENDED
    assert taker.counters.kinds == {"xid": 5}
    assert not taker.counters.rejected


@pytest.mark.parametrize("end", [[], [b""]])
@pytest.mark.parametrize("count", [1, 2])
def test_records_without_line_feeds_are_records(count: int, end: list[bytes]) -> None:
    """They are told apart by their heads; the last is taken when nothing follows, or at the end."""
    packets = [kmsg(XID, sequence=number).strip() for number in range(count)]
    reader, taker = reading([*packets, *end])
    reader.pump(limit=10)
    assert taker.counters.kinds == {"xid": count}


def test_an_endless_line_is_dropped() -> None:
    """A stream without line feeds costs bounded memory."""
    reader, taker = reading([b"x" * 10_000] * 4)
    reader.pump(limit=10)
    assert taker.counters.rejected == {"too_long": 2}
