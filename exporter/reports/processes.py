"""The document `/processes`: the processes on GPUs; docs/HTTP.md describes the fields."""

from collections.abc import Mapping
from typing import Any, TypeVar

from exporter.collectors.gpu.values import Gpus
from exporter.collectors.workloads.values import (
    GpuClient,
    GpuShare,
    ProcessUse,
    Workloads,
    WorkloadUse,
)
from exporter.model.snapshot import Snapshot
from exporter.record import replace
from exporter.reports.fields import fields_of

MAX_LISTED = 1000
"""The most processes that are listed; the rest are counted."""

WORKLOAD = ("pod", "namespace", "container")

Use = TypeVar("Use", ProcessUse, WorkloadUse)


def processes(snapshot: Snapshot, boottime: float) -> dict[str, Any]:
    """Return the processes on GPUs; times of waiting count to `boottime` in seconds."""
    workloads = snapshot.reading(Workloads)
    gpus = snapshot.reading(Gpus)
    states = () if gpus is None else gpus.states
    indexes = {it.gpu.uuid: it.gpu.index for it in states if it.gpu.processes is not None}
    old = frozenset(it.gpu.uuid for it in states if not it.up or not it.is_fresh)
    clients = () if workloads is None else workloads.clients
    named = [_now(client, old) for client in clients if _is_on(client, indexes)]
    return {
        "node": snapshot.node,
        "processes": [_client(client, indexes, boottime) for client in _largest(named)],
        "attribution": None if workloads is None else workloads.reason,
        "attribution_ratio": None if workloads is None else workloads.attribution_ratio,
        "left_out": max(0, len(named) - MAX_LISTED),
        "shares": [
            _share(it, indexes[it.gpu_uuid])
            for it in (() if workloads is None else workloads.shares)
            if it.gpu_uuid in indexes
        ],
        "quotas": [
            _quota(_without_old(use, old), indexes[use.gpu_uuid])
            for use in (() if workloads is None else workloads.uses)
            if use.gpu_uuid in indexes and _has_part(use)
        ],
    }


def _share(share: GpuShare, index: int) -> dict[str, Any]:
    return {"index": index, "uuid": share.gpu_uuid, **fields_of(share, "kind", "replicas")}


def _has_part(use: WorkloadUse) -> bool:
    """Tell whether a GPU scheduler has given the workload a part of the GPU."""
    parts = (use.replicas, use.quota_memory_bytes, use.quota_sm_percent)
    return any(part is not None for part in parts)


def _quota(use: WorkloadUse, index: int) -> dict[str, Any]:
    return {
        "index": index,
        "uuid": use.gpu_uuid,
        **fields_of(use.workload, *WORKLOAD),
        **fields_of(use, "replicas", "quota_memory_bytes", "memory_used_bytes"),
        **fields_of(use, "quota_sm_percent", "sm_utilization_percent"),
    }


def _largest(clients: list[GpuClient]) -> list[GpuClient]:
    """Return the processes with most GPU memory, in their order, at most MAX_LISTED."""
    if len(clients) <= MAX_LISTED:
        return clients
    ranked = sorted(range(len(clients)), key=lambda place: -(clients[place].memory_used_bytes or 0))
    return [clients[place] for place in sorted(ranked[:MAX_LISTED])]


def _is_on(client: GpuClient, indexes: Mapping[str, int]) -> bool:
    return any(use.gpu_uuid in indexes for use in client.uses)


def _now(client: GpuClient, old: frozenset[str]) -> GpuClient:
    return replace(client, uses=tuple(_without_old(use, old) for use in client.uses))


def _without_old(use: Use, old: frozenset[str]) -> Use:
    """Return a use without memory and utilization if its GPU is lost or stale."""
    if use.gpu_uuid not in old:
        return use
    return replace(use, memory_used_bytes=None, sm_utilization_percent=None)


def _client(client: GpuClient, indexes: dict[str, int], boottime: float) -> dict[str, Any]:
    uses = tuple(use for use in client.uses if use.gpu_uuid in indexes)
    shown = replace(client, uses=uses)
    waits_since = client.waits_since_boottime
    return {
        **fields_of(client, "pid", "name", "user"),
        **fields_of(client.workload, *WORKLOAD),
        "gpus": sorted({indexes[use.gpu_uuid] for use in uses}),
        "memory": shown.memory_used_bytes,
        "utilization": shown.sm_utilization_percent,
        "state": client.state,
        "waits_secs": None if waits_since is None else round(max(0.0, boottime - waits_since), 3),
        "waits_in": client.wait_channel,
        "uses": [_use(use, indexes[use.gpu_uuid]) for use in uses],
    }


def _use(use: ProcessUse, index: int) -> dict[str, Any]:
    return {
        "index": index,
        "uuid": use.gpu_uuid,
        "kind": use.kind,
        "memory": use.memory_used_bytes,
        "utilization": use.sm_utilization_percent,
        **fields_of(use, "gpu_instance", "compute_instance"),
    }
