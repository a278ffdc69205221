"""Files that hang in the kernel: they cost their own source, once."""

import threading
from pathlib import Path

import pytest

from exporter.blocking import DaemonThreads
from exporter.collectors.memory.meminfo import MemoryReader
from exporter.collectors.memory.values import Memory, Paging
from exporter.collectors.memory.vmstat import PagingReader
from exporter.collectors.pressure import PressureReader, Pressures
from exporter.loop import Clocks, CollectionLoop
from exporter.model.snapshot import Outcome, Snapshot
from exporter.reading.files import FileSource
from tests.fakes.fuse import StuckFiles
from tests.fakes.host_tree import cpu_node

pytestmark = pytest.mark.system

DEADLINE_SECS = 0.3


async def test_a_file_that_hangs_costs_its_source_and_one_thread(
    tmp_path: Path, stuck_files: StuckFiles
) -> None:
    """Over many collections the others are read each time, and no thread is added."""
    node = cpu_node(tmp_path / "node")
    hanging = node.proc / "pressure/io"
    hanging.unlink()
    hanging.symlink_to(stuck_files.hang("io"))
    snapshots: list[Snapshot] = []
    call = DaemonThreads()
    readers = {
        "pressure": PressureReader(node.proc).read,
        "memory": MemoryReader(node.proc).read,
        "paging": PagingReader(node.proc).read,
    }
    collector = CollectionLoop(
        "n",
        [FileSource(name, read, call, DEADLINE_SECS) for name, read in readers.items()],
        interval_secs=15,
        clocks=Clocks(lambda: 0.0, lambda: 0.0),
        publish=snapshots.append,
    )
    before = threading.active_count()
    for _ in range(20):
        await collector.collect()
    added = threading.active_count() - before
    assert added <= 2
    for snapshot in snapshots:
        assert snapshot.reading(Memory) is not None
        assert snapshot.reading(Paging) is not None
        assert snapshot.reading(Pressures) is None
        outcomes = {report.source: report.outcome for report in snapshot.reports}
        assert outcomes["pressure"] is Outcome.STUCK
    assert stuck_files.waiting("io") == 1
    stuck_files.release("io")


def test_a_file_that_fails_costs_its_field(tmp_path: Path, stuck_files: StuckFiles) -> None:
    """Whatever the errno, the other resources are shown and the reason is kept."""
    node = cpu_node(tmp_path / "node")
    for code in (1, 5, 11, 12, 13, 22, 61, 95, 107, 110, 116):
        file = Path(node.proc / "pressure/memory")
        file.unlink()
        file.symlink_to(stuck_files.fail(f"errno{code}", code))
        reading = PressureReader(node.proc).read()
        assert {pressure.resource for pressure in reading.value.pressures} == {"cpu", "io", "irq"}
        assert [missing.field for missing in reading.missing] == ["memory"]
