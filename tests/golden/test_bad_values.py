"""The nodes of the expected pages are judged: no value is bad on a page without a fault."""

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.collectors.everything import FAMILIES, KINDS, rule_book
from exporter.collectors.gpu.values import Gpus
from exporter.exposition.render import Format, render
from exporter.faults.engine import RuleEngine
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from tests.collectors.whole_node import look_around
from tests.corpus.invariants import PATIENCE_SECS, Watch
from tests.fakes.host_tree import HostTree, cpu_node, gpu_node
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.golden.node_under_test import NodeUnderTest
from tests.golden.test_pages import NAMES, SCENARIOS, Stage

pytestmark = pytest.mark.system

STEP_SECS = 15


def later(snapshot: Snapshot, secs: float) -> Snapshot:
    """Return the same node so much later: read again where it was read, as old where it was not."""
    readings = dict(snapshot.readings)
    gpus = snapshot.reading(Gpus)
    if gpus is not None:
        states = (
            replace(
                state,
                read_boottime=state.read_boottime + secs,
                dynamic_expires=state.dynamic_expires and state.dynamic_expires + secs,
                expires=state.expires and state.expires + secs,
            )
            if state.up and not state.stale
            else state
            for state in gpus.states
        )
        readings[Gpus] = replace(gpus, states=tuple(states))
    moved = replace(
        snapshot,
        taken_at=snapshot.taken_at + secs,
        taken_boottime=snapshot.taken_boottime + secs,
        readings=readings,
    )
    return moved.at(moved.taken_boottime)


def _judged(snapshot: Snapshot) -> Iterator[tuple[Snapshot, Conclusions]]:
    """Yield the node as it is for longer than a bad value may pass without a fault."""
    engine = RuleEngine(rule_book(), KINDS, time.perf_counter, "boot")
    for secs in range(0, int(PATIENCE_SECS) + 4 * STEP_SECS, STEP_SECS):
        moment = later(snapshot, secs)
        yield moment, engine.conclude(moment)


def _holes(snapshot: Snapshot) -> list[str]:
    watch = Watch()
    for moment, conclusions in _judged(snapshot):
        watch.look(moment, conclusions)
    assert render(FAMILIES, replace(moment, conclusions=conclusions), Format.TEXT).series
    return [*watch.holes, *watch.got_well]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
async def test_no_gauge_of_a_page_is_bad_in_silence(
    scenario: Callable[[Stage], Awaitable[None]],
    tmp_path: Path,
    nvml: NvmlLibrary,
    nvidia_smi: NvidiaSmi,
) -> None:
    """A GPU that is lost, a cache that has expired, a driver that is gone: each bad value is told.

    What `hw_gpu_up 0` says is a fault of that GPU, or of what its loss follows from.
    """
    node = NodeUnderTest(tmp_path, nvml, nvidia_smi)
    await scenario(Stage(node, nvml, nvidia_smi))
    snapshot = node.snapshot()
    await node.close()
    assert _holes(snapshot) == []


@pytest.mark.parametrize("build", [cpu_node, gpu_node])
def test_no_gauge_of_a_node_is_bad_in_silence(
    build: Callable[[Path], HostTree], tmp_path: Path
) -> None:
    """The same for everything around the GPUs."""
    tree = build(tmp_path)
    assert _holes(look_around(tree, frozenset({"filesystem", "clock"}))) == []
