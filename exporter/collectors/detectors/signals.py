"""The input of the detectors: a few values of each GPU, and its workloads."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from exporter.collectors.gpu.values import Gpu, Gpus, GpuState
from exporter.collectors.workloads.values import Workload, Workloads, WorkloadUse
from exporter.model.reading import Labeled
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass, replace

WARMS_SECS = 90.0
"""For about so long the temperature of a GPU follows its power draw."""

AIR_CELSIUS = 25.0
LEAST_POWER = 0.3
"""Below this share of its power limit a GPU tells little of its cooling."""

_Users: TypeAlias = tuple[frozenset[Workload] | None, float | None]
"""The workloads of one GPU, and what others than the largest have of it."""


@dataclass(frozen=True, slots=True)
class GpuNow:
    """One GPU as it was read just now; `workloads` is None where they are not known.

    `other_workloads` is the share of SM time of all workloads but the one that has most; None
    where a GPU is given to several on purpose (time slices, MPS).
    """

    gpu: Gpu
    at: float
    workloads: frozenset[Workload] | None
    nvlink_bytes_per_second: float | None = None
    power_watts: float | None = None  # as the temperature follows it: smoothed
    other_workloads: float | None = None


@dataclass(slots=True)
class _Before:
    """What was read of a GPU before this reading."""

    at: float
    nvlink_bytes: int | None
    power_watts: float | None


class NewReadings:
    """Passes on each reading of a GPU once; those from the cache, and MIG devices, never.

    A GPU in MIG mode is several devices with one temperature and one power draw.
    """

    def __init__(self) -> None:
        self._before: dict[str, _Before] = {}

    def of(self, snapshot: Snapshot) -> list[GpuNow]:
        """Return what was read of each GPU since the last call."""
        gpus = snapshot.reading(Gpus)
        fresh = [state for state in (gpus.states if gpus else ()) if _is_fresh(state)]
        users = _users(snapshot.reading(Workloads))
        found = []
        for state in fresh:
            gpu, at = state.gpu, state.read_boottime
            before = self._before.get(gpu.uuid)
            if before is not None and at <= before.at:
                continue
            now = _Before(at, _nvlink_total(gpu), _smoothed_power(gpu, at, before))
            self._before[gpu.uuid] = now
            own, others = users[gpu.uuid]
            rate = _nvlink_rate(gpu, now, before)
            found.append(GpuNow(gpu, at, own, rate, now.power_watts, others))
        return found

    def forget(self, gone: Iterable[str]) -> None:
        """Forget GPUs that are not read any more."""
        for uuid in gone:
            self._before.pop(uuid, None)


def _is_fresh(state: GpuState) -> bool:
    return state.up and state.is_fresh and not state.gpu.mig_enabled


def _users(reading: Workloads | None) -> defaultdict[str, _Users]:
    """Return who runs on each GPU; who has it allocated and runs nothing does not count."""
    if reading is None:
        return defaultdict(lambda: (None, None))
    uses: dict[str, list[WorkloadUse]] = {}
    for use in reading.uses:
        if use.processes:
            uses.setdefault(use.gpu_uuid, []).append(use)
    shared = {share.gpu_uuid for share in reading.shares}
    found: defaultdict[str, _Users] = defaultdict(lambda: (frozenset(), 0.0))
    for uuid, here in uses.items():
        others = None if uuid in shared else _other_workloads(here)
        found[uuid] = frozenset(use.workload for use in here), others
    return found


def _other_workloads(uses: Sequence[WorkloadUse]) -> float | None:
    """Return the share of SM time of all but the largest; None where one's is not known.

    The containers of a pod belong together.
    """
    percents: dict[Workload, float] = {}
    for use in uses:
        who, percent = use.workload, use.sm_utilization_percent
        if percent is None and len(uses) > 1:
            return None
        who = replace(who, container="") if who.pod else who
        percents[who] = percents.get(who, 0.0) + (percent or 0.0)
    return (sum(percents.values()) - max(percents.values())) / 100


def _smoothed_power(gpu: Gpu, at: float, before: _Before | None) -> float | None:
    if gpu.power_draw_watts is None or before is None or before.power_watts is None:
        return gpu.power_draw_watts
    share = -math.expm1((before.at - at) / WARMS_SECS)
    return before.power_watts + (gpu.power_draw_watts - before.power_watts) * share


def _nvlink_rate(gpu: Gpu, now: _Before, before: _Before | None) -> float | None:
    rate = _sum_of(gpu.nvlink_profile_bytes_per_second)
    if rate is None and before and now.nvlink_bytes is not None and before.nvlink_bytes is not None:
        return max(0, now.nvlink_bytes - before.nvlink_bytes) / (now.at - before.at)
    return rate


def _nvlink_total(gpu: Gpu) -> int | None:
    if gpu.nvlink_receive_bytes_total is None or gpu.nvlink_transmit_bytes_total is None:
        return None
    return gpu.nvlink_receive_bytes_total + gpu.nvlink_transmit_bytes_total


def _sum_of(rows: Labeled | None) -> float | None:
    return sum([value for _, value in rows]) if rows else None


def _of_label(rows: Labeled | None, wanted: str) -> float | None:
    return next((value for label, value in rows or () if label == wanted), None)


def _pcie(now: GpuNow) -> float | None:
    measured = _sum_of(now.gpu.pcie_profile_bytes_per_second)
    received, sent = now.gpu.pcie_receive_bytes_per_second, now.gpu.pcie_transmit_bytes_per_second
    if measured is not None or received is None or sent is None:
        return measured
    return received + sent


def default_limit(gpu: Gpu) -> float | None:
    """Return the power limit the board was built with: a lower one is to be seen."""
    return _of_label(gpu.power_limit_range_watts, "default") or gpu.power_limit_watts


def _heat(now: GpuNow) -> float | None:
    """Return degrees above usual air per watt: what cooling is worth, whatever the GPU does."""
    heat, power = now.gpu.temperature_celsius, now.power_watts
    limit = default_limit(now.gpu)
    if heat is None or power is None or not limit or power < LEAST_POWER * limit:
        return None
    return max(0.0, heat - AIR_CELSIUS) / power


@dataclass(frozen=True, slots=True)
class Signal:
    """One number that siblings have in common, and what difference of it means nothing.

    `share` is that difference as a share of the median, `least` in the signal's own unit; one in
    `doublings` is compared by ratio: traffic differs by factors. `least` is then added to both.
    """

    name: str
    value: Callable[[GpuNow], float | None]
    share: float = 0.0
    least: float = 0.0
    doublings: float = 0.0


SIGNALS = (
    Signal("sm_clock", lambda now: _of_label(now.gpu.clock_hertz, "sm"), share=0.02, least=15e6),
    Signal("power", lambda now: now.gpu.power_draw_watts, share=0.05, least=5.0),
    Signal("sm_activity", lambda now: _of_label(now.gpu.activity_ratio, "sm"), least=0.06),
    Signal("pcie", _pcie, least=50e6, doublings=0.5),
    Signal("nvlink", lambda now: now.nvlink_bytes_per_second, least=50e6, doublings=0.25),
)


NODE_SIGNALS = (
    Signal("temperature", _heat, share=0.075, least=0.001),
    Signal("power_limit", lambda now: now.gpu.power_limit_watts, share=0.03),
    Signal("other_workloads", lambda now: now.other_workloads, least=0.02),
)
"""Compared among all GPUs of a model, whichever work they do, or none."""


def load_of(now: GpuNow) -> tuple[float, float, float] | None:
    """Return memory ratio, power ratio and hundreds of degrees; None where one is not known."""
    gpu = now.gpu
    used, total = gpu.memory_used_bytes, gpu.memory_total_bytes
    power, heat = now.power_watts, gpu.temperature_celsius
    limit = default_limit(gpu)
    if used is None or not total or power is None or not limit or heat is None:
        return None
    return used / total, power / limit, heat / 100


def median(values: Iterable[float]) -> float:
    """Return the value in the middle."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[-middle - 1]) / 2
