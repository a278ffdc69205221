"""Every rule the whole way: from the seams of a node to the fault, and back to well."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from exporter.collectors.everything import rule_book
from exporter.faults.events.query import Events
from exporter.faults.expr.syntax import Window, walk
from exporter.faults.rules.rule import Rule
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Fault
from tests.corpus.invariants import PATIENCE_SECS, Watch
from tests.fakes.host_tree import HostTree
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.scenes.scene import INTERVAL_SECS, Change, Scene, scenes
from tests.scenes.stage import (
    GPUS,
    LONG_SECS,
    PROGRAMS,
    SPARSE_SECS,
    Stage,
    healthy_node,
)
from tests.scenes.table import YES, cell

SCENES = scenes()
RULES = {rule.id: rule for rule in rule_book().rules}
RETRIES = 20
"""Looks until a program that tries again has seen the repair."""
pytestmark = pytest.mark.slow
ACT_OF = {
    "test_it_begins_stays_over_a_restart_and_ends": "begins",
    "test_it_is_there_since_the_start": "since_start",
    "test_its_twin_is_silent": "twin",
    "test_nvidia_smi_alone_says_it_too": "smi",
}
"""Which act of a scene each test plays."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play all scenes if that is asked for, else those that start no process.

    What a scene cannot show is not played: the table has the reason.
    """
    if "scene" not in metafunc.fixturenames:
        return
    act = ACT_OF[metafunc.function.__name__]
    is_all = metafunc.config.getoption("--all-scenes")
    played = (scene for scene in SCENES if is_all or not scene.gpus)
    system = pytest.mark.system
    rows = [
        pytest.param(each, id=each.id, marks=system if starts_processes(each) else ())
        for each in played
        if act == "begins" or cell(each, act) == YES
    ]
    metafunc.parametrize("scene", rows)


def starts_processes(scene: Scene) -> bool:
    """Tell whether a scene has the driver's programs, or one of its own."""
    changes = (scene.node, scene.ill, scene.twin or Change())
    return scene.gpus or any(path.startswith(PROGRAMS) for it in changes for path in it.files)


@pytest.fixture(scope="session")
def nodes() -> Iterator[Callable[[int], HostTree]]:
    """The files of a node with so many GPUs, which stages use one after the other."""
    with TemporaryDirectory() as folder:
        yield cache(lambda gpus: healthy_node(Path(folder, str(gpus)), gpus))


@pytest.fixture
async def stage(
    short_path: Path,
    nvml: NvmlLibrary,
    nvidia_smi: NvidiaSmi,
    nodes: Callable[[int], HostTree],
    scene: Scene,
) -> AsyncIterator[Stage]:
    """A node that is well; where no scene is about GPUs, it has two: the others cost time."""
    found = Stage(short_path, nvml, nvidia_smi, nodes(GPUS if scene.gpus else 2))
    yield found
    await found.stop()
    found.close()


def _window_secs(rule: Rule) -> float:
    """Return within how many seconds a rule sees that the node is well."""
    conditions = [rule.clear] if rule.clear else [rule.when]
    windows = [
        node.secs if isinstance(node, Window) else node.within_secs or 0.0
        for condition in conditions
        for node in walk(condition.tree)
        if isinstance(node, (Window, Events))
    ]
    return max(windows, default=0.0) + 2 * INTERVAL_SECS


def assert_true(watch: Watch) -> None:
    """Check what holds on every page: no bad value without a word, no word without its evidence."""
    assert not watch.holes
    assert not watch.untrue
    assert not watch.got_well


class Acts:
    """One scene on a stage."""

    def __init__(self, stage: Stage, scene: Scene) -> None:
        self.stage, self.scene = stage, scene

    async def fault(self, change: Change, secs: float) -> Fault | None:
        """The fault of the rule once it is active, looked for so many seconds."""
        scene, is_still = self.scene, not (change.grows or change.nvml_grows)
        looks = int(secs / scene.interval) + 2
        pause = scene.pause if change is scene.ill else 0.0
        for number in range(1, looks):
            await asyncio.sleep(pause)
            self.stage.grow(change, number)
            if fault := await self.now():
                return fault
            if is_still and number == scene.looks and not (pause or scene.watched):
                waited = await self.stage.wait((looks - number) * scene.interval)
                return self.of_rule(waited) or await self.now()
        return None

    async def now(self) -> Fault | None:
        """The fault of the rule if it is active at the next look."""
        return self.of_rule(await self.stage.look())

    def of_rule(self, snapshot: Snapshot) -> Fault | None:
        """The fault of the rule if it is active in this snapshot."""
        assert snapshot.conclusions is not None
        for fault in snapshot.conclusions.active:
            if fault.rule == self.scene.rule and self.scene.about in fault.subject.hw_id:
                return fault
        return None

    async def ends(self) -> None:
        """Repair the node: the fault has to end now."""
        await self.stage.repair(self.scene.ill, self.scene.well)
        rule = RULES[self.scene.rule]
        seen_secs = _window_secs(rule) + self.scene.late
        clear_secs = rule.clear_for_secs + 2 * INTERVAL_SECS
        looks = self.scene.looks
        if self.scene.watched:
            looks += int((seen_secs + clear_secs) / self.scene.interval)
        for _ in range(RETRIES if self.scene.pause else 1):
            await asyncio.sleep(self.scene.pause)
            for _ in range(looks):
                last = await self.stage.look()
            if not self.scene.watched:
                await self.stage.wait(seen_secs, SPARSE_SECS)
                last = await self.stage.wait(clear_secs, SPARSE_SECS)
            if self.of_rule(last) is None:
                return
        raise AssertionError(f"{self.scene.rule} does not end")

    async def is_well(self) -> None:
        """Look at the node as it is before the scene, for minutes: nothing is said of it."""
        for _ in range(self.scene.looks):
            await self.stage.look()
        conclusions = (await self.stage.wait(LONG_SECS, SPARSE_SECS)).conclusions
        if conclusions is not None and "begins" not in self.scene.cannot:
            assert [f"{it.rule}: {it.summary}" for it in conclusions.active] == []

    async def begins(self) -> Fault:
        """The fault, which has to begin now."""
        await self.stage.change(self.scene.ill)
        fault = await self.fault(self.scene.ill, self.scene.within)
        assert fault is not None, f"{self.scene.rule} does not begin"
        assert fault.severity == (self.scene.severity or RULES[fault.rule].severity)
        assert self.scene.says in fault.summary
        assert fault.root.rule == (self.scene.root or fault.root.rule)
        return fault


async def test_it_begins_stays_over_a_restart_and_ends(stage: Stage, scene: Scene) -> None:
    """A node that was well becomes ill, the exporter is restarted, the node is repaired."""
    acts = Acts(stage, scene)
    stage.stand(scene.node)
    if "begins" in scene.cannot:
        await stage.change(scene.ill)
    await stage.start(scene)
    await acts.is_well()
    await acts.begins()
    if "restart" not in scene.cannot:
        await stage.stop()
        await stage.start(scene)
        assert await acts.fault(scene.ill, scene.within) is not None, "after a restart"
    if "end" not in scene.cannot:
        await acts.ends()
    assert_true(stage.watch)


async def test_it_is_there_since_the_start(stage: Stage, scene: Scene) -> None:
    """The exporter starts on a node that is ill."""
    acts = Acts(stage, scene)
    stage.stand(scene.node)
    await stage.change(scene.ill)
    await stage.start(scene)
    assert await acts.fault(scene.ill, scene.within) is not None
    await stage.wait(PATIENCE_SECS + SPARSE_SECS, dense_secs=0.0)
    assert_true(stage.watch)


async def test_its_twin_is_silent(stage: Stage, scene: Scene) -> None:
    """What is nearest to the fault and healthy raises none."""
    assert scene.twin is not None, f"{scene.rule} has no twin"
    twin = scene.twin
    acts = Acts(stage, scene)
    stage.stand(scene.node)
    if scene.twin_was_before:
        await stage.change(twin)
    await stage.start(scene)
    await stage.look()
    if not scene.twin_was_before:
        await stage.change(twin)
    assert await acts.fault(twin, scene.within) is None


async def test_nvidia_smi_alone_says_it_too(stage: Stage, scene: Scene) -> None:
    """The node is ill, and nvidia-smi is the only way to see it."""
    acts = Acts(stage, scene)
    stage.stand(scene.node)
    await stage.start(scene, {"gpu": {"backend": "nvidia-smi"}})
    await acts.is_well()
    await acts.begins()
