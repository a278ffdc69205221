"""Xid families: an Xid that both the kernel log and NVML report is counted once."""

from collections.abc import Iterable

from exporter.collectors.gpu.labels import GPU_LABELS, gpu_label_values, states
from exporter.collectors.gpu.values import Gpus, GpuState
from exporter.collectors.kernel_log.values import KernelLog
from exporter.exposition.family import Sample, family
from exporter.exposition.rows import Items, Row, families
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """How often one Xid of one GPU was seen, and when last (wall clock, seconds)."""

    count: int
    last_at: float


def _seen(snapshot: Snapshot) -> dict[str, dict[int, Seen]]:
    """Return Xids by GPU: by UUID those of NVML, by PCI address those of the kernel log."""
    seen: dict[str, dict[int, Seen]] = {}
    gpus, log = snapshot.reading(Gpus), snapshot.reading(KernelLog)
    for reported in gpus.xids if gpus else ():
        seen.setdefault(reported.uuid, {})[reported.code] = Seen(reported.count, reported.last_at)
    for logged in log.xids if log else ():
        seen.setdefault(logged.gpu, {})[logged.code] = Seen(logged.count, logged.last_at)
    return seen


def _of_gpu(state: GpuState, seen: dict[str, dict[int, Seen]]) -> Iterable[tuple[int, Seen]]:
    """Yield the larger count of both: they report the same errors, and each may miss some."""
    by_nvml = seen.get(state.gpu.uuid, {})
    by_log = seen.get(state.gpu.pci_bus_id or "", {})
    for code in sorted(by_nvml.keys() | by_log.keys()):
        both = [xids[code] for xids in (by_nvml, by_log) if code in xids]
        yield code, Seen(max(one.count for one in both), max(one.last_at for one in both))


def _xids(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], Seen]]:
    seen = _seen(snapshot)
    for state in states(snapshot):
        for code, xid in _of_gpu(state, seen):
            yield (*gpu_label_values(state.gpu), str(code)), xid


def _totals(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield the count of each GPU of NVIDIA; zero only where NVML or the kernel log is read."""
    seen = _seen(snapshot)
    gpus, log = snapshot.reading(Gpus), snapshot.reading(KernelLog)
    is_watched = log is not None or (gpus is not None and bool(gpus.backend.nvml_up))
    for state in states(snapshot):
        counts = [xid.count for _, xid in _of_gpu(state, seen)]
        if state.gpu.vendor == "nvidia" and (counts or is_watched):
            yield gpu_label_values(state.gpu), sum(counts)


FAMILIES = (
    family(
        "hw_gpu_xids_total",
        "XID errors of any code reported by the driver for the GPU, including zero; absent if"
        " neither NVML nor the kernel log can be read.",
        _totals,
        *GPU_LABELS,
    ),
    *families(
        "hw_gpu_xid_",
        Items((*GPU_LABELS, "xid"), Seen, _xids),
        Row(
            "errors_total",
            "XID errors reported by the driver, in the kernel log or as NVML events; only codes"
            " that occurred.",
            "count",
        ),
        Row(
            "last_timestamp_seconds", "When this XID error was last reported.", "last_at", digits=3
        ),
    ),
)
