"""A made-up node on which something is broken, with names that want to be more than text."""

from dataclasses import replace
from typing import Any

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.kernel_log.values import KernelLog
from exporter.collectors.memory.values import Memory
from exporter.collectors.node.values import Host
from exporter.collectors.workloads.values import Workload, Workloads, WorkloadUse
from exporter.model.snapshot import Outcome, Snapshot, SourceReport
from exporter.model.verdict import Cause, Conclusions, Evidence, Fault, Subject
from tests.faults.conclusions import fault
from tests.web.serving import snapshot

HOSTILE = "<script>alert(1)</script>\"'&\u202e"
PORT = Subject("pcie_port", "pcie", "0000:60:01.0", "0000:60:01.0")
GPU = Subject("gpu", "gpu", "GPU-1", "GPU 1")


def _gpu(index: int, **values: Any) -> GpuState:
    gpu = Gpu(
        index,
        f"GPU-{index}",
        f"card {HOSTILE}",
        utilization_percent=values.pop("use", 42.0),
        temperature_celsius=66.0,
        memory_total_bytes=80 * 2**30,
        memory_used_bytes=71 * 2**30,
        power_draw_watts=444.0,
        power_limit_watts=700.0,
        throttle_active=(("gpu_idle", 1), ("sw_power_cap", 1)),
    )
    return GpuState(gpu, read_boottime=990.0, **values)


def _fault(rule: str, subject: Subject, summary: str, **more: object) -> Fault:
    values: dict[str, object] = {"since": 1.8e9 - 60, "summary": summary, "action": "check_seating"}
    evidence = (Evidence("log", 1, "", 1.8e9, f"pciehp: Slot(6) {HOSTILE}"),)
    return fault(rule, subject, "critical", **values, evidence=evidence, **more)


def broken_node() -> Snapshot:
    """Return a node whose GPU 1 is lost, because the link above it went down."""
    cause = Cause("pcie_link_down", PORT, "below", "The link of slot 6 went down", 1.8e9 - 60)
    faults = (
        _fault("pcie_link_down", PORT, "The link of slot 6 went down"),
        _fault("gpu_lost", GPU, "GPU 1 no longer answers", causes=(cause,), affected=(GPU,)),
    )
    workload = Workload("ml", HOSTILE, "trainer")
    readings: dict[type, object] = {
        Gpus: Gpus(
            GpuBackend("nvml", "ok", "570.1"),
            (
                _gpu(0),
                _gpu(1, up=False, reason="gpu_lost", use=13.5),
                _gpu(2, stale=True, use=17.5),
            ),
        ),
        Workloads: Workloads("no_host_pids", uses=(WorkloadUse("GPU-0", workload, 1, 2**30),)),
        Host: Host("node-1", "Debian", "12", "6.1", "EPYC", 4e5),
        Cpu: Cpu(32, 64, 29.5, 18.9, load1=21.4),
        Memory: Memory(2**40, 2**39),
        KernelLog: KernelLog("kmsg", "ok", 1, 0, 0),
    }
    reports = (SourceReport("disk", Outcome.FAILED, 0.1, "/proc/diskstats cannot be read: EIO"),)
    return replace(
        snapshot(readings=readings, reports=reports),
        conclusions=Conclusions(faults=faults, subjects=(GPU, PORT)),
    )
