"""Described nodes that are well: an hour of them makes no fault that somebody must look at."""

import pytest

from exporter.model.snapshot import Snapshot
from tests.golden.node_under_test import NodeUnderTest
from tests.golden.test_bad_values import judged

pytestmark = pytest.mark.system

STEP_SECS = 30
HOUR_SECS = 3600
DESCRIBED_DEFECTS = {
    "a100_mig": {"gpu_row_remap_pending"},
    "t4": {"gpu_pages_retired", "gpu_pcie_link_degraded"},  # on half of its lanes
}
"""What was not well with some of the described cards."""


def found_in_an_hour(snapshot: Snapshot) -> set[str]:
    """The rules with a fault that somebody must look at, when nothing changes for an hour."""
    faults = (
        fault
        for _, conclusions in judged(snapshot, range(0, HOUR_SECS, STEP_SECS))
        for fault in conclusions.active
    )
    return {fault.rule for fault in faults if fault.severity != "info"}


@pytest.mark.parametrize(
    "capture",
    [
        *("a100_mig", "gb10", "gb200", "gtx_770"),
        *("h100x8", "laptop", "t4", "vgpu"),
    ],
)
async def test_a_healthy_node_is_silent(node: NodeUnderTest, capture: str) -> None:
    """MIG, cards without ECC, fan, NVLink or memory of their own, idle clocks: all is well."""
    node.nvml.say(capture=f"{capture}.scenario")
    node.marker.touch()
    await node.collect()
    assert found_in_an_hour(node.snapshot()) == DESCRIBED_DEFECTS.get(capture, set())


async def test_a_node_without_gpus_is_silent(node: NodeUnderTest) -> None:
    """Where there is no GPU and no driver, no rule about them says anything."""
    await node.collect()
    assert found_in_an_hour(node.snapshot()) == set()
