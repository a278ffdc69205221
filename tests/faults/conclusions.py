"""Conclusions built by hand: a process that waits for a disk, on a GPU that is too hot."""

from exporter.model.verdict import (
    Cause,
    Conclusions,
    Edge,
    Evidence,
    Fault,
    FaultState,
    Subject,
)

NODE = Subject("node", "node", "n1", "n1")
GPU = Subject("gpu", "gpu", "GPU-a", "GPU 0")
DISK = Subject("disk", "physical_disk", "nvme0n1", "nvme0n1")
PROCESS = Subject("process", "process", "4242", "train (4242)")
SINCE = 1_700_000_000.0


def fault(rule: str, subject: Subject, severity: str = "warning", **more: object) -> Fault:
    """An active fault."""
    values: dict[str, object] = {
        "state": FaultState.ACTIVE,
        "since": SINCE,
        "ended": None,
        "confidence": 0.9,
        "summary": f"{rule} of {subject.hw_name}",
        "action": "check",
        "runbook": rule,
        "status": "degraded",
        **more,
    }
    return Fault(rule, subject, severity, **values)  # type: ignore[arg-type]  # fields by name


BROKEN = fault(
    "disk_io_errors",
    DISK,
    "critical",
    evidence=(Evidence("block_io_error", 3, "in 600 s", SINCE, "I/O error, dev nvme0n1"),),
    affected=(PROCESS,),
)
WAITING = fault(
    "process_waits",
    PROCESS,
    "info",
    causes=(Cause("disk_io_errors", DISK, "waits_on", "errors of nvme0n1", SINCE),),
)
OVER = fault("gpu_hot", GPU, state=FaultState.CLEARED, ended=SINCE + 60)
DOUBTED = fault("gpu_slow", GPU, state=FaultState.UNJUDGED, ended=SINCE + 60)

CONCLUSIONS = Conclusions(
    faults=(BROKEN, WAITING, OVER, DOUBTED),
    transitions=(("disk_io_errors", "active", 2), ("gpu_hot", "cleared", 1)),
    events=(("error.hw", 7),),
    nodes=(("disk", 1), ("process", 1)),
    edges=(("consumes", 1), ("waits_on", 1), ("blocked_by", 2)),
    graph=(
        Edge("consumes", PROCESS.key, GPU.key),
        Edge("waits_on", PROCESS.key, DISK.key, "asleep for 20 s"),
    ),
    subjects=(NODE, GPU, DISK, PROCESS),
    rules={
        "disk": ("disk_io_errors", "disk_slow"),
        "gpu": ("gpu_hot", "gpu_lost"),
        "process": ("process_waits",),
    },
    unknown={GPU: ("gpu_lost",)},
    statuses=((GPU, "ok"), (DISK, "failed")),
    rules_loaded=5,
    rules_skipped=(("invalid", 1),),
    rule_seconds=0.25,
)
