"""A search: each field of each reading set to each bad value, on a node that was well before."""

import asyncio
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from exporter.collectors.everything import KINDS, rule_book
from exporter.faults.engine import RuleEngine
from exporter.model.snapshot import Snapshot
from tests.collectors.whole_node import look_around
from tests.corpus.bad_fields import changes
from tests.corpus.invariants import PATIENCE_SECS, Watch
from tests.fakes.host_tree import gpu_node
from tests.golden.node_under_test import NodeUnderTest
from tests.golden.test_bad_values import later

pytestmark = pytest.mark.system

WELL_SECS = (0, 15, 30)
ILL_SECS = (45, 60, 500, 60 + PATIENCE_SECS, 75 + PATIENCE_SECS)
LEAST_CHANGES, LEAST_SHOWN = 1000, 40
"""The readings have so many fields at least, and gauges with a bad value show so many of them."""


async def test_no_bad_value_of_a_field_is_silent(tmp_path: Path, node: NodeUnderTest) -> None:
    """Whatever field turns bad: where a gauge shows it, a fault says it."""
    well = await _well(tmp_path, node)
    before = Watch()
    known = set(before.bad(well))
    tried = shown = 0
    silent: dict[str, tuple[str, ...]] = {}
    for change, ill in changes(well):
        tried += 1
        if set(deepcopy(before).bad(ill)) - known:
            shown += 1
            if holes := tuple(_holes(well, ill)):
                silent[str(change)] = holes
    assert silent == {}
    assert tried > LEAST_CHANGES
    assert shown > LEAST_SHOWN


async def _well(folder: Path, node: NodeUnderTest) -> Snapshot:
    """Two GPUs and all that is around them, as the readers see it."""
    node.driver_is_loaded()
    await node.collect(after_secs=15)
    gpus = node.snapshot()
    tree = gpu_node(folder / "tree", gpus=2)
    tree.remove("/proc/mdstat")  # it tells of an array that has lost a disk
    around = await asyncio.to_thread(look_around, tree)
    return replace(gpus, readings=MappingProxyType({**around.readings, **gpus.readings}))


def _holes(well: Snapshot, ill: Snapshot) -> Iterator[str]:
    """Let the node be well, then ill for longer than a bad value may be without a fault."""
    engine = RuleEngine(rule_book(), KINDS, time.perf_counter, "boot")
    watch = Watch()
    for snapshot, moments in ((well, WELL_SECS), (ill, ILL_SECS)):
        for secs in moments:
            moment = later(snapshot, secs)
            watch.look(moment, engine.conclude(moment))
    yield from watch.holes
