"""The loop that keeps the conditions: when it writes, and what it does when it may not."""

import copy
import logging
from dataclasses import replace
from typing import Any

import pytest

from exporter.clock import rfc3339
from exporter.config import NodeConditions
from exporter.kubernetes.api import NodeApi
from exporter.kubernetes.loop import ConditionsLoop
from exporter.model.snapshot import Snapshot
from exporter.outgoing import RequestFailed
from tests.kubernetes.facts import World, fault, snapshot

HEALTHY, BROKEN = snapshot(), snapshot(fault())


class _Node(NodeApi):
    """A node that merges patches by condition type, as the API does; may refuse."""

    def __init__(self) -> None:
        self.conditions: dict[str, dict[str, Any]] = {"Ready": {"type": "Ready"}}
        self.patches: list[dict[str, Any]] = []
        self.refusals: list[str] = []

    async def patch(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.refusals:
            raise RequestFailed(self.refusals.pop(0))
        for condition in body["status"].get("conditions", ()):
            self.conditions[condition["type"]] = condition
        if "conditions" in body["status"]:
            self.patches.append(copy.deepcopy(body))
        return {"status": {"conditions": list(self.conditions.values())}}

    def status(self, kind: str) -> Any:
        return self.conditions.get(kind, {}).get("status")


class _World(World):
    """A loop with its node."""

    def __init__(self, node: _Node | None = None, *, dry_run: bool = False) -> None:
        super().__init__()
        self.node = node or _Node()
        settings = NodeConditions(enabled=True, dry_run=dry_run)
        self.loop = ConditionsLoop(settings, "n1", self.present, self.node)

    def restarted(self) -> "_World":
        """The same node with a new process, a second later."""
        again = _World(self.node)
        again.seconds = self.seconds + 1
        return again

    async def step(self, snapshot: Snapshot | None) -> None:
        self.snapshot = snapshot
        self.seconds += 10
        await self.loop.step()


async def test_conditions_are_set_updated_and_cleared(caplog: pytest.LogCaptureFixture) -> None:
    """A fault turns the conditions false and its end turns them true; each write is logged."""
    caplog.set_level(logging.INFO)
    world = _World()
    await world.step(HEALTHY)
    await world.step(BROKEN)
    assert world.node.status("GPUHealthy") == "False"
    await world.step(HEALTHY)
    assert world.node.status("GPUHealthy") == "True"
    assert world.node.conditions["GPUHealthy"]["lastTransitionTime"] == rfc3339(1030)
    assert world.node.conditions["Ready"] == {"type": "Ready"}
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 6
    assert said[2] == (
        "node n1: condition GPUHealthy=False (GpuLost: GPU 0 has gpu_lost. "
        "Affects GPU 0. Since 1 Jan 00:01 UTC. Reboot node): written"
    )


async def test_nothing_new_is_not_written(caplog: pytest.LogCaptureFixture) -> None:
    """What has not changed is written every five minutes only, and not logged again."""
    caplog.set_level(logging.INFO)
    world = _World()
    for _ in range(61):
        await world.step(HEALTHY)
    assert len(world.node.patches) == 3
    assert len(caplog.records) == 2
    times = {item["lastTransitionTime"] for item in world.node.conditions.values() if len(item) > 1}
    assert times == {rfc3339(1010)}


async def test_a_dry_run_writes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The log says once what would be written, and the node stays as it is."""
    caplog.set_level(logging.INFO)
    world = _World(dry_run=True)
    for seen in (BROKEN, BROKEN, HEALTHY):
        await world.step(seen)
    assert world.node.patches == []
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == ["dry run"] * 4


async def test_refusals_are_survived(caplog: pytest.LogCaptureFixture) -> None:
    """Errors and conflicts are logged once each, waited for longer and longer, and then over."""
    world = _World()
    world.node.refusals = ["409 Conflict", "409 Conflict", "500 Internal Server Error"]
    pauses = []
    for _ in range(4):
        pauses.append(world.loop.pause_secs())
        await world.step(BROKEN)
    assert pauses == [10, 20, 40, 80]
    assert world.loop.pause_secs() == 10
    assert world.node.status("GPUHealthy") == "False"
    assert len(caplog.records) == 2


async def test_after_a_refusal_the_node_is_read_again() -> None:
    """What somebody else wrote meanwhile is taken for what it is: the time of a change stays."""
    world = _World()
    await world.step(HEALTHY)
    world.node.refusals = ["409 Conflict"]
    await world.step(BROKEN)
    theirs = {"type": "GPUHealthy", "status": "False", "lastTransitionTime": "at 7"}
    world.node.conditions["GPUHealthy"] = theirs
    await world.step(BROKEN)
    assert world.node.conditions["GPUHealthy"]["lastTransitionTime"] == "at 7"


async def test_pauses_are_bounded() -> None:
    """However often the API refuses, it is asked again within five minutes."""
    world = _World()
    world.node.refusals = ["401 Unauthorized"] * 50
    for _ in range(50):
        await world.step(BROKEN)
    assert world.loop.pause_secs() == 300


async def test_a_restart_keeps_the_time_of_the_last_change() -> None:
    """A new process reads what the node has before it writes."""
    world = _World()
    await world.step(BROKEN)
    await world.restarted().step(BROKEN)
    assert world.node.conditions["GPUHealthy"]["lastTransitionTime"] == rfc3339(1010)


async def test_a_silent_node_becomes_unknown() -> None:
    """When nothing was read lately, the hardware is no longer said to be healthy."""
    world = _World()
    await world.step(HEALTHY)
    await world.step(None)
    assert world.node.status("HardwareHealthy") == "Unknown"


async def test_a_restart_does_not_make_a_node_healthy() -> None:
    """A False stays for three minutes after a restart, as faults take time to be seen again."""
    world = _World()
    await world.step(BROKEN)
    again = world.restarted()
    for seen in (None, snapshot(has_gpu=False), *[HEALTHY] * 14):
        await again.step(seen)
        assert world.node.status("GPUHealthy") == "False"
        assert world.node.conditions["GPUHealthy"]["lastTransitionTime"] == rfc3339(1010)
    assert len(world.node.patches) == 2
    for _ in range(2):
        await again.step(HEALTHY)
    assert world.node.status("GPUHealthy") == "True"


async def test_a_fault_seen_again_ends_when_it_ends() -> None:
    """Once the new process has seen the fault itself, the end of the fault is written at once."""
    world = _World()
    await world.step(BROKEN)
    again = world.restarted()
    for seen in (HEALTHY, BROKEN, HEALTHY):
        await again.step(seen)
    assert world.node.status("GPUHealthy") == "True"


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_measured_value_in_a_message_is_no_news(
    dry_run: bool,  # noqa: FBT001 - a parameter of the test
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A fault that names a temperature is written once a minute, another fault at once."""
    caplog.set_level(logging.INFO)
    world = _World(dry_run=dry_run)
    for celsius in range(12):
        await world.step(snapshot(replace(fault("board_too_hot"), summary=f"{celsius} °C")))
    assert len(caplog.records) == 2 * 2
    await world.step(BROKEN)
    assert len(caplog.records) == 2 * 3
    assert len(world.node.patches) == (0 if dry_run else 3)
