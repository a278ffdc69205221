"""The kernel log as a source: a device that grows, a restart, a second choice, and none."""

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest

from exporter.blocking import CallBlocking
from exporter.collectors.kernel_log.pattern_file import shipped_lines
from exporter.collectors.kernel_log.source import MAX_POSTPONED, KernelLogSource
from exporter.collectors.kernel_log.values import KernelLog
from exporter.config import Config, KernelLogConfig, Sources, State
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.state import BOOT_ID
from tests.collectors.kernel_log.feeding import BOOTTIME, WALL, XID, kmsg
from tests.fakes.source_context import call_now, source_context
from tests.fakes.virtual_time import in_virtual_scene

T = TypeVar("T")
DECISION = "oom-kill:constraint=CONSTRAINT_NONE,x,task=a,pid=7,uid=0"


def refused(_action: int, _size: int) -> bytes:
    """A kernel that does not let us read."""
    raise PermissionError(errno.EPERM, "Operation not permitted")


class Node:
    """A log device made of a pipe, and a source that follows it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wakes = 0
        self.call: CallBlocking = call_now
        self.wall = WALL
        self.path = folder / "kmsg"
        os.mkfifo(self.path)
        self.reading = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.device = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        self.sources: list[KernelLogSource] = []
        self.boot_id = folder / BOOT_ID
        self.boot_id.parent.mkdir(parents=True)
        self.boot_id.write_text("a-boot\n")

    def source(
        self,
        klogctl: Callable[[int, int], bytes] = refused,
        *,
        path: Path | None = None,
        state_dir: Path | None = None,
        max_postponed: int = MAX_POSTPONED,
    ) -> KernelLogSource:
        """The source of one process on this node."""
        config = Config(
            kernel_log=KernelLogConfig(path=str(path or self.path)),
            sources=Sources(proc_root=str(self.folder)),
            state=State(dir=str(state_dir or "")),
        )
        ctx = source_context(
            config,
            call=self._call,
            wall=lambda: self.wall,
            boottime=lambda: BOOTTIME,
            wake=self._wake,
        )
        self.sources.append(
            KernelLogSource(shipped_lines(), ctx, klogctl=klogctl, max_postponed=max_postponed)
        )
        return self.sources[-1]

    def print(self, text: str, sequence: int) -> None:
        """One more record."""
        os.write(self.device, kmsg(text, sequence=sequence, stamp=float(sequence)))

    async def run(self, *sequences: int) -> KernelLog:
        """What a process with a state folder reads of these new records; it ends after that."""
        source = self.source(state_dir=self.folder)
        for sequence in sequences:
            self.print(XID, sequence)
        log = await reading_of(source)
        await source.close()
        return log

    async def close(self) -> None:
        """Every source, and both ends of the pipe."""
        for source in self.sources:
            await source.close()
        os.close(self.reading)
        os.close(self.device)

    def _call(self, function: Callable[[], T]) -> Awaitable[T]:
        return self.call(function)

    def _wake(self, _name: str) -> None:
        self.wakes += 1


async def reading_of(source: KernelLogSource) -> KernelLog:
    """What one read gives."""
    value = (await source.read()).value
    assert isinstance(value, KernelLog)
    return value


@asynccontextmanager
async def _node() -> AsyncIterator[Node]:
    with TemporaryDirectory() as folder:
        node = Node(Path(folder))
        try:
            yield node
        finally:
            await node.close()


on_node = in_virtual_scene(_node)
"""Lets a test be played on a node, in virtual time."""


@on_node
async def test_what_is_there_is_read_and_what_comes_wakes_the_collector(node: Node) -> None:
    """The log from before the start is in the first reading; a new event asks for publication."""
    source = node.source()
    node.print(XID, 1)
    assert (await reading_of(source)).kinds == (("xid", 1),)
    assert node.wakes == 0
    node.print("nothing", 2)
    await asyncio.sleep(0.5)
    assert node.wakes == 0
    node.print(XID, 3)
    await asyncio.sleep(0.5)
    assert node.wakes == 1
    node.print("nothing", 4)
    await asyncio.sleep(0.5)
    assert node.wakes == 1  # it is asked for once
    log = await reading_of(source)
    assert (log.kinds, log.source, log.reason) == ((("xid", 2),), "kmsg", "ok")


@on_node
async def test_a_restart_with_a_state_folder_goes_on_where_it_stopped(node: Node) -> None:
    """Counters continue, what came meanwhile is found, nothing is counted twice."""
    await node.run(1, 2)
    log = await node.run(1, 2, 3)
    assert (log.kinds, log.first_new_number) == ((("xid", 3),), 3)
    assert [event.number for event in log.events] == [1, 2, 3]


@on_node
async def test_a_crash_loses_and_repeats_nothing_either(node: Node) -> None:
    """Position and counters are saved together a second after a change, without being closed."""
    first = node.source(state_dir=node.folder)
    await first.read()
    node.print(XID, 1)
    await asyncio.sleep(3)
    node.print(XID, 2)
    await asyncio.sleep(0.2)  # published, not saved yet
    assert (await reading_of(first)).kinds == (("xid", 2),)
    text = (node.folder / "kernel_log.json").read_text()
    await asyncio.sleep(1)
    assert json.loads((node.folder / "kernel_log.json").read_text())["kinds"] == {"xid": 2}
    await first.close()
    (node.folder / "kernel_log.json").write_text(text)
    assert (await node.run(1, 2)).kinds == (("xid", 2),)


@on_node
async def test_where_the_boot_cannot_be_told_nothing_is_kept(node: Node) -> None:
    """What was kept might be of any boot: the log is read anew each time."""
    node.boot_id.write_text("")
    assert (await node.run(1)).kinds == (("xid", 1),)
    assert not (node.folder / "kernel_log.json").exists()


@on_node
async def test_another_boot_begins_anew(node: Node) -> None:
    """With a new boot id the old position and counters are nothing."""
    await node.run(7)
    node.boot_id.write_text("another\n")
    log = await node.run(1)
    assert (log.kinds, log.first_new_number) == ((("xid", 1),), 1)


@on_node
async def test_a_state_folder_that_cannot_be_written_costs_the_state_only(node: Node) -> None:
    """Following goes on, and the reason is in the program's log."""
    source = node.source(state_dir=node.folder / "nowhere")
    node.print(XID, 1)
    assert (await reading_of(source)).kinds == (("xid", 1),)


@on_node
async def test_where_the_device_may_not_be_opened_syslog_is_read(node: Node) -> None:
    """The second choice gives the same events, with the reason why it is the second."""
    lines = [f"<4>[    1.000000] {XID}\n"]

    def klogctl(action: int, _size: int) -> bytes:
        return "".join(lines).encode() if action == 3 else b"65536"

    source = node.source(klogctl, path=node.folder / "missing")
    log = await reading_of(source)
    assert (log.kinds, log.source, log.reason) == ((("xid", 1),), "syslog", "no_device")
    lines.append(f"<4>[    9.000000] {XID}\n")
    await asyncio.sleep(1.5)
    assert node.wakes == 1
    assert (await reading_of(source)).kinds == (("xid", 2),)


@pytest.mark.parametrize(
    ("path", "gave"),
    [("/nowhere/kmsg", "no_device"), ("/dev/null", "not_kmsg"), ("/dev", "not_kmsg")],
)
@on_node
async def test_where_neither_may_be_read_the_source_is_absent_with_a_reason(
    node: Node, path: str, gave: str
) -> None:
    """The reason starts with one word; a later read tries again.

    Containers have /dev/null in place of the device: that is no log without events.
    """
    source = node.source(path=Path(path))
    for _ in range(2):
        with pytest.raises(SourceAbsent, match=rf"^no_permission: {path} gave {gave}"):
            await source.read()


@on_node
async def test_a_file_of_another_format_is_not_the_kernel_log(node: Node) -> None:
    """Lines of syslog(2) or of a log file are no records: the source fails, until there is one."""
    file = node.folder / "kern.log"
    file.write_text("<6>[    0.000000] Linux version 6.1\n")
    source = node.source(path=file)
    for _ in range(2):
        with pytest.raises(SourceFailed, match=r"no records in the format of /dev/kmsg"):
            await source.read()
        await asyncio.sleep(1)
    with file.open("ab") as log:
        log.write(kmsg(XID, sequence=1, stamp=1.0))
    await asyncio.sleep(1)
    assert (await reading_of(source)).records == 1


@on_node
async def test_a_plain_file_can_be_followed_in_a_drill(node: Node) -> None:
    """What is appended to it is found, although files cannot be waited for."""
    path = node.folder / "recording"
    path.write_bytes(kmsg(XID, sequence=1))
    source = node.source(path=path)
    assert (await reading_of(source)).kinds == (("xid", 1),)
    with path.open("ab") as file:
        file.write(kmsg(XID, sequence=2))
    await asyncio.sleep(0.5)
    assert node.wakes == 1
    assert (await reading_of(source)).kinds == (("xid", 2),)


@on_node
async def test_a_device_that_breaks_fails_the_source_and_may_recover(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """While reading fails the source has failed; it is tried again, seldom."""
    source = node.source(path=Path("/proc/self/mem"))  # opens, and cannot be read
    for _ in range(2):
        with pytest.raises(SourceFailed, match="cannot be read"):
            await source.read()
        await asyncio.sleep(20)
    await source.close()
    assert not caplog.records


@on_node
async def test_a_clock_set_to_1970_costs_no_counts(node: Node) -> None:
    """What the kernel printed before then has a time before it, and is read back as it is."""
    node.wall = 0.0
    for sequence in (1, 2):
        log = await node.run(sequence)
        assert log.kinds == (("xid", sequence),)
    assert log.xids[0].last_at < 0


@on_node
async def test_a_log_that_never_rests_is_saved_all_the_same(node: Node) -> None:
    """A message that stays open puts a save off, but not for ever."""
    source = node.source(state_dir=node.folder, max_postponed=2)
    await source.read()
    for sequence in range(1, 40):
        node.print(DECISION.replace("pid=7", f"pid={sequence}"), sequence)
        await asyncio.sleep(0.1)  # sooner than a message is taken for finished
    assert (node.folder / "kernel_log.json").exists()


@on_node
async def test_one_save_at_a_time_waits_for_a_disk_that_hangs(node: Node) -> None:
    """Each would keep a thread; what came meanwhile is saved when the disk answers."""
    source = node.source(state_dir=node.folder)
    await source.read()
    disk, waiting = asyncio.Event(), 0

    async def hang(function: Callable[[], T]) -> T:
        nonlocal waiting
        waiting += 1
        await disk.wait()
        return function()

    node.call = hang
    for sequence in range(1, 10):
        node.print(XID, sequence)
        await asyncio.sleep(2)
    assert waiting == 1
    disk.set()
    await asyncio.sleep(2)
    assert json.loads((node.folder / "kernel_log.json").read_text())["records"] == 9


WRONG: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("records", (-1, 1.5, True, "7", None, [])),
    ("sequence", (-1, "7", {})),
    ("stamp", (-1.0, "now", "7.5", None, True)),
    ("kinds", ({"xid": -1}, {"xid": "1"}, [1], 7)),
    ("xids", ([["a", 79, -1, 0.0]], [["a", 79]], {"a": 1}, [7])),
    ("gpu_uuids", ({"a": 1},)),
)


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG for value in values]
)
@on_node
async def test_a_state_file_of_wrong_types_is_set_aside(
    node: Node, caplog: pytest.LogCaptureFixture, key: str, value: object
) -> None:
    """The log is followed, nothing of it is shown, and one sentence says why."""
    await node.run(1)
    file = node.folder / "kernel_log.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))
    assert (await node.run(1)).kinds == (("xid", 1),)
    assert (node.folder / "kernel_log.json.bad").exists()
    said = [record for record in caplog.records if "was renamed" in record.message]
    assert len(said) == 1
