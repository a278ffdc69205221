"""What a snapshot says about the node, as conditions."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from exporter.collectors.everything import rule_book
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.kubernetes.conditions import (
    NodeCondition,
    Settling,
    conditions_of,
    ours,
    patch,
)
from exporter.model.silence import Silence
from exporter.model.verdict import Cause, FaultState, Subject
from tests.kubernetes.facts import GPU, fault, snapshot

NODE = Subject("node", "node", "n1", "n1")
DIMM = Subject("dimm", "memory", "A1", "DIMM A1")
FILESYSTEM = Subject("filesystem", "logical_disk", "/data", "/data")
POD = Subject("workload", "workload", "ml/train", "ml/train")


def _statuses(*conditions: NodeCondition) -> dict[str, str]:
    return {condition.kind: condition.status for condition in conditions}


def test_a_healthy_node_is_said_to_be() -> None:
    """Without faults both conditions hold."""
    said = conditions_of(snapshot())
    assert _statuses(*said) == {"GPUHealthy": "True", "HardwareHealthy": "True"}


def test_a_node_without_gpus_says_nothing_about_them() -> None:
    """A CPU node has no condition about GPUs."""
    assert _statuses(*conditions_of(snapshot(has_gpu=False))) == {"HardwareHealthy": "True"}


def test_a_gpu_fault_is_named_with_its_action() -> None:
    """A critical fault of a GPU makes both false, with the cause as the message."""
    gpus, hardware = conditions_of(snapshot(fault()))
    assert (gpus.status, hardware.status) == ("False", "False")
    assert gpus.reason == "GpuLost"
    assert gpus.message == "GPU 0 has gpu_lost. Affects GPU 0. Since 1 Jan 00:01 UTC. Reboot node"


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
        fault("pod_oom_kill", subject=POD),
        fault("node_oom_kill", subject=NODE, concerns="process"),
        fault("filesystem_full", subject=FILESYSTEM, concerns="process"),
    ],
)
def test_only_critical_faults_of_hardware_count(harmless: object) -> None:
    """Warnings, what is over and what programs do to themselves or the node change nothing."""
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


def test_a_symptom_of_a_warning_counts_with_its_cause() -> None:
    """A GPU that its slot took away is not healthy; reason and message name the slot."""
    slot = Subject("pcie", "pcie", "0000:80:01.0", "slot")
    lost = fault(causes=(Cause("pcie_link_down", slot, "upstream_of"),))
    for condition in conditions_of(snapshot(lost)):
        assert (condition.status, condition.reason) == ("False", "PcieLinkDown")
        assert "because pcie_link_down of slot" in condition.message


def test_roots_are_named_first() -> None:
    """Among several faults the reason is that of a root, however late it was seen."""
    root = replace(fault("gpu_xid_critical"), since=500.0)
    lost = fault(causes=(Cause("pcie_link_down", DIMM, "upstream_of"),))
    assert {said.reason for said in conditions_of(snapshot(lost, root))} == {"GpuXidCritical"}


def test_a_driver_that_fails_is_a_fault_of_the_gpus() -> None:
    """What the driver cannot do makes the GPUs unhealthy, also when none could be seen yet."""
    failing = fault("gpu_probe_failed", subject=NODE, concerns="gpu")
    for seen in (snapshot(failing), snapshot(failing, has_gpu=False)):
        assert _statuses(*conditions_of(seen)) == {
            "GPUHealthy": "False",
            "HardwareHealthy": "False",
        }


def test_shipped_rules_say_what_their_faults_concern() -> None:
    """A critical fault of the node from the files of GPUs concerns GPUs, one of programs them."""
    nodes = [rule for rule in rule_book().rules if rule.entity == "node"]
    critical = [rule for rule in nodes if rule.severity == "critical" or rule.escalate]
    of_gpus = [rule for rule in critical if "collectors/gpu/" in rule.file]
    assert of_gpus
    assert {rule.concerns for rule in of_gpus} == {"gpu"}
    of_programs = [rule for rule in critical if rule.layer == "process"]
    assert of_programs
    assert {rule.concerns for rule in of_programs} == {"process"}


def test_gpus_that_cannot_be_read_are_unknown() -> None:
    """When the last reading of every GPU has expired, no GPU is said to be healthy."""
    state = GpuState(Gpu(index=0, uuid="GPU-1", name="H100"), 1.0, up=False, expired=True)
    gone = replace(
        snapshot(), readings=MappingProxyType({Gpus: Gpus(GpuBackend("none", "stuck"), (state,))})
    )
    assert _statuses(*conditions_of(gone)) == {"GPUHealthy": "Unknown", "HardwareHealthy": "True"}


def test_gpus_served_from_the_cache_are_unknown_after_a_minute() -> None:
    """One pass that failed says nothing; after a minute without any no GPU is called healthy."""
    state = GpuState(Gpu(index=0, uuid="GPU-1", name="H100"), 100.0, stale=True)
    readings: dict[type, object] = {Gpus: Gpus(GpuBackend("cache", "crashes"), (state,))}
    for at, status in ((120.0, "True"), (161.0, "Unknown")):
        cached = replace(snapshot(), readings=MappingProxyType(readings), taken_boottime=at)
        assert _statuses(*conditions_of(cached))["GPUHealthy"] == status, at


def test_what_is_no_longer_known_is_said() -> None:
    """A condition from before, about GPUs that are no longer there, becomes unknown."""
    settling, both = Settling(0.0, lambda: 0.0), ("GPUHealthy", "HardwareHealthy")
    said = settling.settled(conditions_of(snapshot(has_gpu=False)), both)
    assert _statuses(*said) == {"GPUHealthy": "Unknown", "HardwareHealthy": "True"}
    said = settling.settled(conditions_of(snapshot()), both)
    assert _statuses(*said) == {"GPUHealthy": "True", "HardwareHealthy": "True"}


def test_a_silenced_fault_is_no_reason() -> None:
    """A GPU that is set aside leaves both conditions true; another fault does not."""
    quiet = replace(fault(), silence=Silence("1", 1e9, "me", "maintenance"))
    assert _statuses(*conditions_of(snapshot(quiet))) == {
        "GPUHealthy": "True",
        "HardwareHealthy": "True",
    }
    both = conditions_of(snapshot(quiet, fault("memory_uncorrected", subject=DIMM)))
    assert _statuses(*both) == {"GPUHealthy": "True", "HardwareHealthy": "False"}
    assert "gpu_lost" not in both[1].message
