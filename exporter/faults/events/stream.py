"""Finds the new events of a snapshot, and the event sources that work."""

from collections.abc import Iterable
from dataclasses import dataclass

from exporter.faults.events.event_kinds import KERNEL_LOG, NVML
from exporter.model.event import Event
from exporter.model.gpu import Gpus
from exporter.model.kernel_log import KernelLog
from exporter.model.probe import ExternalProbes
from exporter.model.snapshot import Snapshot


@dataclass(slots=True)
class EventStream:
    """Remembers what was taken before.

    After a restart that took over its memory (`is_resumed`), events that the process before had
    seen are not new.
    """

    is_resumed: bool = False
    _log_number: int = 0
    _nvml_number: int = 0
    _probe_count: int = 0

    def new_events(self, snapshot: Snapshot) -> tuple[Event, ...]:
        """Return the events that no snapshot before had."""
        return (
            *self._of_log(snapshot.reading(KernelLog)),
            *self._of_nvml(snapshot.reading(Gpus)),
            *self._of_probes(snapshot.reading(ExternalProbes)),
        )

    def event_sources(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the sources of events that work now."""
        gpus = snapshot.reading(Gpus)
        event_sources = {KERNEL_LOG} if snapshot.reading(KernelLog) is not None else set()
        if gpus is not None and gpus.backend.backend == NVML:
            event_sources.add(NVML)
        return frozenset(event_sources)

    def _of_log(self, log: KernelLog | None) -> Iterable[Event]:
        if log is None:
            return ()
        if self.is_resumed:
            self._log_number = max(self._log_number, log.first_new_number - 1)
        new = [event for event in log.events if event.number > self._log_number]
        self._log_number = max((event.number for event in new), default=self._log_number)
        return new

    def _of_nvml(self, gpus: Gpus | None) -> Iterable[Event]:
        events = gpus.events if gpus else ()
        new = [event for event in events if event.number > self._nvml_number]
        self._nvml_number = max((event.number for event in new), default=self._nvml_number)
        return new

    def _of_probes(self, probes: ExternalProbes | None) -> Iterable[Event]:
        if probes is None:
            return ()
        fresh = min(probes.event_count - self._probe_count, len(probes.events))
        self._probe_count = probes.event_count
        return probes.events[len(probes.events) - max(0, fresh) :]
