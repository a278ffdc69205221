"""The nodes of the expected pages are judged: no value is bad on a page without a fault."""

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
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
from tests.golden.node_under_test import NodeUnderTest
from tests.golden.test_pages import NAMES, SCENARIOS

pytestmark = pytest.mark.system

STEP_SECS = 15
LONG_SECS = int(PATIENCE_SECS) + 4 * STEP_SECS


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


def judged(snapshot: Snapshot, secs: Iterable[int]) -> Iterator[tuple[Snapshot, Conclusions]]:
    """Yield the node at these seconds, and what the rules conclude."""
    engine = RuleEngine(rule_book(), KINDS, time.perf_counter, "boot")
    for passed in secs:
        moment = later(snapshot, passed)
        yield moment, engine.conclude(moment)


def _holes(snapshot: Snapshot) -> list[str]:
    """Let the node be as it is for longer than a bad value may pass without a fault."""
    watch = Watch()
    for moment, conclusions in judged(snapshot, range(0, LONG_SECS, STEP_SECS)):
        watch.look(moment, conclusions)
    assert render(FAMILIES, replace(moment, conclusions=conclusions), Format.TEXT).series
    return [*watch.holes, *watch.got_well]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
async def test_no_gauge_of_a_page_is_bad_in_silence(
    scenario: Callable[[NodeUnderTest], Awaitable[None]], node: NodeUnderTest
) -> None:
    """A GPU that is lost, a cache that has expired, a driver that is gone: each bad value is told.

    What `hw_gpu_up 0` says is a fault of that GPU, or of what its loss follows from.
    """
    await scenario(node)
    assert _holes(node.snapshot()) == []


@pytest.mark.parametrize("build", [cpu_node, gpu_node])
def test_no_gauge_of_a_node_is_bad_in_silence(
    build: Callable[[Path], HostTree], tmp_path: Path
) -> None:
    """The same for everything around the GPUs."""
    tree = build(tmp_path)
    assert _holes(look_around(tree, frozenset({"filesystem", "clock"}))) == []
