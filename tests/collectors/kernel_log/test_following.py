"""Following a device and a ring as they grow, in virtual time: when each is read again."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import TypeVar

import pytest

from exporter.collectors.kernel_log.kmsg import TURN_RECORDS, KmsgFollower, ReadAhead
from exporter.collectors.kernel_log.pipeline import Pipeline
from exporter.collectors.kernel_log.syslog import MAX_RING_BYTES, READ_ALL, SyslogPoller, klogctl
from tests.collectors.kernel_log.feeding import BOOTTIME, XID, kmsg, pipeline
from tests.fakes.virtual_time import be_busy, in_virtual_scene, in_virtual_time

T = TypeVar("T")
DECISION = "oom-kill:constraint=CONSTRAINT_NONE,x,task=a,pid=7,uid=0"


class Device:
    """A device that gives what a test says; a restless one is always said to be readable."""

    def __init__(self) -> None:
        self.records: list[bytes | OSError] = []
        self.at_end: bytes | OSError = BlockingIOError()
        self.turns: list[float] = []
        self.cost_secs = self.work_secs = 0.0
        self.is_restless = True
        self.pipeline: Pipeline = pipeline()
        self._asked = 0
        self._reading, self._writing = os.pipe()
        os.write(self._writing, b"x")
        self.follower = KmsgFollower(
            self._reading, self.pipeline, self._changed, self._read, self._worked
        )

    @property
    def is_closed(self) -> bool:
        try:
            os.fstat(self._reading)
        except OSError:
            return True
        return False

    def print(self, text: str) -> None:
        """Wake who waits for this record."""
        self.records.append(kmsg(text))
        os.write(self._writing, b"x")

    def close(self) -> None:
        os.close(self._writing)
        if not self.is_closed:
            self.follower.close()

    def _read(self, _descriptor: int, _size: int) -> bytes:
        be_busy(self.cost_secs)
        if not (self.records or self.is_restless):
            os.set_blocking(self._reading, False)
            with suppress(BlockingIOError):
                os.read(self._reading, 100)
        answer = self.records.pop(0) if self.records else self.at_end
        if isinstance(answer, OSError):
            raise answer
        return answer

    def _worked(self) -> float:
        """Processor time, asked before and after each turn: it rises by `work_secs` with each."""
        self._asked += 1
        return self._asked // 2 * self.work_secs

    def _changed(self) -> None:
        self.turns.append(asyncio.get_running_loop().time())


@asynccontextmanager
async def _device() -> AsyncIterator[Device]:
    device = Device()
    try:
        yield device
    finally:
        device.close()


following = in_virtual_scene(_device)
"""Lets a test be played with a device, in virtual time."""


def gaps(moments: list[float]) -> list[float]:
    """The time between each two."""
    return [round(later - earlier, 6) for earlier, later in pairwise(moments)]


@pytest.mark.parametrize(
    ("at_end", "pause"),
    [(BlockingIOError(), 0.05), (b"", 0.25), (OSError(errno.EIO, "broken"), 5.0)],
    ids=["drips", "end", "broken"],
)
@following
async def test_a_device_is_read_again_after_a_pause(
    device: Device, at_end: bytes | OSError, pause: float
) -> None:
    """What comes within a twentieth of a second is read together.

    A pipe without writers is tried again soon, a broken device seldom.
    """
    device.at_end = at_end
    device.follower.watch()
    await asyncio.sleep(20)
    assert set(gaps(device.turns)) == {pause}


@following
async def test_a_device_that_works_again_has_no_error_any_more(device: Device) -> None:
    """The reason is shown as long as it holds."""
    device.records = [OSError(errno.EIO, "broken")]
    device.follower.watch()
    await asyncio.sleep(1)
    assert device.follower.error == "the kernel log cannot be read: broken"
    await asyncio.sleep(5)
    assert device.follower.error is None


@following
async def test_what_appears_while_we_look_tells_the_time(device: Device) -> None:
    """Once the log has been read to its end a record is of now, whatever its stamp."""
    device.follower.watch()
    await asyncio.sleep(0.01)
    device.records = [kmsg(XID, stamp=100.0)]
    await asyncio.sleep(0.1)
    (event,) = device.pipeline.counters.ring.events()
    assert event.boottime == BOOTTIME


@following
async def test_an_interrupted_read_is_no_error(device: Device) -> None:
    """A signal or an overwritten ring: reading goes on in the same turn."""
    device.records = [OSError(errno.EINTR, "signal"), OSError(errno.EPIPE, "x"), kmsg(XID)]
    device.follower.watch()
    await asyncio.sleep(0.01)
    assert device.pipeline.counters.kinds == {"xid": 1}
    assert not device.pipeline.counters.rejected


@following
async def test_a_log_that_is_long_at_the_start_is_read_for_a_second_only(device: Device) -> None:
    """The rest follows turn by turn, so that the first collection does not wait for it."""
    device.records = [kmsg("noise", sequence=n) for n in range(1, 3000)]
    device.cost_secs = 1 / TURN_RECORDS / 4  # four turns take a second
    await device.follower.replay()
    assert device.pipeline.counters.records == 4 * TURN_RECORDS
    device.cost_secs = 0.0
    device.follower.watch()
    await asyncio.sleep(1)
    assert device.pipeline.counters.records == 2999


@following
async def test_a_flood_is_read_in_time(device: Device) -> None:
    """What one turn finds is kept until it was looked at, though the ring has long moved on."""
    device.records = [
        kmsg("NVRM: Xid (PCI:0000:1b:00): 79, gone", sequence=number, stamp=number)
        for number in range(20 * TURN_RECORDS)
    ]
    device.follower.watch()
    await asyncio.sleep(0.06)
    device.records.clear()
    await asyncio.sleep(20)
    assert device.pipeline.counters.kinds == {"xid": 20 * TURN_RECORDS}
    assert device.pipeline.counters.lost == 0


@pytest.mark.parametrize(
    ("work_secs", "least", "most"), [(0.010, 0.039, 0.06), (1.0, 0.24, 0.26)], ids=["quick", "slow"]
)
@following
async def test_a_flood_takes_a_fifth_of_a_core_and_no_long_pause(
    device: Device, work_secs: float, least: float, most: float
) -> None:
    """A turn of 10 ms is followed by 40 ms of rest; a long rest would lose what is overwritten."""
    device.at_end = kmsg("noise")
    device.work_secs = work_secs
    device.follower.watch()
    await asyncio.sleep(2)
    assert least <= min(gaps(device.turns))
    assert max(gaps(device.turns)) <= most


def test_a_device_that_only_overruns_is_left_alone_again() -> None:
    """Reading ahead ends, whatever the device raises."""
    ahead = ReadAhead(_overrun)
    ahead.fill()
    with pytest.raises(BrokenPipeError):
        ahead.read()


def _overrun() -> bytes:
    raise OSError(errno.EPIPE, "overwritten")


@following
async def test_what_was_there_at_the_start_is_finished_with_it(device: Device) -> None:
    """A message whose further lines are not there is an event of the first reading."""
    device.records = [kmsg(DECISION)]
    await device.follower.replay()
    assert device.pipeline.counters.kinds == {"oom_kill": 1}


@following
async def test_a_message_waits_a_fifth_of_a_second_for_its_last_line(device: Device) -> None:
    """Each further line of the log gives it that time anew; then it is published."""
    device.is_restless = False
    device.follower.watch()
    await asyncio.sleep(0.1)
    device.print(DECISION)
    for _ in range(4):
        await asyncio.sleep(0.15)
        assert device.pipeline.is_holding
        device.print("noise")
    turns = len(device.turns)
    await asyncio.sleep(0.19)
    assert not device.pipeline.counters.kinds
    await asyncio.sleep(0.02)
    assert device.pipeline.counters.kinds == {"oom_kill": 1}
    assert len(device.turns) == turns + 2  # for the last line, and for what was finished


@pytest.mark.parametrize("holding", [True, False])
@following
async def test_nothing_happens_after_the_end(device: Device, *, holding: bool) -> None:
    """The device is closed, and no turn comes any more."""
    device.records = [kmsg(DECISION)] if holding else []
    device.follower.watch()
    await asyncio.sleep(0.01)
    turns = len(device.turns)
    device.follower.close()
    assert device.is_closed
    await asyncio.sleep(60)
    assert len(device.turns) == turns


@following
async def test_a_device_that_is_closed_while_it_is_watched_is_watched_no_more(
    device: Device,
) -> None:
    """Its number may be another file's at once."""
    device.follower.watch()
    device.follower.close()
    assert not asyncio.get_running_loop().remove_reader(device._reading)


class Ring:
    """A kernel's ring that a poller reads; each look takes so long, or fails."""

    def __init__(self) -> None:
        self.looks: list[float] = []
        self.cost_secs = 0.0
        self.failure: OSError | None = None
        self.changes = 0
        self.text = b"<4>[1.0] x\n"
        self.pipeline = pipeline()
        self.poller = SyslogPoller(self._klogctl, self._call, self.pipeline, self._changed, "why")

    async def _call(self, function: Callable[[], T]) -> T:
        self.looks.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.cost_secs)
        return function()

    def _klogctl(self, action: int, _size: int) -> bytes:
        if self.failure is not None:
            raise self.failure
        return self.text if action == READ_ALL else b"1000"

    def _changed(self) -> None:
        self.changes += 1


@pytest.mark.parametrize(("cost", "gap"), [(0.0, 1.0), (0.001, 1.001), (0.1, 20.1)])
@in_virtual_time
async def test_a_ring_is_polled_once_a_second_and_for_half_a_percent_of_the_time(
    cost: float, gap: float
) -> None:
    """Copying a large ring takes the kernel a while: then it is asked more seldom."""
    ring = Ring()
    ring.cost_secs = cost
    await ring.poller.replay()
    ring.poller.watch()
    await asyncio.sleep(70)
    assert round(ring.looks[1] - ring.looks[0], 6) == 1.0 + cost
    assert set(gaps(ring.looks[1:])) == {gap}
    ring.poller.close()
    looks = len(ring.looks)
    await asyncio.sleep(70)
    assert len(ring.looks) == looks


@in_virtual_time
async def test_what_appears_in_a_ring_tells_the_time_too() -> None:
    """Its stamps stand still in suspension, as those of the device do."""
    ring = Ring()
    ring.text = b""
    await ring.poller.replay()
    ring.text = f"<4>[  100.000000] {XID}\n".encode()
    ring.poller.watch()
    await asyncio.sleep(1.5)
    ring.poller.close()
    (event,) = ring.pipeline.counters.ring.events()
    assert event.boottime == BOOTTIME


@in_virtual_time
async def test_a_ring_that_cannot_be_read_any_more_says_so_until_it_can() -> None:
    """Each look is told of, whatever came of it."""
    ring = Ring()
    await ring.poller.replay()
    ring.poller.watch()
    assert ring.poller.error is None
    ring.failure = OSError(errno.EPERM, "not permitted")
    await asyncio.sleep(1.5)
    assert ring.poller.error == "syslog(2) cannot be read: not permitted"
    ring.failure = None
    await asyncio.sleep(1)
    assert ring.poller.error is None
    assert ring.changes == 2
    ring.poller.close()


def test_the_call_itself_fails_with_the_kernels_number() -> None:
    """An action that does not exist is an error, not an empty log."""
    with pytest.raises(OSError) as caught:  # noqa: PT011 - which of the two depends on our rights
        klogctl(4711, 0)
    assert caught.value.errno in (errno.EINVAL, errno.EPERM)
    assert MAX_RING_BYTES < 2**31  # what the call takes


def test_what_was_read_ahead_hides_nothing_behind_it() -> None:
    """Records that came between two looks at the device are handed out, one after the other."""
    parts: list[bytes | OSError] = [b"a", BlockingIOError(), b"b", BlockingIOError()]

    def read() -> bytes:
        part = parts.pop(0) if parts else BlockingIOError()
        if isinstance(part, OSError):
            raise part
        return part

    ahead = ReadAhead(read)
    ahead.fill()
    ahead.fill()
    assert not ahead.is_empty
    assert [ahead.read(), ahead.read()] == [b"a", b"b"]
    assert ahead.is_empty
    with pytest.raises(BlockingIOError):
        ahead.read()
