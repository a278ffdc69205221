"""What a GPU reports, by each backend, up to the metrics page and the fault, and back to well."""

import asyncio
import re
import time
from dataclasses import replace

import pytest

from exporter.collectors.everything import KINDS, rule_book
from exporter.exposition.render import Format
from exporter.faults.engine import RuleEngine
from exporter.faults.explain import Wanted
from exporter.model.snapshot import Snapshot
from exporter.reports.why import why_document
from tests.fakes.nvml_library import NvmlLibrary
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

    def __init__(self, node: NodeUnderTest) -> None:
        self._node = node
        self._engine = RuleEngine(rule_book(), KINDS, time.perf_counter, "boot")
        self.snapshot: Snapshot
        self.page = ""

    async def see(
        self, capture: str, *lines: str, backend: str = "nvidia-smi", secs: int = 150
    ) -> set[str]:
        """Read these cards for so long; gives the rules with a fault of a GPU, notes left out."""
        broken = () if backend == "nvml" else ("init = error 18",)
        self._node.nvml.say("count = 1", *lines, *broken, capture=capture)
        self._node.smi.say("count = 1", *lines, capture=capture)
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

    def values(self, family: str) -> dict[str, float]:
        """The values of a family on the page by the last label of each sample."""
        rows = re.findall(rf'^{family}{{.*"([^"]*)"}} (\S+)$', self.page, re.MULTILINE)
        return {label: float(value) for label, value in rows}

    async def woken(self) -> None:
        """Wait until a source has asked for a collection."""
        await self._node.woken.wait()

    def unknown(self) -> set[str]:
        """The rules about what a GPU reports that `/why` lists as not evaluated."""
        rows = why_document(self.snapshot, Wanted())["unknown"]
        return {rule for row in rows for rule in row["rules"]} & OF_READINGS


@pytest.fixture
def verdicts(node: NodeUnderTest) -> Verdicts:
    """A node of one GPU, well until it is told otherwise."""
    return Verdicts(node)


@pytest.mark.parametrize(
    ("ill", "condition"),
    [
        ("fabric_health_summary = 2", ""),
        ("fabric_health_summary = 3", ""),
        ("fabric_status = 999", ""),
        ("fabric_health = 0x1a9", "degraded_bandwidth"),
        ("fabric_health = 0x19a", "route_unhealthy"),
        ("fabric_health = 0x16a", "access_timeout_recovery"),
        ("fabric_health = 0x5aa", "insufficient_nvlinks"),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
async def test_each_part_of_the_health_of_the_fabric_is_a_fault(
    verdicts: Verdicts, backend: str, ill: str, condition: str
) -> None:
    """One element that is ill is a fault with either backend, and ends when it is well again."""
    assert await verdicts.see(GB200, *NEW_DRIVER, backend=backend) == set()
    assert "hw_gpu_fabric_healthy{" in verdicts.page
    assert verdicts.unknown() <= {"nvlink_down", "nvlink_errors"}
    assert await verdicts.see(GB200, *NEW_DRIVER, ill, backend=backend) == {"fabric_not_ready"}
    words = condition.replace("_", " ") or "unhealthy"
    assert verdicts.summary("fabric_not_ready").endswith(words)
    assert f'condition="{condition}"' in verdicts.page or not condition
    assert await verdicts.see(GB200, *NEW_DRIVER, backend=backend, secs=45) == set()


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
    verdicts: Verdicts, capture: str, backend: str, unknown: set[str]
) -> None:
    """`/why` lists the rules about NVLink while only nvidia-smi answers: nobody knows the links."""
    await verdicts.see(capture, backend=backend, secs=30)
    assert verdicts.unknown() == unknown


UNREPAIRABLE = "gpu_memory_unrepairable"
CLEAN = (
    *("unrepairable_memory = 1", "recovery_action = 0", "repair.channel_pending = 0"),
    *("ecc.uncorrected.volatile = 0", "ecc.uncorrected.volatile.dram = 0"),
    *("remap_banks.none = 0", "remapped_rows.failed = 0"),
)
"""A board of 2026 that sets the flag while all else is well."""


@pytest.mark.parametrize(
    "witness",
    [
        ("remapped_rows.failed = 1",),
        ("remap_banks.none = 1",),
        ("repair.channel_pending = 1",),
        ("recovery_action = 1",),
        ("ecc.uncorrected.volatile = 2", "ecc.uncorrected.volatile.dram = 2"),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
async def test_unrepairable_memory_needs_a_second_witness(
    verdicts: Verdicts, backend: str, witness: tuple[str, ...]
) -> None:
    """The flag alone is no fault, and each witness makes one that ends with the flag."""
    assert await verdicts.see(H100, *CLEAN, backend=backend, secs=60) == set()
    assert 'state="unrepairable_memory"' in verdicts.page
    assert UNREPAIRABLE in await verdicts.see(H100, *CLEAN, *witness, backend=backend, secs=60)
    assert verdicts.summary(UNREPAIRABLE).endswith(" has memory that cannot be repaired")
    well = (*CLEAN, "unrepairable_memory = 0")
    assert UNREPAIRABLE not in await verdicts.see(H100, *well, backend=backend, secs=60)


@pytest.mark.parametrize("part", ["channel", "tpc"])
@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_repair_that_waits_for_a_reset_is_a_fault(
    verdicts: Verdicts, backend: str, part: str
) -> None:
    """By either backend, for each part of the GPU; it ends when nothing waits any more."""
    well = ("repair.channel_pending = 0", "repair.tpc_pending = 0")
    assert await verdicts.see(H100, *well, backend=backend, secs=30) == set()
    ill = (*well, f"repair.{part}_pending = 1")
    assert await verdicts.see(H100, *ill, backend=backend, secs=30) == {"gpu_repair_pending"}
    assert await verdicts.see(H100, *well, backend=backend, secs=30) == set()


SRAM = tuple(
    f"sram.uncorrected_{kind}.{counter} = 0"
    for kind in ("parity", "secded")
    for counter in ("volatile", "aggregate")
)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_sram_errors_are_counted_from_zero(verdicts: Verdicts, backend: str) -> None:
    """Each kind has its series before the first error, which is a step that `increase()` sees."""
    await verdicts.see(H100, *SRAM, backend=backend, secs=30)
    for counter in ("volatile", "aggregate"):
        found = verdicts.values(f"hw_gpu_sram_ecc_{counter}_errors_total")
        assert found == {"uncorrected_parity": 0, "uncorrected_secded": 0}
    ill = (*SRAM, "sram.uncorrected_parity.volatile = 1")
    await verdicts.see(H100, *ill, backend=backend, secs=30)
    found = verdicts.values("hw_gpu_sram_ecc_volatile_errors_total")
    assert found == {"uncorrected_parity": 1, "uncorrected_secded": 0}


async def test_xids_are_counted_from_zero(verdicts: Verdicts, nvml: NvmlLibrary) -> None:
    """Each GPU has one total while NVML reports Xids; nobody knows it without NVML and log."""
    await verdicts.see(H100, secs=30)
    assert verdicts.values("hw_gpu_xids_total") == {}
    await verdicts.see(H100, backend="nvml", secs=30)
    assert list(verdicts.values("hw_gpu_xids_total").values()) == [0]
    nvml.raise_xid(31)
    await asyncio.wait_for(verdicts.woken(), 20)
    await verdicts.see(H100, backend="nvml", secs=30)
    assert list(verdicts.values("hw_gpu_xids_total").values()) == [1]
    assert verdicts.values("hw_gpu_xid_errors_total") == {"31": 1}


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_driver_requests_one_action_at_a_time(verdicts: Verdicts, backend: str) -> None:
    """One series names the requested action, whichever it is, and is gone with the request."""
    for number, action in ((0, "none"), (1, "reset"), (6, "bus_reset"), (0, "none")):
        await verdicts.see(H100, f"recovery_action = {number}", backend=backend, secs=30)
        assert verdicts.values("hw_gpu_recovery_action") == {action: 1}


MIG = (
    *("mig_mode = 1", "mig_mode_pending = 1", "mig_count_max = 7"),
    *(
        line
        for place, (instance, compute, size) in enumerate(((1, 0, 40), (1, 1, 40), (2, 0, 40)))
        for line in (
            f"device.0.mig.{place}.gpu_instance = {instance}",
            f"device.0.mig.{place}.compute_instance = {compute}",
            f"device.0.mig.{place}.uuid = MIG-{place}",
            f"device.0.mig.{place}.name = NVIDIA H100 80GB HBM3 MIG 3g.40gb",
            f"device.0.mig.{place}.memory_total = {size} GiB",
            f"device.0.mig.{place}.memory_used = {instance} GiB",
        )
    ),
)
"""An 80 GB board of two GPU instances; two compute instances share the first."""


@pytest.mark.parametrize("backend", BACKENDS)
async def test_memory_of_instances_adds_up_to_that_of_the_board(
    verdicts: Verdicts, backend: str
) -> None:
    """Memory that compute instances share is counted once, and named for none of them."""
    await verdicts.see(H100, *MIG, backend=backend, secs=30)
    assert len(verdicts.values("hw_gpu_mig_info")) == 3
    assert verdicts.values("hw_gpu_mig_memory_total_bytes") == {"": 40 << 30, "MIG-2": 40 << 30}
    assert verdicts.values("hw_gpu_mig_memory_used_bytes") == {"": 1 << 30, "MIG-2": 2 << 30}


async def test_a_lost_gpu_is_named_from_the_first_reading(verdicts: Verdicts) -> None:
    """A GPU that is lost when the exporter starts has the name that the document prints."""
    assert "gpu_lost" in await verdicts.see(H100, "smi.temperature.gpu = [GPU is lost]")
    (line,) = re.findall(r"^hw_gpu_up\{.*$", verdicts.page, re.MULTILINE)
    assert 'gpu_name="NVIDIA H100 80GB HBM3"' in line
    assert line.endswith(" 0")
    assert "gpu_lost" not in await verdicts.see(H100)
    assert re.findall(r"^hw_gpu_up\{.* 1$", verdicts.page, re.MULTILINE)


async def test_instances_without_a_name_are_still_there(verdicts: Verdicts) -> None:
    """MIG devices are shown while `nvidia-smi -L` fails, and get their names when it works."""
    await verdicts.see(H100, *MIG, "smi = exit 9 at 2", secs=15)
    assert verdicts.page.count("hw_gpu_mig_info{") == 3
    assert verdicts.values("hw_gpu_mig_info") == {"": 1}
    await verdicts.see(H100, *MIG, secs=15)
    assert verdicts.values("hw_gpu_mig_info") == {"MIG-0": 1, "MIG-1": 1, "MIG-2": 1}
