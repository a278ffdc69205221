"""Families of processes, threads and open files."""

from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.exposition.samples import of
from exporter.model.node import Cpu
from exporter.model.process_counts import ProcessCounts, ProcessStates
from exporter.model.snapshot import Snapshot


def _states(snapshot: Snapshot) -> Iterable[Sample]:
    """Running and blocked as the scheduler counts them; the others where a walk was asked for."""
    cpu = snapshot.reading(Cpu)
    if cpu is not None:
        yield from one(cpu.processes_running, "running")
        yield from one(cpu.processes_blocked, "blocked")
    walked = snapshot.reading(ProcessStates)
    for state, count in walked.states if walked else ():
        yield (state,), count


def _of(name: str, help_text: str, value: Callable[[ProcessCounts], float | None]) -> Family:
    return Family(name, help_text, Kind.GAUGE, (), of(ProcessCounts, value))


FAMILIES = (
    Family(
        "hw_processes",
        "Processes by state: running and blocked always, the others with source process_states.",
        Kind.GAUGE,
        ("state",),
        _states,
    ),
    _of("hw_processes_limit", "Process ids there can be.", lambda counts: counts.processes_limit),
    _of("hw_threads", "Threads of all processes and of the kernel.", lambda counts: counts.threads),
    _of(
        "hw_file_descriptors_open",
        "Open files of all processes.",
        lambda counts: counts.file_descriptors_open,
    ),
    _of(
        "hw_file_descriptors_max",
        "Open files there can be.",
        lambda counts: counts.file_descriptors_max,
    ),
)
