"""External probes in virtual time: when they are started, and what is shown of them."""

import asyncio
import errno
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import cycle

import pytest

from exporter.collectors.external_probes.pace import MAX_LINES, MAX_READ_BYTES
from exporter.collectors.external_probes.stream import StreamProbe
from exporter.config import ProbeCommand
from exporter.model.event import Event
from tests.fakes.source_context import source_context
from tests.fakes.virtual_time import in_virtual_scene, in_virtual_time
from tests.probes.scripted_children import ScriptedChild, ScriptedChildren

FOREVER = ProbeCommand("npu", ("/opt/npu",), deadline="10s")
EVERY_20 = replace(FOREVER, mode="interval", every="20s", deadline="5s")


def line(name: str = "hw_npu_celsius", value: float | None = 1, npu: int = 0) -> bytes:
    """One line of a probe."""
    message = {"metric": name, "labels": {"npu": str(npu)}, "value": value}
    return json.dumps(message).encode() + b"\n"


EVENT = b'{"event_type": "error.hw", "entity_id": "npu0", "value": "broken", "ts": 1}\n'


class Scene:
    """One probe over scripted children; `boottime` goes with virtual time."""

    def __init__(
        self, probe: ProbeCommand, prepare: Callable[[ScriptedChild], None] = lambda _: None
    ) -> None:
        loop = asyncio.get_running_loop()
        self.children = ScriptedChildren(prepare)
        self.events: list[Event] = []
        context = source_context(children=self.children.as_children(), boottime=loop.time)
        self.probe = StreamProbe(probe, context, self.events.append)
        self.task = asyncio.ensure_future(self.probe.run())

    @property
    def child(self) -> ScriptedChild:
        return self.children.last

    @property
    def shown(self) -> list[str]:
        return [metric.name for metric in self.probe.state().metrics]

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


@asynccontextmanager
async def probing(
    schedule: ProbeCommand = FOREVER, prepare: Callable[[ScriptedChild], None] = lambda _: None
) -> AsyncIterator[Scene]:
    """A probe that is started, and ended at the end."""
    scene = Scene(schedule, prepare)
    await asyncio.sleep(0)
    yield scene
    await scene.close()


streaming = in_virtual_scene(probing)
"""Lets a test be played with a stream, in virtual time."""

in_intervals = in_virtual_scene(partial(probing, EVERY_20))
"""The same with a probe that runs every 20 seconds."""


def ends_after(secs: float, *codes: int) -> Callable[[ScriptedChild], None]:
    """Children that end by themselves, one after the other with these codes."""
    left = cycle(codes)

    def prepare(child: ScriptedChild) -> None:
        asyncio.get_running_loop().call_later(secs, child.ends, next(left))

    return prepare


DOUBLING = [0, 1, 3, 7, 15, 31, 63, 123, 183]


@pytest.mark.parametrize(
    ("schedule", "prepare", "secs", "starts", "restarts"),
    [
        # a stream is to run for ever: its pauses double to a minute, however it ended
        (FOREVER, ends_after(0, 0), 190, DOUBLING, 9),
        (FOREVER, ends_after(0, 1), 190, DOUBLING, 9),
        # after more than a minute a failure is the first again
        (FOREVER, ends_after(60, 1), 200, [0, 61, 123, 187], 3),
        (FOREVER, ends_after(61, 1), 200, [0, 62, 124, 186], 3),
        # an interval is from start to start, and a run that ended well is no restart
        (EVERY_20, ends_after(3, 0), 65, [0, 20, 40, 60], 0),
        (EVERY_20, ends_after(4.9, 0), 65, [0, 20, 40, 60], 0),
        # runs that take longer than their interval follow each other
        (replace(EVERY_20, deadline="40s"), ends_after(30, 0), 80, [0, 30, 60], 0),
        # a run that failed is tried again before its interval is over
        (EVERY_20, ends_after(0, 1), 10, [0, 1, 3, 7], 4),
        # after a run that went well a failure is the first again
        (EVERY_20, ends_after(0, 1, 1, 0, 1, 0), 25, [0, 1, 3, 23, 24], 3),
    ],
)
@in_virtual_time
async def test_a_probe_is_started_again(
    schedule: ProbeCommand,
    prepare: Callable[[ScriptedChild], None],
    secs: float,
    starts: list[float],
    restarts: int,
) -> None:
    """By its schedule, or after a pause that doubles while it fails."""
    async with probing(schedule, prepare) as scene:
        await asyncio.sleep(secs)
        assert scene.children.starts == starts
        assert scene.probe.state().restarts == restarts


@in_virtual_time
async def test_an_interval_run_is_ended_at_its_deadline_and_a_stream_never() -> None:
    """Silence of a stream is told by its age; a run has to end."""
    async with probing(EVERY_20) as scene:
        await asyncio.sleep(4.9)
        assert not scene.child.is_killed
        await asyncio.sleep(0.2)
        assert scene.child.is_killed
        await asyncio.sleep(1)
        assert scene.children.starts == [0, 6]
    async with probing() as scene:
        await asyncio.sleep(100_000)
        assert len(scene.children.started) == 1
        assert not scene.child.is_killed


@in_virtual_time
async def test_nothing_is_started_beside_a_child_that_does_not_die() -> None:
    """It sleeps in a driver: a second one would join it."""

    def undying(child: ScriptedChild) -> None:
        child.is_undying = True

    async with probing(EVERY_20, undying) as scene:
        await asyncio.sleep(1000)
        assert scene.child.is_killed
        assert len(scene.children.started) == 1
        scene.child.ends(-9)
        await asyncio.sleep(1.1)
        assert len(scene.children.started) == 2


@pytest.mark.parametrize("schedule", [FOREVER, EVERY_20])
@in_virtual_time
async def test_closing_ends_the_child(schedule: ProbeCommand) -> None:
    """No probe outlives the exporter."""
    async with probing(schedule) as scene:
        await scene.close()
        assert scene.child.is_killed
        assert scene.task.cancelled()


@pytest.mark.parametrize("schedule", [FOREVER, EVERY_20])
@in_virtual_time
async def test_a_program_that_cannot_be_started_is_tried_again(
    caplog: pytest.LogCaptureFixture, schedule: ProbeCommand
) -> None:
    """With the pauses of any failure; the reason is logged once."""

    def missing(_: ScriptedChild) -> None:
        raise OSError(errno.ENOENT, "no such file")

    async with probing(schedule, missing) as scene:
        await asyncio.sleep(4)
        assert scene.children.starts == [0, 1, 3]
        assert (scene.probe.state().up, scene.probe.state().restarts) == (False, 3)
    warnings = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert warnings == ["probe npu: cannot be started: no such file"]


@streaming
async def test_a_stream_is_up_while_it_speaks(scene: Scene) -> None:
    """From its first line until it has been silent for its deadline."""
    assert not scene.probe.state().up
    await asyncio.sleep(3)
    scene.child.says(line())
    assert (scene.probe.state().up, scene.probe.state().expires) == (True, 13)
    await asyncio.sleep(9.9)
    assert scene.shown == ["hw_npu_celsius"]
    await asyncio.sleep(0.1)
    assert (scene.probe.state().up, scene.shown) == (False, [])


@in_intervals
async def test_what_an_interval_run_reported_is_shown_when_it_ends_and_until_the_next_should(
    scene: Scene,
) -> None:
    """Whole, for its interval and its deadline; a silent run changes nothing of it."""
    scene.child.says(line("hw_npu_celsius") + line("hw_npu_watts"))
    assert scene.shown == []
    scene.child.ends(0)
    await asyncio.sleep(0.1)
    assert scene.shown == ["hw_npu_celsius", "hw_npu_watts"]
    await asyncio.sleep(20)
    assert scene.children.starts == [0, 20]
    scene.child.ends(0)
    await asyncio.sleep(4.8)
    assert scene.shown == ["hw_npu_celsius", "hw_npu_watts"]
    await asyncio.sleep(0.2)
    assert scene.shown == []


@streaming
async def test_what_an_earlier_run_reported_goes_when_the_next_one_speaks(scene: Scene) -> None:
    """A stream that is started again is not believed to report still what it did before."""
    scene.child.says(line("hw_npu_celsius"))
    scene.child.ends(1)
    await asyncio.sleep(2)
    assert scene.shown == ["hw_npu_celsius"]
    scene.child.says(line("hw_npu_watts"))
    assert scene.shown == ["hw_npu_watts"]


@streaming
async def test_every_line_counts_once(scene: Scene) -> None:
    """Good, bad or dropped; a taken back metric and an event are good ones."""
    scene.child.says(line() + line(value=None) + EVENT + b"nonsense\n{}\n")
    assert scene.probe.state().lines == (("bad", 2.0), ("good", 3.0))
    assert [event.raw for event in scene.events] == ["broken"]
    assert scene.shown == []


@streaming
async def test_lines_beyond_a_thousand_a_second_are_dropped(scene: Scene) -> None:
    """And counted; in the next second it is listened to again."""
    scene.child.says(line() * (MAX_LINES + 7))
    assert dict(scene.probe.state().lines) == {"good": MAX_LINES, "dropped": 7}
    await asyncio.sleep(1)
    scene.child.says(line())
    assert dict(scene.probe.state().lines) == {"good": MAX_LINES + 1, "dropped": 7}


@streaming
async def test_series_beyond_the_bound_are_dropped(scene: Scene) -> None:
    """What is known goes on to be kept up to date."""
    for number in range(1005):
        scene.child.says(line(npu=number))
        await asyncio.sleep(0.01)
    assert dict(scene.probe.state().lines) == {"good": 1000, "dropped": 5}
    assert len(scene.shown) == 1000


@pytest.mark.parametrize("stream", ["says", "complains"])
@streaming
async def test_a_flood_is_read_no_further_until_the_second_is_over(
    scene: Scene, stream: str
) -> None:
    """Whatever it is written to; a child that writes less is never made to wait."""
    await asyncio.sleep(0.25)
    write = getattr(scene.child, stream)
    for _ in range(MAX_READ_BYTES // 4096):
        write(b"{}\n" + b" " * 4092 + b"\n")
    assert scene.child.pauses == []
    await asyncio.sleep(0.5)
    write(b"{}\n")
    assert scene.child.pauses == [0.25]
    await asyncio.sleep(0.25)
    write(b"{}\n")
    assert len(scene.child.pauses) == 1


@streaming
async def test_a_line_without_end_ends_the_child(scene: Scene) -> None:
    """More than 64 KiB cannot be a line; so much can."""
    scene.child.says(b" " * 64 * 1024)
    assert not scene.child.is_killed
    scene.child.says(b" ")
    assert scene.child.is_killed
    assert scene.child.pauses == []
    assert scene.probe.state().lines == (("bad", 1.0),)


@streaming
async def test_complaints_are_logged_once(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """With the line, cut: a probe cannot fill the log."""
    scene.child.says(b"x" * 1000 + b"\n" + b"y\n" * 20)
    (warning,) = (each.message for each in caplog.records if each.levelno == logging.WARNING)
    assert "xxx" in warning
    assert len(warning) < 300
