"""Rules about GPUs hold for cards of other vendors: what their files say is the same fault."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.collectors.everything import KINDS, rule_book
from exporter.collectors.gpu.values import Gpus
from exporter.faults.engine import RuleEngine
from exporter.model.snapshot import Snapshot
from tests.collectors.vendors.vendor_node import VendorNode
from tests.fakes.amd_cards import AmdNode, metrics_v1_3
from tests.fakes.intel_cards import XE_CARD, IntelNode
from tests.fakes.virtual_time import run_virtually

CARD = "0000:83:00.0"
HWMON = "hwmon/hwmon7"
STEP_SECS = 15.0
BUSY = {"gpu_busy_percent": "90\n"}

Files = dict[str, str | bytes | None]

CHANGES: tuple[tuple[str, Files], ...] = (
    ("gpu_overheat", {f"{HWMON}/temp2_input": "99000\n"}),
    ("gpu_memory_overheat", {f"{HWMON}/temp3_input": "93000\n"}),
    ("gpu_thermal_throttle", {"gpu_metrics": metrics_v1_3(1 << 47)}),
    (
        "gpu_thermal_slowdown",
        {"gpu_metrics": metrics_v1_3(1 << 36), f"{HWMON}/temp2_input": "93000\n"},
    ),
    ("gpu_power_limit_low", {f"{HWMON}/power1_cap": "200000000\n"}),
    ("gpu_fan_stopped", {f"{HWMON}/pwm1": "0\n", f"{HWMON}/temp1_input": "80000\n", **BUSY}),
    ("gpu_pcie_link_degraded", {"current_link_width": "8\n"}),
    ("gpu_ecc_uncorrected", {"ras/umc_err_count": "ue: 2\nce: 3\n"}),
    ("gpu_ecc_corrected_rate", {"ras/gfx_err_count": "ue: 0\nce: 50\n"}),
    ("gpu_pages_retired", {"ras/gpu_vram_bad_pages": "0x00000003 : 0x00001000 : P\n"}),
    ("gpu_memory_pressure", {"mem_info_vram_used": "34000000000\n"}),
    ("gpu_lost", {"config": b"\xff" * 64}),
)
"""A rule, and the files of a card of AMD that change."""


def faults(sys_root: Path, change: Callable[[], object], steps: int = 30) -> set[str]:
    """The faults of the node after the change, without those that it had before."""

    async def scenario() -> set[str]:
        node = VendorNode(sys_root)
        engine = RuleEngine(rule_book(), KINDS, time.perf_counter, "boot")
        before: set[str] = set()
        after: set[str] = set()
        for step in range(2 * steps):
            if step == steps:
                change()
            now = 1000.0 + (step + 1) * STEP_SECS
            gpus = await node.read(after_secs=STEP_SECS)
            active = engine.conclude(Snapshot("n", step, now, now, 0.0, {Gpus: gpus})).active
            found = {fault.rule for fault in active}
            before, after = (before | found, after) if step < steps else (before, after | found)
        assert before == set()
        return after

    return run_virtually(scenario())


@pytest.mark.parametrize(("rule", "files"), CHANGES)
def test_a_card_of_amd_has_the_faults_of_any_gpu(tmp_path: Path, rule: str, files: Files) -> None:
    """What is physically the same is the same rule; a card that is well has no fault."""
    node = AmdNode(tmp_path / "sys")
    node.card(CARD, {"gpu_metrics": metrics_v1_3(0), f"{HWMON}/pwm1": "100\n"})
    assert rule in faults(node.sys, lambda: node.card(CARD, files))


def test_a_board_without_a_fan_has_no_stopped_one(tmp_path: Path) -> None:
    """Passive Instinct boards show the files of a fan with 0 in them (MI25, MI50, MI100)."""
    node = AmdNode(tmp_path / "sys")
    node.card(CARD, {"gpu_metrics": metrics_v1_3(0), f"{HWMON}/pwm1": "0\n"})
    hot = {f"{HWMON}/temp1_input": "80000\n", **BUSY}
    assert faults(node.sys, lambda: node.card(CARD, hot)) == set()


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        ("gpu_overheat", {"hwmon/hwmon4/temp2_input": "104000\n"}),
        ("gpu_thermal_throttle", {"tile0/gt0/freq0/throttle/reason_prochot": "1\n"}),
        ("gpu_pcie_link_degraded", {"current_link_width": "4\n"}),
    ],
)
def test_a_card_of_intel_has_the_faults_of_any_gpu(
    tmp_path: Path, rule: str, files: dict[str, str]
) -> None:
    """The same for xe."""
    node = IntelNode(tmp_path / "sys")
    node.card("xe", CARD, {**XE_CARD, "hwmon/hwmon4/power1_max": "200000000\n"})
    assert rule in faults(node.sys, lambda: node.card("xe", CARD, files))
