"""The documents `/node`, `/metrics/json`, `/health` and `/ready`.

Unknown numbers are null, unknown words «unknown», and an empty list is []; docs/HTTP.md describes
the fields.
"""

from collections import Counter
from typing import Any

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.disk.values import Disks, Filesystems, MdArrays
from exporter.collectors.gpu.values import Gpus, GpuState
from exporter.collectors.memory.values import Memory, MemoryErrors, NumaNodes
from exporter.collectors.network.affinity import nearest_nics
from exporter.collectors.network.values import Infiniband, Network
from exporter.collectors.node.values import Host
from exporter.collectors.pcie.values import Pcie, PcieDevice
from exporter.model.snapshot import Snapshot, SourceReport
from exporter.reports.fields import fields_of

MIB = 1024 * 1024
MAX_MISSING = 100
"""The most missing fields of one source that are explained; eight old GPUs miss hundreds."""

INTERFACE = ("device", "up", "speed_bytes_per_second", "mtu", "driver", "pci_bus_id", "numa_node")
PORT = ("device", "port", "state", "link_layer", "rate_bytes_per_second", "pci_bus_id")
DISK = ("device", "size_bytes", "model", "serial", "firmware", "rotational", "transport")
FILESYSTEM = (
    *("mountpoint", "device", "fstype", "size_bytes"),
    *("available_bytes", "readonly", "unreachable"),
)
ARRAY = ("device", "level", "state", "active_disks", "failed_disks", "missing_disks")


def health(version: str, *, is_live: bool) -> dict[str, Any]:
    """Return the document of /health."""
    return {"status": "healthy" if is_live else "unhealthy", "version": version}


def readiness(version: str, reasons: list[str]) -> dict[str, Any]:
    """Return the document of /ready, with the reasons why the program is not ready."""
    status = "not ready" if reasons else "ready"
    return {"status": status, "version": version, "reasons": reasons}


def flat_metrics(snapshot: Snapshot) -> dict[str, Any]:
    """Return the document of /metrics/json, a flat object for older readers."""
    host, cpu, memory = _basics(snapshot)
    return {
        "cpu_usage": _rounded(cpu.usage_percent if cpu else None),
        "memory_total": memory.total_bytes if memory else None,
        "memory_used": memory.used_bytes if memory else None,
        "memory_usage_percent": _rounded(memory.usage_percent if memory else None),
        "hostname": host.hostname if host else snapshot.node,
        "os_name": _word(host.os_name if host else None),
        "os_version": _word(host.os_version if host else None),
        "uptime": int(host.uptime_secs) if host else None,
    }


def inventory(snapshot: Snapshot, boottime: float) -> dict[str, Any]:
    """Return the document of /node; ages count to `boottime` in seconds."""
    host, cpu, memory = _basics(snapshot)
    gpus = snapshot.reading(Gpus)
    states = gpus.states if gpus else ()
    return {
        "hostname": host.hostname if host else snapshot.node,
        "node": snapshot.node,
        "os_name": _word(host.os_name if host else None),
        "os_version": _word(host.os_version if host else None),
        "kernel_version": _word(host.kernel_version if host else None),
        "uptime_secs": int(host.uptime_secs) if host else None,
        "cpu_cores": cpu.cores if cpu else None,
        "cpu_threads": cpu.threads if cpu else None,
        "cpu_model": _word(host.cpu_model if host else None),
        "cpu_usage_percent": _rounded(cpu.usage_percent if cpu else None),
        "cpu_used_cores": _rounded(cpu.used_cores if cpu else None),
        "memory_total_bytes": memory.total_bytes if memory else None,
        "memory_used_bytes": memory.used_bytes if memory else None,
        "memory_available_bytes": memory.available_bytes if memory else None,
        "memory_usage_percent": _rounded(memory.usage_percent if memory else None),
        "gpu_count": len(states),
        "gpu_used_count": sum(bool(state.gpu.is_used) for state in states),
        "gpu_devices": [_gpu_device(state) for state in states],
        "gpu_type_counts": dict(sorted(Counter(state.gpu.name for state in states).items())),
        "driver": _driver(gpus),
        "gpu_status": [_gpu_status(state, boottime) for state in states],
        "collected_at": snapshot.taken_at,
        "age_secs": _rounded(max(0.0, boottime - snapshot.taken_boottime)),
        "sources": {report.source: _source(report) for report in snapshot.reports},
        **hardware(snapshot),
    }


def hardware(snapshot: Snapshot) -> dict[str, Any]:
    """Return the hardware fields of `/node`, which follow the older fields, in order."""
    numa, network = snapshot.reading(NumaNodes), snapshot.reading(Network)
    infiniband, disks = snapshot.reading(Infiniband), snapshot.reading(Disks)
    raid, memory = snapshot.reading(MdArrays), snapshot.reading(MemoryErrors)
    pcie = snapshot.reading(Pcie)
    return {
        "numa_nodes": [
            {"numa_node": int(node.numa_node), "memory_total_bytes": node.total_bytes}
            for node in (numa.nodes if numa else ())
        ],
        "memory_modules": [
            fields_of(dimm, "controller", "dimm", "size_bytes")
            for controller in (memory.controllers if memory else ())
            for dimm in controller.dimms
        ],
        "network_namespace": network.namespace if network else None,
        "network_interfaces": [
            fields_of(nic, *INTERFACE) for nic in (network.interfaces if network else ())
        ],
        "infiniband_ports": [
            fields_of(port, *PORT) for port in (infiniband.ports if infiniband else ())
        ],
        "gpu_nic_affinity": [
            {"gpu_uuid": near.gpu.uuid, **fields_of(near, "device", "rdma_device", "path")}
            for near in nearest_nics(snapshot)
        ],
        "disks": [fields_of(disk, *DISK) for disk in (disks.disks if disks else ())],
        "filesystems": filesystems(snapshot),
        "raid": [fields_of(array, *ARRAY) for array in (raid.arrays if raid else ())],
        "pcie_devices": [_pcie(device) for device in (pcie.devices if pcie else ())],
    }


def filesystems(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the mounted filesystems."""
    reading = snapshot.reading(Filesystems)
    return [fields_of(each, *FILESYSTEM) for each in (reading.filesystems if reading else ())]


def _pcie(device: PcieDevice) -> dict[str, Any]:
    return {
        "device": device.device,
        "class": device.kind,
        **fields_of(device, "parent", "slot", "numa_node", "width", "width_max"),
        "reduced": device.is_reduced,
    }


def _basics(snapshot: Snapshot) -> tuple[Host | None, Cpu | None, Memory | None]:
    return snapshot.reading(Host), snapshot.reading(Cpu), snapshot.reading(Memory)


def _gpu_device(state: GpuState) -> dict[str, Any]:
    gpu = state.gpu
    return {
        **fields_of(gpu, "index", "name", "uuid"),
        "memory_total_mb": _mib(gpu.memory_total_bytes),
        "memory_used_mb": _mib(gpu.memory_used_bytes),
        "memory_free_mb": _mib(gpu.memory_free_bytes),
        "utilization_percent": _whole(gpu.utilization_percent),
        "temperature_celsius": _whole(gpu.temperature_celsius),
        "power_draw_watts": _whole(gpu.power_draw_watts),
        "power_limit_watts": _whole(gpu.power_limit_watts),
    }


def _gpu_status(state: GpuState, boottime: float) -> dict[str, Any]:
    age = None if state.expired else _rounded(max(0.0, boottime - state.read_boottime))
    return {
        "uuid": state.gpu.uuid,
        **fields_of(state, "up", "reason", "stale"),
        "age_secs": age,
        "power_draw_watts": _rounded(state.gpu.power_draw_watts),
        "power_limit_watts": _rounded(state.gpu.power_limit_watts),
    }


def _driver(gpus: Gpus | None) -> dict[str, Any] | None:
    if gpus is None:
        return None
    backend = gpus.backends[0]
    return {
        "version": backend.driver_version,
        **fields_of(backend, "cuda_version", "backend", "reason"),
    }


def _source(report: SourceReport) -> dict[str, Any]:
    missing = {gap.field: gap.reason for gap in report.missing[:MAX_MISSING]}
    return {"outcome": report.outcome.value, "reason": report.reason, "missing": missing}


def _mib(value: int | None) -> int | None:
    return None if value is None else value // MIB


def _whole(value: float | None) -> int | None:
    """Round to a whole number: readers of the first `/node` parse these fields as integers."""
    return None if value is None else round(value)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _word(value: str | None) -> str:
    return value or "unknown"
