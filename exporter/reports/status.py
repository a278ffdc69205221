"""The document `/status`: the node at a glance, for the page, `hw-exporter status` and `top`."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.disk.values import Disks
from exporter.collectors.gpu.values import Gpus, GpuState
from exporter.collectors.memory.values import Memory
from exporter.collectors.network.values import Network
from exporter.collectors.node.values import Host
from exporter.collectors.workloads.values import SlurmJob, Workload, Workloads, sum_of_all
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from exporter.reports.checks import OK, checks
from exporter.reports.faults import days_document, faults_document
from exporter.reports.fields import fields_of
from exporter.reports.history import NodeHistory
from exporter.reports.incidents import verdict_of
from exporter.reports.installation import Installation
from exporter.reports.node import filesystems
from exporter.reports.units import counted, duration, size

MAX_WORKLOADS = 50
MAX_KINDS = 4
FIRST_KINDS = ("gpu", "pcie", "network", "physical_disk")
"""The types that are listed before processes and the exporter's own sources."""
HARMLESS_LIMITS = ("idle", "app", "display", "sync")
GPU_SERIES = ("utilization", "memory", "temperature", "power")


def status_document(
    snapshot: Snapshot, history: NodeHistory, here: Installation, version: str
) -> dict[str, Any]:
    """Return the document of /status without ages, which are added at the request."""
    reported, broken = snapshot.conclusions, faults_document(snapshot)
    well = _well(snapshot, reported) if reported else ""
    return {
        "node": snapshot.node,
        "version": version,
        "about": _about(snapshot),
        "collected_at": snapshot.taken_at,
        "verdict": asdict(verdict_of(broken, well)),
        **{name: broken[name] for name in ("healthy", "faults", "incidents", "stale_gpus")},
        "days": days_document(reported, snapshot.taken_at),
        "host": _host(snapshot, history),
        "gpus": list(_gpus(snapshot, history)),
        "workloads": list(_workloads(snapshot)),
        "network": list(_network(snapshot, history)),
        "disks": list(_disks(snapshot, history)),
        "filesystems": filesystems(snapshot),
        "unread": [asdict(each) for each in checks(snapshot, here) if each.state != OK],
    }


def _well(snapshot: Snapshot, reported: Conclusions) -> str:
    """Count the evaluated components without faults; unread GPUs do not count."""
    broken = {fault.subject for fault in reported.active}
    gpus = snapshot.reading(Gpus)
    unread = {state.gpu.uuid for state in (gpus.states if gpus else ()) if state.is_unread}
    well = [
        subject
        for subject in reported.subjects
        if subject not in broken
        and (subject.hw_type != "gpu" or subject.hw_id not in unread)
        and len(reported.unknown.get(subject, ())) < len(reported.rules.get(subject.kind, ()))
    ]
    kinds = Counter(subject.hw_type for subject in well)
    first = sorted(kinds, key=lambda kind: (kind not in FIRST_KINDS, -kinds[kind]))
    named = [counted(kinds[kind], kind) for kind in first[:MAX_KINDS]]
    more = ["…"] if len(kinds) > MAX_KINDS else []
    which = f" ({', '.join([*named, *more])})" if named else ""
    return f"{counted(len(well), 'component')}{which}"


def _about(snapshot: Snapshot) -> str:
    """Describe the node in one line."""
    host, memory, gpus = snapshot.reading(Host), snapshot.reading(Memory), snapshot.reading(Gpus)
    models = Counter(state.gpu.name for state in (gpus.states if gpus else ()))
    parts = [f"{count} × {name}" for name, count in models.items()]
    if gpus is not None and gpus.backends[0].driver_version:
        parts.append(f"driver {gpus.backends[0].driver_version}")
    if host is not None:
        parts.append(host.cpu_model or "")
    if memory is not None:
        parts.append(f"{size(memory.total_bytes)} memory")
    if host is not None:
        parts += [f"{host.os_name or ''} {host.os_version or ''}".strip()]
        parts.append(f"up {duration(host.uptime_secs)}")
    return " · ".join(part for part in parts if part)


def _host(snapshot: Snapshot, history: NodeHistory) -> dict[str, Any]:
    host, cpu = snapshot.reading(Host), snapshot.reading(Cpu)
    memory, gpus = snapshot.reading(Memory), snapshot.reading(Gpus)
    return {
        "os": f"{host.os_name or ''} {host.os_version or ''}".strip() if host else None,
        "kernel": host.kernel_version if host else None,
        "cpu_model": host.cpu_model if host else None,
        "uptime_secs": int(host.uptime_secs) if host else None,
        "cpu_threads": cpu.threads if cpu else None,
        "cpu_usage_percent": cpu.usage_percent if cpu else None,
        "load1": cpu.load1 if cpu else None,
        "memory_total_bytes": memory.total_bytes if memory else None,
        "memory_used_bytes": memory.used_bytes if memory else None,
        "memory_usage_percent": memory.usage_percent if memory else None,
        "driver_version": gpus.backends[0].driver_version if gpus else None,
        "gpu_backend": gpus.backends[0].backend if gpus else None,
        "history": {name: history.points("node", name) for name in ("cpu", "memory")},
    }


def _gpus(snapshot: Snapshot, history: NodeHistory) -> Iterator[dict[str, Any]]:
    gpus, workloads = snapshot.reading(Gpus), snapshot.reading(Workloads)
    shares = workloads.shares if workloads else ()
    owners: dict[str, list[Workload]] = {}
    for use in workloads.uses if workloads else ():
        owners.setdefault(use.gpu_uuid, []).append(use.workload)
    for state in gpus.states if gpus else ():
        gpu = state.gpu
        is_current = _gpu_state(state) == "ok"
        yield {
            **fields_of(gpu, "index", "name", "uuid"),
            "state": _gpu_state(state),
            "reason": state.reason,
            "read_at": _read_at(snapshot, state),
            "utilization_percent": gpu.utilization_percent if is_current else None,
            "memory_used_bytes": gpu.memory_used_bytes if is_current else None,
            "memory_total_bytes": gpu.memory_total_bytes,
            "temperature_celsius": gpu.temperature_celsius if is_current else None,
            "power_draw_watts": gpu.power_draw_watts if is_current else None,
            "power_limit_watts": gpu.power_limit_watts,
            "throttled": _throttled(state) if is_current else None,
            "workloads": [each.name for each in dict.fromkeys(owners.get(gpu.uuid, ()))],
            "shared": [it.kind for it in shares if it.gpu_uuid == gpu.uuid],
            "history": {name: history.points(gpu.uuid, name) for name in GPU_SERIES},
        }


def _gpu_state(state: GpuState) -> str:
    """Return whether the values of a GPU are current: ok, stale, lost or suspended."""
    if state.suspended:
        return "suspended"
    if not state.up:
        return "lost"
    return "ok" if state.is_fresh else "stale"


def _read_at(snapshot: Snapshot, state: GpuState) -> float | None:
    if state.expired:
        return None
    return round(snapshot.taken_at - max(0.0, snapshot.taken_boottime - state.read_boottime), 3)


def _throttled(state: GpuState) -> list[str] | None:
    """Return the throttle reasons that slow a GPU down; None if unknown.

    Idle, application clocks and displays do not count.
    """
    reasons = state.gpu.throttle_active
    if reasons is None:
        return None
    active = [name for name, is_active in reasons if is_active]
    return [name for name in active if not any(word in name for word in HARMLESS_LIMITS)]


def _workloads(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    """Yield each workload with all its GPUs, by GPU memory."""
    workloads, gpus = snapshot.reading(Workloads), snapshot.reading(Gpus)
    states = gpus.states if gpus else ()
    current = {state.gpu.uuid: state.gpu.index for state in states if _gpu_state(state) == "ok"}
    jobs = {it.container: it for it in (workloads.jobs if workloads else ())}
    rows: dict[Workload, dict[str, Any]] = {}
    for use in workloads.uses if workloads else ():
        if use.gpu_uuid not in current:
            continue
        row = rows.setdefault(
            use.workload,
            {
                "workload": use.workload.name,
                "job": _job(jobs.get(use.workload.container)),
                "gpus": [],
                "processes": 0,
                "memory_used_bytes": 0,
                "quota_memory_bytes": 0,
                "utilization_percent": None,
            },
        )
        row["gpus"].append(current[use.gpu_uuid])
        row["processes"] += use.processes
        for name in ("memory_used_bytes", "quota_memory_bytes"):
            row[name] = sum_of_all((row[name], getattr(use, name)))
        shares = [row["utilization_percent"], use.sm_utilization_percent]
        row["utilization_percent"] = max((s for s in shares if s is not None), default=None)
    ranked = sorted(rows.values(), key=lambda row: -(row["memory_used_bytes"] or 0))
    for row in ranked[:MAX_WORKLOADS]:
        yield {**row, "gpus": sorted(set(row["gpus"]))}


def _job(job: SlurmJob | None) -> dict[str, Any] | None:
    if job is None:
        return None
    return fields_of(job, "job", "array_job", "array_task", "account", "user")


def _network(snapshot: Snapshot, history: NodeHistory) -> Iterator[dict[str, Any]]:
    network = snapshot.reading(Network)
    for nic in network.interfaces if network else ():
        subject = f"network {nic.device}"
        yield {
            **fields_of(nic, "device", "up", "speed_bytes_per_second"),
            "receive_bytes_per_second": history.rates.get((subject, "receive")),
            "transmit_bytes_per_second": history.rates.get((subject, "transmit")),
            "history": {name: history.points(subject, name) for name in ("receive", "transmit")},
        }


def _disks(snapshot: Snapshot, history: NodeHistory) -> Iterator[dict[str, Any]]:
    disks = snapshot.reading(Disks)
    for disk in disks.disks if disks else ():
        subject = f"disk {disk.device}"
        busy = history.rates.get((subject, "busy"))
        yield {
            **fields_of(disk, "device", "model", "size_bytes"),
            "read_bytes_per_second": history.rates.get((subject, "read")),
            "write_bytes_per_second": history.rates.get((subject, "write")),
            "busy_percent": None if busy is None else min(100.0, 100.0 * busy),
            "history": {"busy": history.points(subject, "busy")},
        }
