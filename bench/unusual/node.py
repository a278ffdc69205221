"""A simulated node of eight GPUs: what its jobs and incidents make of the readings."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from bench.unusual.incidents import Incident
from bench.unusual.jobs import DAY, GPUS, HOUR, Job
from bench.unusual.visits import Visit
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.workloads.values import Workload, Workloads, WorkloadUse
from exporter.model.snapshot import Snapshot

NAME = "NVIDIA H100 80GB HBM3"
STEP_SECS = 30.0
LIMIT_WATTS = 700.0
IDLE_WATTS = 72.0
FULL_HERTZ = 1.98e9
IDLE_HERTZ = 345e6
MEMORY_BYTES = 80 * 2**30
NEIGHBOUR = "noisy_neighbour"
BOOTED_AT = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class Board:
    """How one GPU differs from the others: its place in the air, and its chip."""

    celsius_per_watt: float
    warms_secs: float
    power: float
    clock: float


@dataclass(slots=True)
class Work:
    """What one GPU has to do now, as shares of full work, and what it does of it.

    `taken` is the share of its time that guests of its job take, `guests_hold` of its memory.
    """

    load: float = 0.0
    job: Job | None = None
    unequal: float = 1.0
    taken: float = 0.0
    guests_hold: float = 0.0
    clock: float = 1.0
    speed: float = 1.0
    busy: float = 1.0
    watts: float = IDLE_WATTS


class Node:
    """Moves its jobs on, one reading after the other."""

    def __init__(
        self,
        seed: int,
        planned: Sequence[Job],
        broken: Sequence[Incident],
        visits: Sequence[Visit] = (),
    ) -> None:
        self._chance = Random(seed * 65_537 + 2)  # noqa: S311 - the same in every run
        self._jobs = sorted(planned, key=lambda job: job.begins)
        self._broken = broken
        self._visits = sorted(visits, key=lambda visit: visit.begins)
        self._sampling = Random(seed * 179_424_673 + 4)  # noqa: S311 - the same in every run
        self._boards = [self._board(place) for place in range(GPUS)]
        self._heat = [30.0] * GPUS
        self._tasks = [(0.0, 0.0)] * GPUS  # load and end of the task of each GPU
        self._air = 0.0

    def snapshots(self, days: float) -> Iterator[Snapshot]:
        """Yield the node from reading to reading."""
        for number in range(int(days * DAY / STEP_SECS)):
            yield self._snapshot(number, number * STEP_SECS)

    def _board(self, place: int) -> Board:
        """Draw a board; the second row sits in the warm air of the first."""
        chance = self._chance
        row = 0.010 if place % 2 else 0.0
        return Board(
            0.052 + row + chance.uniform(-0.003, 0.003),
            chance.uniform(60, 140),
            chance.uniform(0.95, 1.05),
            chance.uniform(0.985, 1.015),
        )

    def _snapshot(self, number: int, now: float) -> Snapshot:
        self._jobs = [job for job in self._jobs if job.ends > now]
        running = [job for job in self._jobs if job.begins <= now]
        wrong = {each.gpu: each for each in self._broken if each.begins <= now < each.ends}
        self._visits = [visit for visit in self._visits if visit.ends > now]
        guests = [visit for visit in self._visits if visit.begins <= now]
        guests += [_neighbour(each, now) for each in wrong.values() if each.kind == NEIGHBOUR]
        works = [Work() for _ in range(GPUS)]
        for guest in guests:
            works[guest.gpu].taken += guest.load
            works[guest.gpu].guests_hold += guest.memory
        for job in running:
            self._load(job, works, now)
        for place, work in enumerate(works):
            self._slow(work, self._boards[place], wrong.get(place))
        for job in running:
            _wait_for_each_other(job, works)
        self._air = max(-1.5, min(1.5, self._air + self._chance.gauss(0, 0.02)))
        states = tuple(
            self._state(place, works[place], wrong.get(place), now) for place in range(GPUS)
        )
        readings: Mapping[type, object] = {
            Gpus: Gpus(GpuBackend("nvml", "ok"), states),
            Workloads: Workloads("ok", 1.0, tuple(self._uses(running, guests, works))),
        }
        return Snapshot(
            "n", number, BOOTED_AT + now, now, 0.1, readings=MappingProxyType({**readings})
        )

    def _load(self, job: Job, works: Sequence[Work], now: float) -> None:
        common = _phase(job, now) * (1 + self._chance.gauss(0, 0.02))
        for rank, place in enumerate(job.gpus):
            work = works[place]
            work.job = job
            if job.is_synchronous:
                work.load = common
                work.unequal = 1 - job.unequal * rank / len(job.gpus)
            elif job.kind == "serve":
                busy = 0.45 + 0.25 * math.sin(2 * math.pi * (now % DAY) / DAY)
                work.load = busy + self._chance.gauss(0, 0.08)
            else:
                work.load = self._task(job, place, now)
            work.load = max(0.0, min(1.0, work.load))

    def _task(self, job: Job, place: int, now: float) -> float:
        """Return the load of tasks of minutes, in a notebook with long pauses between."""
        load, ends = self._tasks[place]
        if now >= ends:
            is_pause = job.kind == "notebook" and load > 0 and self._chance.random() < 0.8
            load = 0.0 if is_pause else self._chance.uniform(0.5, 1.0)
            mean = 40 * 60 if is_pause else 8 * 60
            self._tasks[place] = (load, now + self._chance.expovariate(1 / mean))
        return load

    def _slow(self, work: Work, board: Board, wrong: Incident | None) -> None:
        """Work out clock, power and speed of one GPU, as if it waited for nobody."""
        limit, clock = LIMIT_WATTS, board.clock
        if wrong is not None and wrong.kind == "slow_sibling":
            clock *= 1 - wrong.size
        elif wrong is not None and wrong.kind == "power_cap":
            limit *= wrong.size
        power = work.job.power * work.unequal if work.job else 0.6
        used = min(1.0, work.load + work.taken)
        wanted = IDLE_WATTS + used * power * board.power * 628 * clock**2
        if wanted > limit:
            clock *= max(0.4, (limit / wanted) ** 0.5)
        work.clock, work.watts = clock, min(limit, wanted)
        work.speed = clock * (1 - min(1.0, work.taken) * work.load)

    def _state(self, place: int, work: Work, wrong: Incident | None, now: float) -> GpuState:
        gauss = self._chance.gauss
        job, board = work.job, self._boards[place]
        watts = IDLE_WATTS + (work.watts - IDLE_WATTS) * (0.35 + 0.65 * work.busy)
        watts *= 1 + gauss(0, 0.015)
        heat = self._warm(place, board, watts, wrong, now)
        active = work.load * work.busy * (job.activity if job else 0.0) * work.unequal
        done = work.load * work.speed * work.busy
        memory = (job.memory if job else 0.0) + work.guests_hold
        limit = LIMIT_WATTS * (wrong.size if wrong and wrong.kind == "power_cap" else 1.0)
        clock = FULL_HERTZ * work.clock if work.load + work.taken > 0.02 else IDLE_HERTZ
        gpu = Gpu(
            index=place,
            uuid=f"GPU-{place}",
            name=NAME,
            memory_total_bytes=MEMORY_BYTES,
            memory_used_bytes=int(MEMORY_BYTES * min(0.99, 0.006 + memory)),
            power_limit_watts=limit,
            power_limit_range_watts=(("default", LIMIT_WATTS),),
            power_draw_watts=round(min(watts, limit * 1.01), 3),
            temperature_celsius=float(round(heat)),
            utilization_percent=float(round(100 * min(1.0, work.load * 1.5))),
            clock_hertz=(("sm", round(clock / 15e6) * 15e6),),
            activity_ratio=(("sm", max(0.0, active + gauss(0, 0.01))),),
            pcie_profile_bytes_per_second=(
                ("receive", self._traffic(job.pcie if job else 0.0, done, place == 0)),
            ),
            nvlink_profile_bytes_per_second=(
                ("receive", self._traffic(job.nvlink if job else 0.0, done, first=False)),
            ),
        )
        return GpuState(gpu, now)

    def _traffic(self, full: float, done: float, first: bool) -> float:  # noqa: FBT001 - a rank
        """Return traffic; the first rank also writes logs and checkpoints."""
        return max(0.0, full * done * (1.4 if first else 1.0) * (1 + self._chance.gauss(0, 0.05)))

    def _uses(
        self, running: Sequence[Job], guests: Sequence[Visit], works: Sequence[Work]
    ) -> Iterator[WorkloadUse]:
        """Yield who is on which GPU, with the SM time that the driver has sampled of each."""
        for job in running:
            for place in job.gpus:
                busy = min(1.0, 1.5 * works[place].load) * (1 - min(1.0, works[place].taken))
                yield self._use(place, Workload("ml", job.name, "main"), busy)
        for guest in guests:
            yield self._use(guest.gpu, Workload("other", guest.name, "main"), guest.load)

    def _use(self, place: int, workload: Workload, busy: float) -> WorkloadUse:
        """Return one use: now and then no sample of a process is there, and it reads as zero."""
        chance = self._sampling
        percent = 100 * (busy + chance.gauss(0, 0.04)) if chance.random() < 0.9 else 0.0
        percent = float(round(max(0.0, min(100.0, percent))))
        return WorkloadUse(f"GPU-{place}", workload, 1, sm_utilization_percent=percent)

    def _warm(
        self, place: int, board: Board, watts: float, wrong: Incident | None, now: float
    ) -> float:
        per_watt = board.celsius_per_watt
        if wrong is not None and wrong.kind == "heat_drift":
            worn = (now - wrong.begins) / (wrong.ends - wrong.begins)
            per_watt += wrong.size * worn / LIMIT_WATTS
        air = 24 + self._air + 2 * math.sin(2 * math.pi * (now % DAY) / DAY)
        target = air + per_watt * watts
        self._heat[place] += (target - self._heat[place]) * -math.expm1(
            -STEP_SECS / board.warms_secs
        )
        return self._heat[place]


def _phase(job: Job, now: float) -> float:
    """Return the share of full work of a synchronous job: begin, steps, pauses, ends of epochs."""
    since = now - job.begins
    if since < 180:
        return 0.05
    left = job.epoch - since % job.epoch
    if left < 40:
        return 0.04  # the checkpoint is written
    if left < min(300, 0.08 * job.epoch):
        return 0.6  # evaluation
    if job.pause and since % (0.6 * HOUR) < job.pause:
        return 0.08  # the next data come late
    return 0.97


def _wait_for_each_other(job: Job, works: Sequence[Work]) -> None:
    """Make the GPUs of a synchronous job as fast as the slowest, the others partly idle."""
    if not job.is_synchronous:
        return
    slowest = min(works[place].speed for place in job.gpus)
    for place in job.gpus:
        works[place].busy = slowest / works[place].speed


def _neighbour(incident: Incident, now: float) -> Visit:
    """Return the workload that takes its share of a GPU now, more and less by turns."""
    load = incident.size * (0.7 + 0.3 * math.sin(now / 200))
    return Visit("noise", incident.gpu, incident.begins, incident.ends, load, 0.08)
