"""GPUs as the detectors see them, built by hand, and nodes of them reading by reading."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.workloads.values import (
    GpuClient,
    GpuShare,
    TracesCalls,
    Workload,
    Workloads,
    WorkloadUse,
)
from exporter.model.snapshot import Snapshot

WALL = 1_700_000_000.0
STEP_SECS = 15.0
TRAINER = "trainer"
GIB = 2**30

BUSY: Mapping[str, Any] = MappingProxyType(
    {
        "clock_hertz": (("sm", 1.98e9),),
        "power_draw_watts": 600.0,
        "power_limit_range_watts": (("default", 700.0),),
        "temperature_celsius": 60.0,
        "utilization_percent": 100.0,
        "memory_total_bytes": 80 * GIB,
        "memory_used_bytes": 40 * GIB,
        "activity_ratio": (("sm", 0.8),),
        "pcie_profile_bytes_per_second": (("receive", 1e9),),
        "nvlink_profile_bytes_per_second": (("receive", 40e9),),
    }
)
IDLE: Mapping[str, Any] = MappingProxyType(
    {
        **BUSY,
        "clock_hertz": (("sm", 345e6),),
        "power_draw_watts": 70.0,
        "temperature_celsius": 30.0,
        "utilization_percent": 0.0,
        "memory_used_bytes": GIB,
        "activity_ratio": (("sm", 0.0),),
        "pcie_profile_bytes_per_second": (("receive", 0.0),),
        "nvlink_profile_bytes_per_second": (("receive", 0.0),),
    }
)


def uuid(place: int) -> str:
    """The UUID of a GPU by its index."""
    return f"GPU-{place}"


def workload(name: str) -> Workload:
    """The workload with this name."""
    pod, _, container = name.partition("/")
    return Workload("ml", pod, container or "main")


@dataclass(slots=True)
class NodeOfGpus:
    """A node whose clock moves on with each reading; `fields` are those of each GPU.

    A name in `workloads` may be that of a pod and a container: `pod/container`.
    """

    fields: list[dict[str, Any]]
    workloads: list[tuple[str, ...]]
    now: float = 1000.0
    name: str = "H100"
    known_workloads: bool = True
    states: dict[int, dict[str, Any]] = field(default_factory=dict)
    sm_percents: dict[str, float] = field(default_factory=dict)
    shares: tuple[GpuShare, ...] = ()
    clients: tuple[GpuClient, ...] = ()
    traced: TracesCalls | None = None

    def set(self, place: int, **fields: Any) -> None:
        """Change what one GPU says from now on."""
        self.fields[place] |= fields

    def snapshot(self, secs: float = STEP_SECS) -> Snapshot:
        """The next reading."""
        self.now += secs
        states = tuple(
            replace(
                GpuState(Gpu(place, uuid(place), self.name, **said), self.now),
                **self.states.get(place, {}),
            )
            for place, said in enumerate(self.fields)
        )
        uses = tuple(
            WorkloadUse(
                uuid(place), workload(who), 1, sm_utilization_percent=self.sm_percents.get(who)
            )
            for place, names in enumerate(self.workloads)
            for who in names
        )
        readings: dict[type, object] = {Gpus: Gpus(GpuBackend("nvml", "ok"), states)}
        if self.known_workloads:
            readings[Workloads] = Workloads(
                "ok", 1.0, uses, clients=self.clients, shares=self.shares
            )
        if self.traced:
            readings[type(self.traced)] = self.traced
        return Snapshot("n", 1, WALL + self.now, self.now, 0.1, MappingProxyType(readings))


def node(gpus: int = 8, workload: str = TRAINER, like: Mapping[str, Any] = BUSY) -> NodeOfGpus:
    """A node whose GPUs all do the same work."""
    names = (workload,) if workload else ()
    return NodeOfGpus([dict(like) for _ in range(gpus)], [names for _ in range(gpus)])
