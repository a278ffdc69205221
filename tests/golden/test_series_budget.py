"""How many series a node full of GPUs, links and workloads has by default."""

import re
from collections import Counter
from dataclasses import replace
from types import MappingProxyType

import pytest

from exporter.collectors.everything import FAMILIES, live_families
from exporter.collectors.gpu.values import Gpus
from exporter.collectors.workloads.values import GpuTotals, Workload, Workloads, WorkloadUse
from exporter.config import Config
from exporter.exposition.page import Moment
from exporter.exposition.render import Format, render
from tests.golden.node_under_test import NodeUnderTest

pytestmark = pytest.mark.system

PER_GPU = 120
WORKLOADS = 16


def _workloads(gpus: Gpus) -> Workloads:
    """Two workloads on each GPU, of which everything is known."""
    uuids = [state.gpu.uuid for state in gpus.states]
    uses = tuple(
        WorkloadUse(
            uuids[n % len(uuids)], Workload("ml", f"train-{n}", "main"), 1, 2, 3.0, 4.0, 5.0
        )
        for n in range(WORKLOADS)
    )
    return Workloads("ok", 1.0, uses, totals=tuple(GpuTotals(uuid, 1, 2.0, 3.0) for uuid in uuids))


async def test_series_for_each_gpu(node: NodeUnderTest) -> None:
    """Eight GPUs with NVLink, profiling, every value and sixteen workloads: 120 each at most."""
    node.nvml.say(capture="h100x8.scenario")
    node.marker.touch()
    await node.collect()
    await node.collect(after_secs=15)
    snapshot = node.snapshot()
    gpus = snapshot.reading(Gpus)
    assert gpus is not None
    readings = {**snapshot.readings, Workloads: _workloads(gpus)}
    full = replace(snapshot, readings=MappingProxyType(readings))
    live = live_families(Moment(boottime=node.boottime))
    off = Config().families_off()
    shown = [family for family in (*FAMILIES, *live) if family.name not in off]
    page = render(shown, full, Format.TEXT).body.decode()
    assert "hw_gpu_activity_ratio" in page
    assert "hw_gpu_workload_info" in page
    by_gpu = Counter(re.findall(r'^hw_.*gpu_uuid="([^"]+)"', page, re.MULTILINE))
    assert len(by_gpu) == 8
    assert max(by_gpu.values()) <= PER_GPU
