"""How many processes, threads and open files the node has, and may have."""

from dataclasses import dataclass

from exporter.model.reading import Labeled


@dataclass(frozen=True, slots=True)
class ProcessCounts:
    """Numbers the kernel keeps anyway: no process is looked at."""

    processes_limit: int | None = None
    threads: int | None = None
    file_descriptors_open: int | None = None
    file_descriptors_max: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessStates:
    """Processes by state, from a walk over all of them."""

    states: Labeled
