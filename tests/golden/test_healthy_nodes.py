"""Described nodes that are well: an hour of them makes no fault that somebody must look at."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.collectors.everything import KINDS, rule_book
from exporter.faults.engine import RuleEngine
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Fault
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.golden.node_under_test import NodeUnderTest

pytestmark = pytest.mark.system

STEP_SECS = 30
HOUR_SECS = 3600
DESCRIBED_DEFECTS = {
    "a100_mig": {"gpu_row_remap_pending"},
    "t4": {"gpu_pages_retired", "gpu_pcie_link_degraded"},  # on half of its lanes
}
"""What was not well with some of the described cards."""


def found_in_an_hour(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    """Rule, severity and summary of each fault, when nothing changes for an hour."""
    rule_engine = RuleEngine(rule_book(), KINDS, time.perf_counter, "boot")
    faults: dict[str, Fault] = {}
    for passed in range(0, HOUR_SECS, STEP_SECS):
        later = replace(
            snapshot,
            taken_at=snapshot.taken_at + passed,
            taken_boottime=snapshot.taken_boottime + passed,
        )
        faults.update({fault.rule: fault for fault in rule_engine.conclude(later).active})
    return [(fault.rule, fault.severity, fault.summary) for fault in faults.values()]


@pytest.mark.parametrize(
    "capture",
    [
        *("a100_mig", "gb10", "gb200", "gtx_770"),
        *("h100x8", "laptop", "t4", "vgpu"),
    ],
)
async def test_a_healthy_node_is_silent(
    tmp_path: Path, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi, capture: str
) -> None:
    """MIG, cards without ECC, fan, NVLink or memory of their own, idle clocks: all is well."""
    node = NodeUnderTest(tmp_path, nvml, nvidia_smi)
    nvml.say(capture=f"{capture}.scenario")
    node.marker.touch()
    await node.collect()
    snapshot = node.snapshot()
    await node.close()
    found = found_in_an_hour(snapshot)
    assert {rule for rule, severity, _ in found if severity != "info"} == DESCRIBED_DEFECTS.get(
        capture, set()
    )


async def test_a_node_without_gpus_is_silent(
    tmp_path: Path, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi
) -> None:
    """Where there is no GPU and no driver, no rule about them says anything."""
    node = NodeUnderTest(tmp_path, nvml, nvidia_smi)
    await node.collect()
    snapshot = node.snapshot()
    await node.close()
    assert found_in_an_hour(snapshot) == []
