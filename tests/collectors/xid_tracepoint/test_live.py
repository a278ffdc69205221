"""The kernel's own tracing: a real event of the name that the NVIDIA driver's has."""

import asyncio
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from exporter.collectors.xid_tracepoint.source import XidTracepointSource
from exporter.collectors.xid_tracepoint.tracefs import (
    BUFFER_KB,
    INSTANCE,
    TRACEPOINT,
)
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.fakes.fixtures import built
from tests.fakes.native import build_xid
from tests.fakes.source_context import source_context
from tests.fakes.tracing import traced_alone
from tests.fakes.waiting import until

T = TypeVar("T")

TRACEFS = Path("/sys/kernel/tracing")
UPROBES = TRACEFS / "uprobe_events"
ARGUMENTS = {"x86_64": ("%di", "%si", "%dx"), "aarch64": ("%x0", "%x1", "%x2")}
BURST = 100

pytestmark = pytest.mark.system


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Let one test after the other have uprobes: they are those of the whole machine."""
    if not os.access(UPROBES, os.W_OK) or platform.machine() not in ARGUMENTS:
        pytest.skip("no uprobe can be made in /sys/kernel/tracing")
    if (TRACEFS / TRACEPOINT).exists():
        pytest.skip("a driver has the tracepoint")
    with traced_alone():
        yield


class Driver:
    """A program with a uprobe in the place of the tracepoint of the driver."""

    def __init__(self) -> None:
        program = built(build_xid) / "xid"
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdout is not None
        offset = self._process.stdout.readline().strip()
        device, code, message = ARGUMENTS[platform.machine()]
        fields = f"dev=+0({device}):string error_code={code}:u32 msg=+0({message}):string"
        _write_uprobes(f"p:nvidia/nvidia_dev_xid {program}:{offset} {fields}\n")

    def report(self, code: int, message: str, times: int = 1) -> None:
        """Have the kernel trace an Xid of a GPU."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for _ in range(times):
            self._process.stdin.write(f"0000:65:00.0|{code}|{message}\n")
            self._process.stdin.flush()
            self._process.stdout.readline()

    def unload(self) -> None:
        """End the program, and remove the event."""
        self._process.communicate()
        _write_uprobes("-:nvidia/nvidia_dev_xid\n")


def _write_uprobes(line: str) -> None:
    """Add a line to those of others; the file has no end that could be sought."""
    file = os.open(UPROBES, os.O_WRONLY | os.O_APPEND)
    os.write(file, line.encode())
    os.close(file)


@pytest.fixture
def driver() -> Iterator[Driver]:
    """A driver that is loaded."""
    driver = Driver()
    yield driver
    driver.unload()


async def _call(function: Callable[[], T]) -> T:
    return await asyncio.to_thread(function)


def _as_the_driver_prints(descriptor: int, size: int) -> bytes:
    """Read the pipe; a uprobe prints its fields in another format than the driver."""
    fields = rb'\(0x[0-9a-f]+\) dev="(.*?)" error_code=(\d+) msg="(.*)"'
    return re.sub(fields, rb"Xid (PCI:\1): \2, \3", os.read(descriptor, size))


class Exporter:
    """A source on this machine, and when it asked to be read."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        context = source_context(
            call=_call,
            wall=time.time,
            boottime=lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
            wake=self.woken.append,
        )
        self.source = XidTracepointSource(context, read=_as_the_driver_prints)

    async def codes(self) -> list[tuple[int, int]]:
        """The codes that were read, and how often."""
        return [(xid.code, xid.count) for xid in (await self.source.read()).value.xids]


async def test_an_xid_comes_from_the_kernel_with_its_moment(driver: Driver) -> None:
    """The source is woken, the moment is that of the trace, and nothing is left at the end."""
    exporter = Exporter()
    assert await exporter.codes() == []
    size = (TRACEFS / INSTANCE / "per_cpu/cpu0/buffer_size_kb").read_text()
    assert int(size) <= BUFFER_KB + os.sysconf("SC_PAGE_SIZE") // 1024
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    driver.report(79, "pid=4711, name=python3, GPU has fallen off the bus.")
    after = time.clock_gettime(time.CLOCK_BOOTTIME)
    await until(lambda: exporter.woken)
    (event,) = (await exporter.source.read()).value.events
    assert before - 0.001 < event.boottime < after + 0.001
    assert (event.entity_id, event.pid) == ("0000:65:00.0", 4711)
    await exporter.source.close()
    assert not (TRACEFS / INSTANCE).exists()


async def test_no_xid_of_a_burst_is_lost_nor_of_the_time_after_a_kill(driver: Driver) -> None:
    """The first of a burst is there; the next exporter reads what the kernel recorded on."""
    killed = Exporter()
    await killed.source.read()
    driver.report(172, "first")
    driver.report(13, "others", BURST)
    await until(lambda: killed.woken)
    await asyncio.sleep(0.5)
    assert await killed.codes() == [(13, BURST), (172, 1)]
    _end_without_removing(killed.source)
    driver.report(48, "meanwhile", 3)
    following = Exporter()
    assert await following.codes() == [(48, 3)]
    await following.source.close()


def _end_without_removing(source: XidTracepointSource) -> None:
    """Close the pipe alone, as the kernel does for a process that was killed."""
    follower = source._follower
    assert follower is not None
    follower.close()


async def test_a_second_exporter_is_refused() -> None:
    """Where the kernel gives the pipe to one reader; without a driver there is no source."""
    with pytest.raises(SourceAbsent, match="no NVIDIA driver with the tracepoint"):
        await Exporter().source.read()
    driver, first = Driver(), Exporter()
    try:
        await first.source.read()
        driver.report(79, "x")
        await until(lambda: first.woken)
        second = Exporter()
        try:
            given = str(await second.codes())
        except SourceFailed as error:
            given = str(error)
        assert given.endswith(("trace_pipe cannot be used: Device or resource busy", "[]"))
        await second.source.close()
        assert await first.codes() == [(79, 1)]
        await first.source.close()
    finally:
        driver.unload()
