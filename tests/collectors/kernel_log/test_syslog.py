"""Reading the ring by syslog(2): what is new since the last look."""

import errno

import pytest

from exporter.collectors.kernel_log.syslog import READ_ALL, TAIL_BYTES, SyslogRing, feed
from tests.collectors.kernel_log.feeding import pipeline

XID = "NVRM: Xid (PCI:0000:3b:00): 45, pid=4711, name=trainer, Ch 00000009"


class Kernel:
    """A ring of lines that gives its end, as the kernel does."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.sizes: list[int] = []
        self.ring = SyslogRing(self.call)

    def print(self, stamp: float, text: str, prefix: int = 4) -> None:
        """One more line."""
        self.lines.append(f"<{prefix}>[{stamp:12.6f}] {text}\n")

    def call(self, action: int, size: int) -> bytes:
        """syslog(2)."""
        if action != READ_ALL:
            return b"1000000"
        self.sizes.append(size)
        text = b""
        for line in reversed(self.lines):
            if len(line) + len(text) > size:
                break
            text = line.encode() + text
        return text


def test_the_first_look_gives_all_and_the_next_what_is_new() -> None:
    """The ring is not consumed: the last record of a look tells where the next begins."""
    kernel = Kernel()
    assert kernel.ring.look().records == []
    kernel.print(1.0, "a")
    kernel.print(2.0, "b")
    assert [r.text() for r in kernel.ring.look().records] == ["a", "b"]
    assert kernel.ring.look().records == []
    kernel.print(3.0, "c")
    assert [r.text() for r in kernel.ring.look().records] == ["c"]


def test_the_same_line_twice_in_one_microsecond_is_two_records() -> None:
    """Within one look and over two of them."""
    kernel = Kernel()
    kernel.print(1.0, XID)
    kernel.print(1.0, XID)
    assert len(kernel.ring.look().records) == 2
    kernel.print(1.0, XID)
    assert len(kernel.ring.look().records) == 1
    assert kernel.ring.look().records == []


def test_a_ring_that_turned_over_counts_as_one_lost_record() -> None:
    """When the remembered record is gone, what is newer is taken and a loss is told."""
    kernel = Kernel()
    taker = pipeline()
    kernel.print(1.0, "a")
    feed(kernel.ring.look(), taker)
    kernel.lines = []
    kernel.print(5.0, XID)
    feed(kernel.ring.look(), taker)
    assert (taker.counters.lost, taker.counters.kinds["xid"]) == (1, 1)


def test_only_the_end_of_the_ring_is_read_while_that_is_enough() -> None:
    """The whole ring is read at first and when more than the end is new."""
    kernel = Kernel()
    for number in range(5000):
        kernel.print(float(number), "line")
    assert len(kernel.ring.look().records) == 5000
    kernel.print(6000.0, "line")
    kernel.ring.look()
    assert kernel.sizes == [1_000_000, TAIL_BYTES]
    for number in range(4000):
        kernel.print(7000.0 + number, "line")
    look = kernel.ring.look()
    assert (len(look.records), look.has_overrun) == (4000, False)
    assert kernel.sizes[-1] == 1_000_000


def test_users_are_told_apart_here_too() -> None:
    """Facility and level come before each line."""
    kernel = Kernel()
    taker = pipeline()
    kernel.print(1.0, XID, prefix=12)
    kernel.print(2.0, XID)
    feed(kernel.ring.look(), taker)
    assert (taker.counters.rejected["user_record"], taker.counters.kinds["xid"]) == (1, 1)


def test_lines_of_one_moment_that_say_nothing_are_not_counted() -> None:
    """Only lines that could have been two things are ambiguous."""
    kernel = Kernel()
    taker = pipeline()
    kernel.print(1.0, "NVRM: nothing of note")
    kernel.print(1.0, "NVRM: nor this")
    feed(kernel.ring.look(), taker)
    assert (dict(taker.counters.rejected), taker.counters.records) == ({}, 1)


def test_an_error_is_an_error() -> None:
    """What syslog(2) refuses is passed on."""

    def refuse(_action: int, _size: int) -> bytes:
        raise PermissionError(errno.EPERM, "no")

    with pytest.raises(PermissionError, match="no"):
        SyslogRing(refuse).look()
