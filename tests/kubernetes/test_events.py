"""Events: one for each fault that begins, one when it ends, at a bounded rate."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from exporter.config import NodeConditions
from exporter.kubernetes.api import NodeApi
from exporter.kubernetes.events import BURST, SECS_FOR_ONE, EventsLoop
from exporter.model.silence import Silence
from exporter.model.verdict import Cause, Fault, FaultState, Subject
from exporter.outgoing import RequestFailed
from tests.kubernetes.facts import GPU, World, fault, snapshot

LOST = fault()
POD = Subject("workload", "workload", "1", "ml/train-0/main")


class _Events(NodeApi):
    """The Events that were written, by name; may refuse."""

    def __init__(self) -> None:
        self.written: dict[str, dict[str, Any]] = {}
        self.asked = 0
        self.refusals: list[str] = []

    async def create_event(self, body: dict[str, Any]) -> None:
        self.asked += 1
        if self.refusals:
            raise RequestFailed(self.refusals.pop(0))
        self.written.setdefault(body["metadata"]["name"], body)

    def said(self) -> list[tuple[str, str]]:
        return [(it["type"], it["reason"]) for it in self.written.values()]


class _World(World):
    """A loop with its API."""

    def __init__(self, events: _Events | None = None, *, dry_run: bool = False) -> None:
        super().__init__()
        self.events = events or _Events()
        settings = NodeConditions(events=True, dry_run=dry_run)
        self.loop = EventsLoop(settings, "n1", self.present, self.events)

    async def step(self, *faults: Fault, secs: float = 10.0) -> list[tuple[str, str]]:
        self.snapshot = snapshot(*faults)
        self.seconds += secs
        await self.loop.step()
        return self.events.said()


def _gpu(number: int, **changes: Any) -> Fault:
    subject = Subject("gpu", "gpu", f"GPU-{number}", f"GPU {number}")
    return replace(LOST, subject=subject, **changes)


async def test_the_beginning_and_the_end_are_told_once() -> None:
    """A fault that lasts is told once; its end is a normal Event."""
    world = _World()
    for _ in range(3):
        assert await world.step(LOST) == [("Warning", "GpuLost")]
    ended = replace(LOST, state=FaultState.CLEARED, ended=200.0)
    for faults in ((ended,), ()):
        assert (await world.step(*faults))[1:] == [("Normal", "GpuLostEnded")]
    assert world.events.asked == 2


async def test_an_event_is_about_the_node_and_names_cause_and_pod() -> None:
    """`kubectl describe node` shows it, as it has the node's name as uid."""
    cause = Cause(
        "pcie_link_down", Subject("pcie", "pcie", "p", "0000:01:00.0"), "below", "A link went down"
    )
    world = _World()
    await world.step(replace(LOST, causes=(cause,), affected=(POD,)))
    (event,) = world.events.written.values()
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Node",
        "name": "n1",
        "uid": "n1",
    }
    assert event["message"].startswith(
        "GPU 0 has gpu_lost, because a link went down. Affects GPU 0; pod ml/train-0. Since"
    )


async def test_info_is_no_warning_and_silenced_faults_are_not_told() -> None:
    """A silence during a fault is not its end."""
    world = _World()
    silence = Silence(id="1", by="ada", reason="moved", rule="gpu_lost", until=1e12)
    silent = _gpu(1, silence=silence)
    assert await world.step(fault("quiet", severity="info"), silent) == [("Normal", "Quiet")]
    assert len(await world.step(LOST, fault("quiet", severity="info"))) == 2
    assert (
        len(await world.step(replace(LOST, silence=silence), fault("quiet", severity="info"))) == 2
    )


async def test_what_cannot_be_judged_has_not_ended() -> None:
    """Nor when it is no longer shown, or is found again; without a snapshot nothing is told."""
    world = _World()
    await world.step(LOST)
    assert len(await world.step(replace(LOST, state=FaultState.UNJUDGED))) == 1
    world.snapshot = None
    await world.loop.step()
    assert len(world.events.said()) == 1
    assert len(await world.step()) == 1
    for began in (5000.0, 6000.0):
        told = await world.step(replace(LOST, since=began))
        assert {it[1] for it in told} == {"GpuLost"}
    assert (await world.step())[3:] == [("Normal", "GpuLostEnded")]


async def test_a_restart_tells_nothing_twice() -> None:
    """The Event of a beginning has one name, so that the API knows it already."""
    world = _World()
    await world.step(LOST)
    again = _World(world.events)
    assert len(await again.step(LOST)) == 1
    assert len(await again.step()) == 2
    assert len(await again.step(replace(LOST, since=5000.0))) == 3


async def test_a_clock_that_is_set_ends_no_fault() -> None:
    """A fault that goes on has not ended because its beginning has another name since."""
    world = _World()
    await world.step(LOST)
    world.snapshot = replace(snapshot(replace(LOST, since=107.3)), taken_at=8.3)
    await world.loop.step()
    assert world.events.said() == [("Warning", "GpuLost")]
    world.snapshot = replace(snapshot(), taken_at=8.3)
    await world.loop.step()
    assert world.events.said()[1:] == [("Normal", "GpuLostEnded")]


async def test_a_flood_is_bounded_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """After a burst one in five minutes, the critical first; what ended unsaid is left out."""
    world = _World()
    many = [_gpu(number, severity="warning") for number in range(100)]
    told = await world.step(*many, fault("node_gone", subject=GPU))
    assert (len(told), told[0]) == (BURST, ("Warning", "NodeGone"))
    for _ in range(9):
        await world.step(*many, fault("node_gone", subject=GPU))
    assert world.events.asked == BURST
    assert len(caplog.records) == 1
    assert len(await world.step(*many, secs=SECS_FOR_ONE)) == BURST + 1
    for _ in range(60):
        await world.step(secs=SECS_FOR_ONE)
    assert len([it for it in world.events.said() if it[1].endswith("Ended")]) == BURST + 1
    assert len(await world.step(secs=SECS_FOR_ONE)) == 2 * (BURST + 1)


async def test_refusals_are_survived_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Without the right one sentence says so, pauses grow, and a fault that lasts is told later."""
    world = _World()
    world.events.refusals = ["the API answered 403"] * 3
    for _ in range(3):
        assert await world.step(LOST) == []
    assert [it.getMessage() for it in caplog.records] == [
        "node n1: events were not written: the API answered 403"
    ]
    assert world.loop.pause_secs() == 80
    assert await world.step(LOST) == [("Warning", "GpuLost")]
    assert world.loop.pause_secs() == 10


async def test_a_dry_run_only_logs(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the Event, and the API is not asked."""
    caplog.set_level(logging.INFO)
    world = _World(dry_run=True)
    for _ in range(2):
        assert await world.step(LOST) == []
    assert world.events.asked == 0
    (record,) = caplog.records
    assert record.getMessage().endswith(": dry run")
