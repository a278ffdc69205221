"""Xid families: an Xid that kernel log, tracepoint and NVML report is counted once."""

from collections.abc import Iterable
from typing import TypeAlias

from exporter.collectors.gpu.labels import GPU_LABELS, gpu_label_values, states
from exporter.collectors.gpu.values import Gpus, GpuState
from exporter.collectors.kernel_log.values import KernelLog, TracedXids, XidCount
from exporter.exposition.family import Sample, family
from exporter.exposition.rows import Items, Row, families
from exporter.model.snapshot import Snapshot
from exporter.record import replace

SeenXids: TypeAlias = dict[str, list[XidCount]]
"""What was reported, by the UUID of the GPU (NVML) or by its PCI address (other sources)."""


def _seen(snapshot: Snapshot) -> SeenXids:
    seen: SeenXids = {}
    gpus, log = snapshot.reading(Gpus), snapshot.reading(KernelLog)
    for reading in (gpus, log, snapshot.reading(TracedXids)):
        for reported in reading.xids if reading else ():
            seen.setdefault(reported.gpu, []).append(reported)
    return seen


def _of_gpu(state: GpuState, seen: SeenXids) -> list[XidCount]:
    """Return the largest count of each code: all report the same errors, and may miss some."""
    found: dict[int, XidCount] = {}
    for name in (state.gpu.uuid, state.gpu.pci_bus_id or ""):
        for xid in seen.get(name, ()):
            known = found.get(xid.code, xid)
            last_at = max(known.last_at, xid.last_at)
            found[xid.code] = replace(xid, count=max(known.count, xid.count), last_at=last_at)
    return [found[code] for code in sorted(found)]


def _xids(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], XidCount]]:
    seen = _seen(snapshot)
    for state in states(snapshot):
        for xid in _of_gpu(state, seen):
            yield (*gpu_label_values(state.gpu), str(xid.code)), xid


def _totals(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield the count of each GPU of NVIDIA; zero only where a source of Xids is read."""
    seen, gpus = _seen(snapshot), snapshot.reading(Gpus)
    is_printed = snapshot.reading(KernelLog) or snapshot.reading(TracedXids)
    is_watched = is_printed is not None or (gpus is not None and bool(gpus.backend.nvml_up))
    for state in states(snapshot):
        counts = [xid.count for xid in _of_gpu(state, seen)]
        if state.gpu.vendor == "nvidia" and (counts or is_watched):
            yield gpu_label_values(state.gpu), sum(counts)


FAMILIES = (
    family(
        "hw_gpu_xids_total",
        "XID errors of any code reported by the driver for the GPU, including zero; absent if"
        " neither NVML nor another source of Xids can be read.",
        _totals,
        *GPU_LABELS,
    ),
    *families(
        "hw_gpu_xid_",
        Items((*GPU_LABELS, "xid"), XidCount, _xids),
        Row(
            "errors_total",
            "XID errors reported by the driver, in the kernel log, as NVML events or at its"
            " tracepoint; only codes that occurred.",
            "count",
        ),
        Row(
            "last_timestamp_seconds", "When this XID error was last reported.", "last_at", digits=3
        ),
    ),
)
