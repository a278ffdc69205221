"""Who else comes to a GPU of the simulated node and is no incident: nothing of it is labelled.

Short tests on any GPU, for minutes; debuggers and notebooks that hold memory for hours and compute
next to nothing; people who share a GPU for their notebooks, each in bursts of minutes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from bench.unusual.jobs import DAY, GPUS, HOUR, Job

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A second workload on one GPU: the share of time it takes, and of memory that it holds."""

    name: str
    gpu: int
    begins: float
    ends: float
    load: float
    memory: float


def visits(seed: int, days: float, planned: Sequence[Job]) -> list[Visit]:
    """Return who comes in these days, by begin."""
    chance = Random(seed * 15_485_863 + 3)  # noqa: S311 - the same in every run
    found = [
        *_tests(chance, days),
        *_sleepers(chance, days),
        *(
            visit
            for job in planned
            if job.kind == "notebook" and chance.random() < 0.5
            for visit in _second_user(chance, job)
        ),
    ]
    return sorted(found, key=lambda visit: visit.begins)


def _tests(chance: Random, days: float) -> Iterator[Visit]:
    at = 0.0
    while (at := at + chance.expovariate(1 / (8 * HOUR))) < days * DAY:
        ends = at + chance.uniform(2, 10) * MINUTE
        load, memory = chance.uniform(0.2, 0.8), chance.uniform(0.02, 0.1)
        yield Visit("test", chance.randrange(GPUS), at, ends, load, memory)


def _sleepers(chance: Random, days: float) -> Iterator[Visit]:
    at = 0.0
    while (at := at + chance.expovariate(1 / (24 * HOUR))) < days * DAY:
        ends = at + chance.uniform(1, 8) * HOUR
        load, memory = chance.uniform(0, 0.03), chance.uniform(0.02, 0.2)
        yield Visit("debugger", chance.randrange(GPUS), at, ends, load, memory)


def _second_user(chance: Random, job: Job) -> Iterator[Visit]:
    """Yield bursts of work and pauses between them, until the job ends."""
    at, memory = job.begins, chance.uniform(0.02, 0.2)
    is_pause = True
    while at < job.ends:
        ends = min(job.ends, at + chance.expovariate(1 / ((40 if is_pause else 8) * MINUTE)))
        load = 0.0 if is_pause else chance.uniform(0.3, 0.8)
        yield from (Visit("second-user", gpu, at, ends, load, memory) for gpu in job.gpus)
        at, is_pause = ends, not is_pause
