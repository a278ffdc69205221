"""Builders of snapshots with faults, and a clock, for the tests of node conditions."""

from types import MappingProxyType

from exporter.collectors.everything import KINDS
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.kubernetes.writer import Present
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Fault, Subject
from tests.faults import conclusions

GPU = Subject("gpu", "gpu", "GPU-1", "GPU 0")


def fault(
    rule: str = "gpu_lost", *, subject: Subject = GPU, severity: str = "critical", **more: object
) -> Fault:
    """A fault with everything that does not matter here left plain."""
    text = f"{subject.hw_name} has {rule}"
    values: dict[str, object] = {"since": 100.0, "summary": text, "action": "reboot_node"}
    return conclusions.fault(rule, subject, severity, **{**values, **more})


def snapshot(*faults: Fault, has_gpu: bool = True) -> Snapshot:
    """A snapshot in which these faults were concluded."""
    readings: dict[type, object] = {}
    if has_gpu:
        state = GpuState(Gpu(index=0, uuid="GPU-1", name="H100"), read_boottime=1.0)
        readings[Gpus] = Gpus(backend=GpuBackend("nvml", "ok"), states=(state,))
    return Snapshot(
        node="n1",
        sequence=1,
        taken_at=1.0,
        taken_boottime=1.0,
        duration_secs=0.1,
        readings=MappingProxyType(readings),
        conclusions=Conclusions(faults=faults, namings=KINDS.traits.namings),
    )


class World:
    """A clock and a snapshot, for one loop."""

    def __init__(self, seconds: float = 1000.0) -> None:
        self.seconds = seconds
        self.snapshot: Snapshot | None = snapshot()
        self.present = Present(lambda: self.snapshot, lambda: self.seconds, lambda: self.seconds)
