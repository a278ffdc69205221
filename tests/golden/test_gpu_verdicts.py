"""What a GPU reports, by each backend, up to the metrics page and the fault, and back to well."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.collectors.everything import KINDS, rule_book
from exporter.exposition.render import Format
from exporter.faults.engine import RuleEngine
from exporter.model.snapshot import Snapshot
from exporter.reports.why import Wanted, why_document
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.golden.node_under_test import NodeUnderTest

pytestmark = pytest.mark.system

GB200 = "gb200.scenario"
H100 = "h100x8.scenario"
NEW_DRIVER = ("driver_version = 580.173.02", "smi.unknown_fields = ", "fabric_health = 0x1aa")
"""A driver whose document sums up the health of the fabric; every condition is well."""

OF_READINGS = {"nvlink_down", "nvlink_errors", "fabric_not_ready", "gpu_memory_pressure"}
"""Rules without events, which no kernel log is needed for."""

BACKENDS = ("nvml", "nvidia-smi")


class Verdicts:
    """A node with the default configuration and the rules that judge it."""

    def __init__(self, node: NodeUnderTest, nvml: NvmlLibrary, smi: NvidiaSmi) -> None:
        self._node = node
        self._nvml = nvml
        self._smi = smi
        self._engine = RuleEngine(rule_book(), KINDS, time.perf_counter, "boot")
        self.snapshot: Snapshot
        self.page = ""

    async def see(
        self, capture: str, *lines: str, backend: str = "nvidia-smi", secs: int = 150
    ) -> set[str]:
        """Read these cards for so long; gives the rules with a fault of a GPU, notes left out."""
        broken = () if backend == "nvml" else ("init = error 18",)
        self._nvml.say("count = 1", *lines, *broken, capture=capture)
        self._smi.say("count = 1", *lines, capture=capture)
        self._node.marker.touch()
        for _ in range(0, secs, 15):
            await self._node.collect(after_secs=15)
            conclusions = self._engine.conclude(self._node.snapshot())
            self.snapshot = replace(self._node.snapshot(), conclusions=conclusions)
        self.page = self._node.page(Format.TEXT)
        assert f'backend="{backend}"' in self.page
        of_gpus = (fault for fault in conclusions.active if fault.subject.kind == "gpu")
        return {fault.rule for fault in of_gpus if fault.severity != "info"}

    def summary(self, rule: str) -> str:
        """The sentence of the fault of this rule."""
        assert self.snapshot.conclusions is not None
        return next(f.summary for f in self.snapshot.conclusions.active if f.rule == rule)

    def unknown(self) -> set[str]:
        """The rules about what a GPU reports that `/why` lists as not evaluated."""
        rows = why_document(self.snapshot, Wanted())["unknown"]
        return {rule for row in rows for rule in row["rules"]} & OF_READINGS


@pytest.fixture
async def node(tmp_path: Path, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi) -> AsyncIterator[Verdicts]:
    """A node of one GPU, well until it is told otherwise."""
    under_test = NodeUnderTest(tmp_path, nvml, nvidia_smi)
    yield Verdicts(under_test, nvml, nvidia_smi)
    await under_test.close()


@pytest.mark.parametrize(
    ("ill", "condition"),
    [
        ("fabric_health_summary = 2", ""),
        ("fabric_health_summary = 3", ""),
        ("fabric_status = 999", ""),
        ("fabric_health = 0x1a9", "degraded_bandwidth"),
        ("fabric_health = 0x19a", "route_unhealthy"),
        ("fabric_health = 0x16a", "access_timeout_recovery"),
        ("fabric_health = 0x5aa", "configuration"),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
async def test_each_part_of_the_health_of_the_fabric_is_a_fault(
    node: Verdicts, backend: str, ill: str, condition: str
) -> None:
    """One element that is ill is a fault with either backend, and ends when it is well again."""
    assert await node.see(GB200, *NEW_DRIVER, backend=backend) == set()
    assert "hw_gpu_fabric_healthy{" in node.page
    assert node.unknown() <= {"nvlink_down", "nvlink_errors"}
    assert await node.see(GB200, *NEW_DRIVER, ill, backend=backend) == {"fabric_not_ready"}
    words = condition.replace("_", " ") or "unhealthy"
    assert node.summary("fabric_not_ready").endswith(f": {words}")
    assert f'condition="{condition}"' in node.page or not condition
    assert await node.see(GB200, *NEW_DRIVER, backend=backend, secs=45) == set()


@pytest.mark.parametrize(
    ("capture", "backend", "unknown"),
    [
        (GB200, "nvml", set()),
        (H100, "nvml", set()),
        (GB200, "nvidia-smi", {"nvlink_down", "nvlink_errors"}),
        (H100, "nvidia-smi", {"nvlink_down", "nvlink_errors", "fabric_not_ready"}),
        ("t4.scenario", "nvml", set()),
    ],
)
async def test_what_a_backend_cannot_tell_is_unknown(
    node: Verdicts, capture: str, backend: str, unknown: set[str]
) -> None:
    """`/why` lists the rules about NVLink while only nvidia-smi answers: nobody knows the links."""
    await node.see(capture, backend=backend, secs=30)
    assert node.unknown() == unknown
