"""Xids by the tracepoint of the driver: what is read, what is refused, and what is left behind."""

from collections.abc import AsyncIterator
from pathlib import Path
from shutil import rmtree

import pytest

from exporter.collectors import COLLECTORS
from exporter.collectors.kernel_log.values import TracedXids, XidCount
from exporter.collectors.xid_tracepoint.collector import COLLECTOR
from exporter.collectors.xid_tracepoint.source import XidTracepointSource
from exporter.collectors.xid_tracepoint.tracefs import TRACEPOINT
from exporter.config import Config, Sources
from exporter.model.event import Event, EventType
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.fakes.source_context import source_context
from tests.fakes.tracefs import Tracefs
from tests.fakes.waiting import until

LOST = "Xid (PCI:0000:65:00.0): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
MMU = "Xid (PCI:0000:65:00.0): 31, pid=4711, name={name}, Ch 00000008, intr 00000000. MMU Fault"
SWITCH = f"{TRACEPOINT}/enable"


class Node:
    """A source, the tracefs that it reads, and how often it asked to be read."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "kernel/tracing"
        self.tracefs = Tracefs(self.place)
        self.woken: list[str] = []
        config = Config(sources=Sources(sys_root=str(folder)))
        self.source = XidTracepointSource(
            source_context(
                config, wall=lambda: 2000.0, boottime=lambda: 1000.0, wake=self.woken.append
            )
        )

    async def reading(self) -> Reading[TracedXids]:
        """What the source gives once it has woken the collection."""
        await until(lambda: self.woken)
        self.woken.clear()
        return await self.source.read()

    async def events(self) -> tuple[Event, ...]:
        """The Xids of that reading."""
        return (await self.reading()).value.events


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    """A node with a driver that has the tracepoint."""
    node = Node(tmp_path)
    yield node
    await node.source.close()
    node.tracefs.close()


async def test_an_xid_is_told_at_once_with_all_that_its_message_says(node: Node) -> None:
    """With its moment by the clock of the trace, its GPU, and the process that it names."""
    assert (await node.source.read()).value == TracedXids()
    node.tracefs.trace(MMU.format(name="python3"), 999.5)
    reading = await node.reading()
    (event,) = reading.value.events
    assert (event.type, event.kind, event.source) == (EventType.ERROR_HW, "xid", "xid_tracepoint")
    assert (event.entity_type, event.entity_id) == ("gpu", "0000:65:00.0")
    assert (event.boottime, event.at, event.number) == (999.5, 1999.5, 1)
    assert (event.pid, event.fields["name"], event.fields["channel"]) == (
        4711,
        "python3",
        "00000008",
    )
    assert event.raw == f"NVRM: {MMU.format(name='python3')}"
    assert reading.value.xids == (XidCount("0000:65:00.0", 31, 1, 1999.5),)
    assert not reading.rejected


async def test_what_a_killed_exporter_left_is_read_first(node: Node) -> None:
    """The kernel has recorded on: the Xids of the time between are not lost."""
    node.tracefs.trace(LOST, 500.0)
    reading = await node.source.read()
    assert [event.boottime for event in reading.value.events] == [500.0]


async def test_a_burst_is_read_whole_and_what_the_kernel_overwrote_is_counted(node: Node) -> None:
    """Each code as often as it came; the number of lost events is a number of the source."""
    await node.source.read()
    node.tracefs.write("CPU:3 [LOST 12 EVENTS]\n")
    for number in range(300):
        node.tracefs.trace(f"Xid (PCI:0000:65:00.0): {172 if number == 0 else 13}, x", 900 + number)
    found: dict[int, int] = {}
    while sum(found.values()) < 300:
        reading = await node.reading()
        found = {xid.code: xid.count for xid in reading.value.xids}
    assert found == {13: 299, 172: 1}
    assert reading.rejected == (("xid", 12.0),)


async def test_the_name_of_a_process_makes_no_xid(node: Node) -> None:
    """Neither the name of the traced task nor that in the message, with line feeds and escapes."""
    await node.source.read()
    node.tracefs.trace("Xid (PCI:0000", 1.0, task="\n: Xid (PCI:0000")
    node.tracefs.trace(MMU.format(name="\n1.0: nvidia_dev"), 990.5)
    node.tracefs.trace(MMU.format(name="a\\x0aNVRM: X"), 991.5)
    events = await node.events()
    assert [(event.fields["code"], event.pid) for event in events] == [("31", 4711)] * 2
    assert "name" not in events[0].fields
    assert events[1].fields["name"] == "a\\x0aNVRM: X"


async def test_a_request_of_the_driver_for_recovery_is_one(node: Node) -> None:
    """Xid 154 is read as the kernel log says it."""
    await node.source.read()
    action = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    node.tracefs.trace(f"Xid (PCI:0000:65:00.0): 154, {action}", 990.0)
    (event,) = await node.events()
    assert (event.kind, event.fields["action"]) == ("gpu_recovery_action", "reset")


async def test_only_the_tracepoint_is_enabled_and_again_for_a_new_driver(node: Node) -> None:
    """A driver that is unloaded takes it away; that of the next driver is disabled."""
    await node.source.read()
    instance = node.tracefs.instance
    assert (instance / SWITCH).read_text() == "1"
    assert (instance / "trace_clock").read_text() == "boot"
    assert (instance / "buffer_size_kb").read_text() == "64"
    rmtree(node.place / TRACEPOINT)
    with pytest.raises(SourceAbsent, match="no NVIDIA driver with the tracepoint"):
        await node.source.read()
    (node.place / TRACEPOINT).mkdir()
    (instance / SWITCH).write_text("0\n")
    await node.source.read()
    assert (instance / SWITCH).read_text() == "1"


async def test_the_clock_is_set_once_since_that_empties_the_buffer(node: Node) -> None:
    """An instance that was left by an exporter has the clock."""
    clock = node.tracefs.instance / "trace_clock"
    clock.write_text("local global [boot]\n")
    await node.source.read()
    assert clock.read_text() == "local global [boot]\n"


async def test_a_node_without_tracefs_has_no_such_source(tmp_path: Path) -> None:
    """The reason names the folder."""
    config = Config(sources=Sources(sys_root=str(tmp_path)))
    source = XidTracepointSource(source_context(config))
    with pytest.raises(
        SourceAbsent, match=f"^tracefs is not mounted at {tmp_path}/kernel/tracing$"
    ):
        await source.read()
    await source.close()


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        ("instances/hw-exporter-xid", "hw-exporter-xid cannot be used: File exists"),
        (f"instances/hw-exporter-xid/{SWITCH}", "enable cannot be used: Is a directory"),
        ("instances/hw-exporter-xid/trace_pipe", "trace_pipe cannot be used: No such file"),
    ],
)
async def test_a_tracefs_that_refuses_is_said_in_a_sentence(
    node: Node, refused: str, words: str
) -> None:
    """Which file, and the words of the kernel, as for one that is read-only."""
    place = node.place / refused
    if place.is_dir():
        rmtree(place)
        place.touch()
    elif place.name == "enable":
        place.unlink()
        place.mkdir()
    else:
        place.unlink()
    with pytest.raises(SourceFailed, match=words):
        await node.source.read()


async def test_an_instance_that_cannot_be_removed_is_logged(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """As where another program has a file of it open."""
    await node.source.read()
    await node.source.close()
    assert "hw-exporter-xid cannot be removed: Directory not empty" in caplog.text


def test_a_recording_gives_the_event_again() -> None:
    """The line of the kernel log stands for it, under a key of its own."""
    assert COLLECTOR.recorded is not None
    parser, item = COLLECTOR.recorded.parser(), COLLECTOR.recorded.item
    (event,) = parser([f"NVRM: {LOST}"], 1000.0)
    assert (event.source, event.fields["code"]) == ("xid_tracepoint", "79")
    assert item(event) == f"NVRM: {LOST}"


def test_it_is_off_by_default() -> None:
    """Its collector is imported only if `sources.enabled` names it."""
    is_on = COLLECTORS["xid_tracepoint"]
    assert not is_on(Config())
    assert is_on(Config(sources=Sources(enabled=("xid_tracepoint",))))
