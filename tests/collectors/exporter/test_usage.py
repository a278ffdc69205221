"""The exporter tells what its own processes use."""

import asyncio
import resource
import sys
import time
from pathlib import Path

import pytest

from exporter.collectors.exporter.usage import OurProcessesReader
from exporter.probes.child import Child, Children, Command

SLEEPER = Command(
    (sys.executable, "-u", "-S", "-c", "print('awake'); input()"), {}, with_input=True
)
BUSY = Command((sys.executable, "-S", "-c", "sum(range(5_000_000))"), {})

pytestmark = pytest.mark.system


def test_the_own_process_is_told_as_the_kernel_counts_it() -> None:
    """Memory, processor time, descriptors, threads and start are those of this process."""
    used = OurProcessesReader((Children(),)).read().value
    times = resource.getrusage(resource.RUSAGE_SELF)
    assert used.count == 1
    assert used.resident_memory_bytes <= times.ru_maxrss * 1024 * 1.01
    assert used.resident_memory_bytes > 4 * 2**20
    assert used.threads == len(list(Path("/proc/self/task").iterdir()))
    assert used.open_descriptors == pytest.approx(len(list(Path("/proc/self/fd").iterdir())), abs=1)
    assert 0 < time.time() - used.started_at < time.clock_gettime(time.CLOCK_BOOTTIME)


async def test_children_count_while_they_run_and_their_time_stays() -> None:
    """A child adds to the sums, and the processor time of one that has ended is still in."""
    children = Children()
    reader = OurProcessesReader((children,))
    alone = reader.read().value
    awake = asyncio.Event()
    sleeper = _started(children, SLEEPER, awake)
    await awake.wait()
    with_child = reader.read().value
    assert (alone.count, with_child.count) == (1, 2)
    assert with_child.resident_memory_bytes > alone.resident_memory_bytes
    sleeper.kill()
    busy = _started(children, BUSY, asyncio.Event())
    await asyncio.wait({sleeper.exited, busy.exited})
    after = reader.read().value
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = resource.getrusage(resource.RUSAGE_SELF)
    spent = sum((own.ru_utime, own.ru_stime, ended.ru_utime, ended.ru_stime))
    assert after.count == 1
    assert after.cpu_seconds == pytest.approx(spent, abs=0.1)


def _started(children: Children, command: Command, spoke: asyncio.Event) -> Child:
    return children.start(command, lambda _: spoke.set(), lambda _: None)
