"""What a snapshot says about the node, as conditions."""

from dataclasses import replace

import pytest

from exporter.kubernetes.conditions import Condition, conditions_of, ours, patch
from exporter.model.verdict import Cause, FaultState, Subject
from tests.kubernetes.facts import GPU, fault, snapshot

DIMM = Subject("dimm", "memory", "A1", "DIMM A1")
POD = Subject("workload", "workload", "ml/train", "ml/train")


def _statuses(*conditions: Condition) -> dict[str, str]:
    return {condition.kind: condition.status for condition in conditions}


def test_a_healthy_node_is_said_to_be() -> None:
    """Without faults both conditions hold."""
    said = conditions_of(snapshot())
    assert _statuses(*said) == {"GPUHealthy": "True", "HardwareHealthy": "True"}


def test_a_node_without_gpus_says_nothing_about_them() -> None:
    """A CPU node has no condition about GPUs."""
    assert _statuses(*conditions_of(snapshot(has_gpu=False))) == {"HardwareHealthy": "True"}


def test_a_gpu_fault_is_named_with_its_action() -> None:
    """A critical root fault of a GPU makes both false, with the cause as the message."""
    gpus, hardware = conditions_of(snapshot(fault()))
    assert (gpus.status, hardware.status) == ("False", "False")
    assert gpus.reason == "GpuLost"
    assert gpus.message == "GPU 0 has gpu_lost (gpu_lost of GPU-1; do: reboot_node)"


def test_other_hardware_leaves_the_gpus_alone() -> None:
    """A DIMM's fault is about the hardware, not about its GPUs."""
    said = conditions_of(snapshot(fault("memory_uncorrected", subject=DIMM)))
    assert _statuses(*said) == {"GPUHealthy": "True", "HardwareHealthy": "False"}


@pytest.mark.parametrize(
    "harmless",
    [
        fault(severity="warning"),
        fault(severity="info"),
        fault(state=FaultState.CLEARED),
        fault(state=FaultState.UNJUDGED),
        fault(causes=(Cause("pcie_link_down", DIMM, "upstream_of"),)),
        fault("pod_oom_kill", subject=POD),
    ],
)
def test_only_critical_roots_of_hardware_count(harmless: object) -> None:
    """Warnings, symptoms, what is over and what programs do to themselves change nothing."""
    said = conditions_of(replace(snapshot(), conclusions=snapshot(harmless).conclusions))  # type: ignore[arg-type] # a fault of the list above
    assert _statuses(*said) == {"GPUHealthy": "True", "HardwareHealthy": "True"}


def test_what_was_not_judged_is_unknown() -> None:
    """Without a snapshot or conclusions the node is neither healthy nor not."""
    for nothing in (None, replace(snapshot(), conclusions=None)):
        assert _statuses(*conditions_of(nothing)) == {"HardwareHealthy": "Unknown"}


def test_messages_are_short() -> None:
    """Many faults give a message that the API takes."""
    many = [fault(subject=replace(GPU, hw_id=f"GPU-{n}", hw_name="x" * 300)) for n in range(16)]
    for condition in conditions_of(snapshot(*many)):
        assert len(condition.message) <= 1000


def test_the_time_of_the_last_change_is_kept() -> None:
    """A status that stays keeps its lastTransitionTime; one that changes gets a new one."""
    conditions = conditions_of(snapshot(fault("memory_uncorrected", subject=DIMM)))
    before = {
        kind: {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for kind in ("GPUHealthy", "HardwareHealthy")
    }
    entries = patch(conditions, before, "2026-02-02T00:00:00Z")["status"]["conditions"]
    times = {item["type"]: item["lastTransitionTime"] for item in entries}
    assert times == {
        "GPUHealthy": "2026-01-01T00:00:00Z",
        "HardwareHealthy": "2026-02-02T00:00:00Z",
    }
    assert {item["lastHeartbeatTime"] for item in entries} == {"2026-02-02T00:00:00Z"}


def test_conditions_of_others_are_not_touched() -> None:
    """A patch holds our two types only, whatever the node has."""
    node = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert ours(node) == {}
    entries = patch(conditions_of(snapshot()), ours(node), "now")["status"]["conditions"]
    assert {item["type"] for item in entries} == {"GPUHealthy", "HardwareHealthy"}
