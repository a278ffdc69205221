"""Finds the new events of a snapshot, and adds what the catalogue and the node know of them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from exporter.faults.events.event_kinds import KERNEL_LOG, NVML
from exporter.faults.events.nvlink import HARMLESS_KINDS, decode_nvlink5, register_kinds
from exporter.faults.events.store import ENDED
from exporter.model.catalogue import UNKNOWN, Catalogue
from exporter.model.disk import whole_disk
from exporter.model.event import Event
from exporter.model.gpu import Gpus
from exporter.model.kernel_events import NVLINK5_CODES
from exporter.model.kernel_log import KernelLog
from exporter.model.probe import ExternalProbes
from exporter.model.snapshot import Snapshot
from exporter.model.workload import GpuClient, Workloads

NVLINK_CODE = 74
UNCORRECTED_BIT = 61
"""Of the status of a machine check: Intel SDM volume 3B, section 16.3.2.2."""

_WORD = re.compile(r"0x([0-9a-f]{1,8})")
_GPU_LIBRARY = re.compile(r"lib(?:nccl|cuda|cudart|cublas|cudnn)")
FATAL_CLASSES = ("fatal_port", "fatal_fabric")

MAX_REMEMBERED = 5_000
"""Processes whose job is remembered; the one first seen goes first."""

CRASHES = frozenset({"segfault", "process_trap"})


def enrich(event: Event, catalogue: Catalogue) -> Event:
    """Return the event with what its code means: `meaning`, `severity_class`, `advice`, `fatal`.

    Codes are decoded where they have parts, and what a partition says is about its disk.
    """
    code = event.fields.get("code", "")
    added: dict[str, str] = {}
    if event.kind == "xid" and code.isdigit():
        added = dict(_xid(event, int(code), catalogue))
    elif event.kind == "sxid" and code.isdigit():
        added = dict(_sxid(event, int(code), catalogue))
    elif event.kind == "mce" and "status" in event.fields:
        added = {"uncorrected": "yes" if _is_uncorrected(event) else "no"}
    elif event.kind == "gpu_recovery_action" and event.fields.get("action") == "none":
        added = {ENDED: "yes"}
    elif event.kind in CRASHES:
        library = event.fields.get("library", "")
        added = {"gpu_library": "yes" if _GPU_LIBRARY.search(library) else "no"}
    elif event.entity_type == "physical_disk":
        return replace(event, entity_id=whole_disk(event.entity_id))
    if not added:
        return event
    return replace(event, fields=MappingProxyType({**event.fields, **added}))


@dataclass(slots=True)
class GpuJobs:
    """Remembers the job of each process on a GPU, by pid, also after its end."""

    _clients: dict[int, GpuClient] = field(default_factory=dict)

    def see(self, snapshot: Snapshot) -> None:
        """Take in who is on the GPUs now."""
        workloads = snapshot.reading(Workloads)
        for client in workloads.clients if workloads else ():
            self._clients[client.pid] = client
        while len(self._clients) > MAX_REMEMBERED:
            del self._clients[next(iter(self._clients))]

    def named(self, event: Event) -> Event:
        """Return the event with the `job` of its process; a crash also with `on_gpu`."""
        added: dict[str, str] = {}
        if event.kind != "xid" and event.kind not in CRASHES:
            return event
        pid = event.fields.get("pid", "")
        client = self._clients.get(int(pid)) if pid.isdecimal() else None
        if event.kind == "xid" and pid.isdecimal():
            job = _job_of(client) if client else event.fields.get("name", "")
            added = {"job": job} if job else {}
        elif event.kind in CRASHES:
            is_on_gpu = client is not None or event.fields.get("gpu_library") == "yes"
            added = {"on_gpu": "yes" if is_on_gpu else "no"}
        if not added:
            return event
        return replace(event, fields=MappingProxyType({**event.fields, **added}))


def _is_uncorrected(event: Event) -> bool:
    """Tell whether a machine check was an exception, or its status says uncorrected."""
    status = int(event.fields["status"], 16)
    return "exception" in event.fields or bool(status >> UNCORRECTED_BIT & 1)


def _xid(event: Event, code: int, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    entry = catalogue.xid(code)
    yield "meaning", entry.meaning
    yield "severity_class", entry.severity
    yield "origin", entry.origin
    if code in NVLINK5_CODES and "info" in event.fields:
        meaning = decode_nvlink5(
            catalogue.nvlink5,
            xid=code,
            unit=event.fields.get("unit", ""),
            word=event.fields.get("severity", ""),
            info=int(event.fields["info"], 16),
            status=int(event.fields.get("status", "0"), 16),
        )
        yield "fatal", "yes" if meaning.fatal else "no"
        yield "advice", meaning.action
        return
    yield "advice", entry.action
    if code == NVLINK_CODE:
        yield "fatal", "yes" if _is_link_hardware(event) else "no"


def _is_link_hardware(event: Event) -> bool:
    """Whether the registers of Xid 74 say more than that something else went wrong."""
    words = [int(word, 16) for word in _WORD.findall(event.fields.get("registers", ""))]
    kinds = register_kinds(words)
    return not kinds or not kinds <= HARMLESS_KINDS


def _sxid(event: Event, code: int, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """Yield the word in the line, which is trusted before the table."""
    entry = catalogue.sxids.get(code)
    yield "meaning", entry.meaning if entry else event.fields.get("text", UNKNOWN)
    word = event.fields.get("severity", "").lower()
    fatality = entry.fatality if entry else UNKNOWN
    is_fatal = word == "fatal" if word else fatality in FATAL_CLASSES
    yield "fatal", "yes" if is_fatal else "no"
    yield "fatality", fatality


def _job_of(client: GpuClient) -> str:
    """Return what stays the same when a process of the job is started again."""
    job = client.workload
    if job is not None:
        return f"{job.namespace}/{job.pod}/{job.container}"
    return client.pod_uid or client.name or str(client.pid)


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
