"""Compares GPUs of the same workload, and finds the one that differs from the others.

Of each signal the distance from the median of the siblings counts, in units of what means
nothing or of the usual distance (MAD), whichever is more. What is always so is not unusual: one
GPU sits behind another in the air, one chip needs more voltage; each GPU's usual place among its
siblings is learned over days and taken off. It is never learned from a GPU that is far away.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field

from exporter.collectors.detectors.signals import NODE_SIGNALS, SIGNALS, GpuNow, Signal, median
from exporter.collectors.detectors.values import SiblingDeviation
from exporter.collectors.workloads.values import Workload
from exporter.model.reading import Labeled
from exporter.record import dataclass

MIN_SIBLINGS = 4
BUSY_PERCENT = 20.0
"""Below this utilization of the GPU in the middle a pause is compared, not work."""

SMOOTHED_SECS = 120.0
LONGEST_STEP_SECS = 60.0
"""After a pause one reading does not count for more than this."""

KEPT_SECS = 300.0
"""A comparison that could not be made for so long is no longer shown."""

LEARNED_SECS = 3 * 86_400.0
LEARNED_BELOW = 2.0
MAX_DEVIATION = 10.0
MAX_USUAL = 1000
MAD_TO_SIGMA = 1.4826
WAITING_BYTES = 10e6
"""NVLink traffic of each sibling from which on they wait for each other: collectives."""

Group = tuple[GpuNow, ...]


@dataclass(slots=True)
class UsualPlace:
    """The learned distance of one GPU from its siblings by one signal, in insignificant steps."""

    place: float = 0.0
    secs: float = 0.0  # how long it was learned


@dataclass(slots=True)
class _Away:
    """How far one GPU is from its siblings at present, and with which workload."""

    workload: Workload | None
    at: float
    smoothed: dict[str, float] = field(default_factory=dict)
    compared: dict[str, float] = field(default_factory=dict)  # when each was compared last
    is_synchronous: bool = False

    def end_of_reading(self, now: float) -> None:
        """Forget what could not be compared for some time."""
        self.at = now
        for signal, at in [*self.compared.items()]:
            if now - at >= KEPT_SECS:
                del self.compared[signal], self.smoothed[signal]
        if self.compared.keys().isdisjoint(signal.name for signal in SIGNALS):
            self.is_synchronous = False  # no workload is compared any more


class SiblingDetector:
    """Compares GPUs of one model that run the same workload, reading by reading."""

    def __init__(self, usual: Mapping[tuple[str, str], UsualPlace] | None = None) -> None:
        self.usual: dict[tuple[str, str], UsualPlace] = dict(usual or {})
        self._away: dict[str, _Away] = {}

    def see(
        self,
        readings: Collection[GpuNow],
        faulty: Collection[str],
        collective: Collection[Workload] = (),
    ) -> tuple[SiblingDeviation, ...]:
        """Take in new readings; `faulty` are GPUs whose place is not learned at present.

        `collective` are workloads that are known to call collectives.
        """
        found = [*groups(readings)]
        workload_of = {now.gpu.uuid: workload for workload, group in found for now in group}
        for now in readings:
            away, own = self._away.get(now.gpu.uuid), workload_of.get(now.gpu.uuid)
            if away is None or away.workload != own:
                self._away[now.gpu.uuid] = _Away(own, now.at)
        for workload, group in found:
            if _is_busy(group):
                self._compare_all(group, faulty, is_collective=workload in collective)
        for group in _of_one_model(readings):
            for signal in NODE_SIGNALS:
                self._compare(signal, group, faulty)
        for now in readings:
            self._away[now.gpu.uuid].end_of_reading(now.at)
        return tuple(
            SiblingDeviation(uuid, _rounded(away.smoothed), away.is_synchronous)
            for uuid, away in sorted(self._away.items())
            if away.smoothed
        )

    def forget(self, gone: Collection[str]) -> None:
        """Forget what is shown of GPUs that are not read any more; their usual place is kept."""
        for uuid in gone:
            self._away.pop(uuid, None)

    def _usual(self, key: tuple[str, str]) -> UsualPlace:
        if key not in self.usual and len(self.usual) >= MAX_USUAL:
            del self.usual[next(iter(self.usual))]
        return self.usual.setdefault(key, UsualPlace())

    def _compare_all(self, group: Group, faulty: Collection[str], *, is_collective: bool) -> None:
        for signal in SIGNALS:
            self._compare(signal, group, faulty)
        for now in group:
            away = self._away[now.gpu.uuid]
            away.is_synchronous = is_collective or _all_use_nvlink(group)

    def _compare(self, signal: Signal, group: Group, faulty: Collection[str]) -> None:
        distances = dict(_distances(signal, group))
        if len(distances) < MIN_SIBLINGS:
            return
        passed = {
            now.gpu.uuid: min(LONGEST_STEP_SECS, now.at - self._away[now.gpu.uuid].at)
            for now in group
        }
        self._take(signal, distances, passed, faulty)
        for now in group:
            if now.gpu.uuid in distances:
                self._away[now.gpu.uuid].compared[signal.name] = now.at

    def _take(
        self,
        signal: Signal,
        distances: Mapping[str, float],
        passed: Mapping[str, float],
        faulty: Collection[str],
    ) -> None:
        """Take off the usual place of each, and smooth what is left."""
        places = {uuid: self._usual((uuid, signal.name)) for uuid in distances}
        left = {uuid: distance - places[uuid].place for uuid, distance in distances.items()}
        middle = median(left.values())
        spread = MAD_TO_SIGMA * median(abs(value - middle) for value in left.values())
        for uuid, value in left.items():
            score = (value - middle) / max(1.0, spread)
            score = max(-MAX_DEVIATION, min(MAX_DEVIATION, score))
            smoothed = self._away[uuid].smoothed
            before = smoothed.get(signal.name, 0.0)
            share = -math.expm1(-passed[uuid] / SMOOTHED_SECS)
            smoothed[signal.name] = before + (score - before) * share
            is_away = max(abs(smoothed[signal.name]), abs(score)) > LEARNED_BELOW
            if not is_away and uuid not in faulty:
                _learn(places[uuid], value - middle, passed[uuid])


def _rounded(smoothed: Mapping[str, float]) -> Labeled:
    """Return the deviations as they are shown: more digits would be noise."""
    return tuple((name, round(value, 2)) for name, value in smoothed.items())


def _learn(usual: UsualPlace, distance: float, secs: float) -> None:
    """Move the usual place: at first by the mean of all readings, then by those of days."""
    usual.secs += secs
    if usual.secs:
        usual.place += distance * secs / min(usual.secs, LEARNED_SECS)


def groups(readings: Collection[GpuNow]) -> Iterator[tuple[Workload, Group]]:
    """Yield siblings: GPUs of one model with a workload in common; each in its largest group.

    A GPU that a second workload shares stays with the siblings of the first.
    """
    found: dict[tuple[str, Workload], list[GpuNow]] = {}
    for now in readings:
        for workload in now.workloads or ():
            found.setdefault((now.gpu.name, workload), []).append(now)
    taken: set[str] = set()
    for (_, workload), siblings in sorted(found.items(), key=lambda row: (-len(row[1]), row[0])):
        group = tuple(now for now in siblings if now.gpu.uuid not in taken)
        if len(group) >= MIN_SIBLINGS:
            taken.update(now.gpu.uuid for now in group)
            yield workload, group


def _of_one_model(readings: Collection[GpuNow]) -> Iterator[Group]:
    found: dict[str, list[GpuNow]] = {}
    for now in readings:
        found.setdefault(now.gpu.name, []).append(now)
    yield from map(tuple, found.values())


def _all_use_nvlink(group: Group) -> bool:
    return all((now.nvlink_bytes_per_second or 0) > WAITING_BYTES for now in group)


def _is_busy(group: Group) -> bool:
    uses = [now.gpu.utilization_percent for now in group]
    known = [use for use in uses if use is not None]
    return bool(known) and median(known) > BUSY_PERCENT


def _distances(signal: Signal, group: Group) -> Iterator[tuple[str, float]]:
    """Yield the distance of each GPU from the median, in insignificant steps of the signal."""
    known = [(now.gpu.uuid, value) for now in group if (value := signal.value(now)) is not None]
    if not known:
        return
    middle = median(value for _, value in known)
    for uuid, value in known:
        if signal.doublings:
            ratio = (value + signal.least) / (middle + signal.least)
            yield uuid, math.log2(ratio) / signal.doublings
        else:
            yield uuid, (value - middle) / max(signal.share * abs(middle), signal.least)
