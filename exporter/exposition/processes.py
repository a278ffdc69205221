"""Families of processes, threads and open files."""

from collections.abc import Iterable

from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Row, families, reading
from exporter.model.node import Cpu
from exporter.model.process_counts import ProcessCounts, ProcessStates
from exporter.model.snapshot import Snapshot


def _states(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield running and blocked as the scheduler counts them; others where a walk is enabled."""
    cpu = snapshot.reading(Cpu)
    if cpu is not None:
        yield from one(cpu.processes_running, "running")
        yield from one(cpu.processes_blocked, "blocked")
    walked = snapshot.reading(ProcessStates)
    for state, count in walked.states if walked else ():
        yield (state,), count


FAMILIES = (
    family(
        "hw_processes",
        "Processes by state: running and blocked always, the others with source process_states.",
        _states,
        "state",
    ),
    *families(
        "hw_",
        reading(ProcessCounts),
        Row("processes_limit", "Maximum number of process and thread ids (pid_max)."),
        Row("threads", "Threads of all processes and of the kernel."),
        Row("file_descriptors_open", "Open file descriptors of all processes (file-nr)."),
        Row("file_descriptors_max", "Maximum number of open file descriptors (file-max)."),
    ),
)
