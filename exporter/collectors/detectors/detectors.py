"""The enabled detectors: their input from a snapshot, and what they learn from it."""

from collections.abc import Set as AbstractSet
from pathlib import Path

from exporter.collectors.detectors.latency import LatencyDetector
from exporter.collectors.detectors.learned import VERSION, SavedDetectors, decode, to_text
from exporter.collectors.detectors.past import AnomalyDetector
from exporter.collectors.detectors.siblings import SiblingDetector
from exporter.collectors.detectors.signals import NewReadings
from exporter.collectors.detectors.values import Unusual
from exporter.collectors.gpu.values import Gpus
from exporter.collectors.workloads.values import TracedCall, TracesCalls
from exporter.config import Config
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from exporter.state import StateFile

NAME = "detectors.json"
STEPS = 2
"""Of a fit, done at a time: each takes about a millisecond, in which no scrape is answered."""

OWN_RULES = frozenset({"gpu_unlike_siblings", "gpu_unlike_itself"})
OWN_BELIEVED_SECS = 86_400.0
"""What is merely unusual for a day is the new usual, and learned."""

SHARED_KINDS = frozenset({"fan", "temperature", "power_supply"})
"""What has a fault here makes the readings of every GPU those of a broken node."""

KEEP_SECS = 3600.0


class Detectors:
    """Looks at one snapshot after the other; what is known of a GPU goes with it."""

    def __init__(
        self, siblings: SiblingDetector | None, anomaly: AnomalyDetector | None, boot_id: str = ""
    ) -> None:
        self._siblings = siblings
        self._anomaly = anomaly
        self._latency = LatencyDetector() if anomaly else None
        self._boot_id = boot_id
        self._readings = NewReadings()
        self._present: frozenset[str] = frozenset()
        self._kept_at: float | None = None

    def see(self, snapshot: Snapshot, before: Conclusions | None) -> Unusual:
        """Return what is unusual now; `before` tells which GPUs had a fault just before."""
        gpus = snapshot.reading(Gpus)
        fresh = [s for s in (gpus.states if gpus else ()) if s.up and s.is_fresh]
        present = frozenset(state.gpu.uuid for state in fresh)
        faulty = _faulty(before, present, snapshot.taken_at)
        readings = self._readings.of(snapshot)
        gone, self._present = self._present - present, present
        siblings, anomaly = self._siblings, self._anomaly
        for part in (self._readings, siblings, anomaly):
            if part is not None:
                part.forget(gone)
        calls = _traced_calls(snapshot)
        collective = {call.workload for call in calls or () if call.sent_bytes}
        return Unusual(
            siblings.see(readings, faulty, collective) if siblings else (),
            anomaly.see(readings, faulty) if anomaly else (),
            anomaly.models() if anomaly else (),
            self._latency.see(calls, snapshot.taken_boottime) if self._latency else (),
        )

    def advance(self) -> bool:
        """Do some milliseconds of a fit; False when there is nothing to do."""
        parts = (self._anomaly, self._latency)
        return any(part is not None and part.fitting.advance(STEPS) for part in parts)

    def pending_state(self, now: float) -> str | None:
        """Return once an hour what a restart should take over, as text."""
        if not self._boot_id or (self._kept_at is not None and now - self._kept_at < KEEP_SECS):
            return None
        self._kept_at = now
        usual = self._siblings.usual if self._siblings else {}
        learned = self._anomaly.learned if self._anomaly else {}
        return to_text(SavedDetectors(usual, learned), self._boot_id)


def _traced_calls(snapshot: Snapshot) -> tuple[TracedCall, ...] | None:
    """Return the traced calls; None where nothing is traced, or nothing was read this time."""
    tracing = [each for each in snapshot.readings.values() if isinstance(each, TracesCalls)]
    return tuple(call for each in tracing for call in each.traced_calls()) if tracing else None


def _faulty(before: Conclusions | None, present: AbstractSet[str], wall: float) -> AbstractSet[str]:
    """Return the GPUs that had a fault: what they say is not how GPUs are."""
    found: set[str] = set()
    for fault in before.active if before else ():
        if fault.rule in OWN_RULES:
            if wall - fault.since < OWN_BELIEVED_SECS:
                found.add(fault.subject.hw_id)
        elif fault.severity != "info":
            if fault.subject.kind in SHARED_KINDS:
                return present
            found.add(fault.subject.hw_id)
    return found


def state_file(folder: Path, boot_id: str) -> StateFile:
    """Name the file of this boot in this directory."""
    return StateFile(folder / NAME, boot_id, VERSION)


def detectors_of(
    config: Config, folder: Path | None, boot_id: str
) -> tuple[Detectors | None, StateFile | None]:
    """Return the detectors of this configuration, with what an earlier process learned."""
    settings = config.detectors
    if not (settings.siblings or settings.anomaly):
        return None, None
    file = state_file(folder, boot_id) if folder else None
    kept = (file.load(decode) if file else None) or SavedDetectors({}, {})
    found = Detectors(
        SiblingDetector(kept.usual) if settings.siblings else None,
        AnomalyDetector(kept.learned) if settings.anomaly else None,
        boot_id if file else "",
    )
    return found, file
