"""GPU families: values of each GPU, its state, and the age of its data."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from exporter.collectors.gpu.gpu import Gpu
from exporter.collectors.gpu.labels import EACH_GPU, GPU_LABELS, gpu_label_values, of_each, states
from exporter.collectors.gpu.type_families import TYPE_FAMILIES
from exporter.collectors.gpu.values import GpuBackend, Gpus, GpuState
from exporter.exposition.family import Family, Sample, family, one
from exporter.exposition.page import Moment
from exporter.exposition.rows import Items, Row, families, info
from exporter.model.snapshot import Snapshot


def _count(snapshot: Snapshot) -> Iterable[Sample]:
    known = states(snapshot)
    return one(len(known)) if known else ()


def _used_count(snapshot: Snapshot) -> Iterable[Sample]:
    known = [use for state in states(snapshot) if (use := state.gpu.is_used) is not None]
    return one(sum(known)) if known else ()


def _type_count(snapshot: Snapshot) -> Iterable[Sample]:
    counts = Counter(state.gpu.name for state in states(snapshot))
    return [((name,), count) for name, count in sorted(counts.items())]


def _backend(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], GpuBackend]]:
    gpus = snapshot.reading(Gpus)
    return () if gpus is None else [((), backend) for backend in gpus.backends]


def _disabled_calls(snapshot: Snapshot) -> Iterable[Sample]:
    gpus = snapshot.reading(Gpus)
    for disabled in () if gpus is None else gpus.disabled_calls:
        for state in states(snapshot):
            if disabled.index in (None, state.gpu.index):
                yield (*gpu_label_values(state.gpu), disabled.call), 1


def _pending_modes(state: GpuState) -> Iterable[Sample]:
    gpu = state.gpu
    for mode, now, pending in (
        ("ecc", gpu.ecc_enabled, gpu.ecc_mode_pending),
        ("mig", gpu.mig_enabled, gpu.mig_mode_pending),
    ):
        if now is not None and pending is not None and now != pending:
            yield (mode, "enabled" if pending else "disabled"), 1


REPAIR_STATES = ("channel_repair_pending", "tpc_repair_pending", "unrepairable_memory")


def _active_nvlinks(state: GpuState) -> Iterable[Sample]:
    if state.gpu.nvlink_up is not None:
        yield (), sum(bool(is_up) for _, is_up in state.gpu.nvlink_up)


def _fabrics(state: GpuState) -> Iterable[Sample]:
    cluster, clique = state.gpu.fabric_cluster, state.gpu.fabric_clique
    if cluster is not None and clique is not None:
        yield (cluster, str(clique)), 1


def _chassis(state: GpuState) -> Iterable[Sample]:
    gpu = state.gpu
    if gpu.chassis_serial is not None:
        slot, tray = ("" if n is None else str(n) for n in (gpu.chassis_slot, gpu.chassis_tray))
        yield (gpu.chassis_serial, slot, tray), 1


COUNTED_SINCE = (
    ("volatile", "since the driver was loaded (volatile)"),
    ("aggregate", "over the life of the board (aggregate)"),
)
"""Volatile and aggregate counters of the same errors are metrics of their own."""


def _rows(name: str, *, help: str = "", counted: str = "", **row: Any) -> Iterator[Row]:  # noqa: A002 - as in Row
    """Yield the metrics of one value; none without a HELP text."""
    if counted:
        for counter, since in COUNTED_SINCE:
            metric = f"{counted}_{counter}_errors_total"
            yield Row(metric, f"{help} {since}.", name, counter=counter, **row)
    elif help:
        yield Row(name, help, **row)


ROWS = tuple(
    row for item in fields(Gpu) for row in _rows(item.name, **item.metadata.get("row", {}))
)
"""The metrics of single values of a GPU, as these declare them."""

MAIN = 7
"""So many values come first on the page: memory, utilization, temperature and power."""

BACKEND = Items((), GpuBackend, _backend)

FAMILIES = (
    family("hw_gpu_count", "Known GPUs of this node, including lost ones.", _count),
    family(
        "hw_gpu_used_count",
        "GPUs in use: with a compute process or, if processes are not visible, by utilization"
        " and memory.",
        _used_count,
    ),
    family(
        "hw_gpu_type_count", "Number of GPUs of the node by product name.", _type_count, "gpu_type"
    ),
    *TYPE_FAMILIES,
    *families("hw_gpu_", EACH_GPU, *ROWS[:MAIN]),
    *families("hw_gpu_", BACKEND, Row("nvml_up", "Whether the last NVML reading succeeded.")),
    info(
        "hw_gpu_backend_info",
        "Backend used to read the GPUs, and the reason if it is not NVML; always 1.",
        BACKEND,
        ("backend", "reason", "driver_version", "cuda_version"),
    ),
    of_each(
        "hw_gpu_up",
        "Whether the GPU answers; 0 if it is lost or cannot be read.",
        lambda state: one(state.up),
    ),
    of_each(
        "hw_gpu_problem_info",
        "Why the GPU is not up: one of the reasons in docs/troubleshooting.md; always 1.",
        lambda state: () if state.up or state.reason is None else one(1, state.reason),
        "reason",
    ),
    of_each(
        "hw_gpu_mode_pending",
        "Pending ECC or MIG mode that differs from the current one: the next reset of the GPU"
        " makes it enabled or disabled; always 1.",
        _pending_modes,
        *("mode", "target"),
    ),
    of_each(
        "hw_gpu_repair_state",
        "Channel or TPC repair pending until the next reset, or unrepairable memory; always"
        " 1, absent if not the case.",
        lambda state: (((name,), 1) for name in REPAIR_STATES if getattr(state.gpu, name)),
        "state",
    ),
    of_each(
        "hw_gpu_nvlink_active_links",
        "Number of NVLinks of the GPU that are active.",
        _active_nvlinks,
    ),
    of_each(
        "hw_gpu_nvlink_inactive",
        "NVLink that is inactive: broken, asleep or not wired; always 1, absent if active.",
        lambda state: (((link,), 1) for link, is_up in state.gpu.nvlink_up or () if not is_up),
        "link",
    ),
    of_each(
        "hw_gpu_fabric_info",
        "NVLink fabric: cluster UUID and clique ID; always 1.",
        _fabrics,
        *("cluster", "clique"),
    ),
    of_each(
        "hw_gpu_chassis_info",
        "Place of the GPU in its rack: chassis serial number, slot and tray index; always 1.",
        _chassis,
        *("chassis", "slot", "tray"),
    ),
    family(
        "hw_gpu_call_disabled_info",
        "NVML call that is disabled for a while because it crashed the library on this GPU;"
        " always 1.",
        _disabled_calls,
        *(*GPU_LABELS, "call"),
    ),
    of_each(
        "hw_gpu_suspended",
        "Suspended by runtime power management (RTD3), and not woken for a reading; always 1.",
        lambda state: one(state.suspended or None),
    ),
    of_each(
        "hw_gpu_data_stale",
        "Whether the values of the GPU come from the cache.",
        lambda state: one(None if state.expired else state.stale),
    ),
)
FIELD_FAMILIES = families("hw_gpu_", EACH_GPU, *ROWS[MAIN:])


def live_families(moment: Moment) -> tuple[Family, ...]:
    """Return the age of each GPU at this moment, in seconds."""

    def age(state: GpuState) -> Iterable[Sample]:
        if not state.expired:
            yield (), round(max(0.0, moment.boottime - state.read_boottime), 3)

    return (
        of_each(
            "hw_gpu_data_age_seconds",
            "Seconds since this GPU was last read successfully; it grows while cached values are"
            " served.",
            age,
        ),
    )
