"""Who waits for whom, from what ranks have entered; time goes on by numbers."""

from collections.abc import Mapping
from typing import Any

import pytest

from exporter.collectors.ebpf.calls import numbers_of
from exporter.collectors.ebpf.collectives.communicators import (
    MAX_RANKS,
    Communicators,
    RankProcesses,
)
from exporter.collectors.ebpf.collectives.lateness import WINDOWS
from exporter.collectors.ebpf.values import Communicator
from exporter.collectors.workloads.values import Workload
from tests.collectors.ebpf.batches import batch

SECOND = 1_000_000_000
FLUSH = 2 * SECOND
JOB = Workload("ml", "train-0", "main")
REDUCE = numbers_of(("nccl",))["ncclAllReduce"]
ID = 0x1F2E3D4C5B6A7988
STEP = SECOND // 10


class Job:
    """Ranks 0, 1, … with the pids 100, 101, …, and what the kernel prints of them."""

    def __init__(self, ranks: int, *, start_is_seen: bool = True, of: int | None = None) -> None:
        self.now = 1000 * SECOND
        self.ranks = ranks
        self.pids = [100 + rank for rank in range(ranks)]
        self.states: dict[int, str] = {}
        self.busy: dict[int, bool] = {}
        self.seen = Communicators()
        if start_is_seen:
            made = {
                f"{pid},{pid * 16}": [ID, of or ranks, rank, self.now]
                for rank, pid in enumerate(self.pids)
            }
            self.seen.take(batch(made=made), self.now)

    def flush(
        self,
        counts: Mapping[int, int],
        *,
        late: Mapping[int, int] | None = None,
        inside: Mapping[int, int] | None = None,
        times: int = 1,
    ) -> Communicator:
        """Two seconds go by in which ranks enter so often, some late; some are inside, since.

        What is said at the end, where as much happens several times.
        """
        for _ in range(times):
            self._go_on(counts, late or {}, inside or {})
            (found,) = self.judged()
        return found

    def _go_on(
        self, counts: Mapping[int, int], late: Mapping[int, int], inside: Mapping[int, int]
    ) -> None:
        met: dict[str, Any] = {}
        newest: dict[str, Any] = {}
        for rank, count in counts.items():
            key = f"{100 + rank},{100 + rank},{(100 + rank) * 16}"
            begin = self.now + late.get(rank, 0)
            met[f"{key},0"] = count
            met[f"{key},1"] = sum(begin + place * STEP for place in range(count))
            met[f"{key},2"] = count * (STEP // 1000) ** 2
            newest[key] = begin + (count - 1) * STEP
        self.now += FLUSH
        stuck = {
            f"{100 + rank},{100 + rank},{REDUCE}": [since, (100 + rank) * 16]
            for rank, since in inside.items()
        }
        self.seen.take(batch(met=met, newest=newest, **{"in": stuck}), self.now)

    def judged(self) -> tuple[Communicator, ...]:
        """What is said of each communicator."""
        alive = dict.fromkeys(self.pids, 1)
        workloads = dict.fromkeys(range(100, 100 + self.ranks), JOB)
        processes = RankProcesses(workloads, alive, self.states, self.busy)
        return self.seen.evaluate(self.now, processes)


def every(job: Job, count: int = 20) -> dict[int, int]:
    """All ranks enter so often."""
    return dict.fromkeys(range(job.ranks), count)


def test_a_rank_that_does_not_come_is_named() -> None:
    """The others wait inside: it is named with its state, since the slowest made no step."""
    job = Job(3)
    job.flush(every(job))
    job.states[101] = "stopped"
    job.flush({0: 1, 2: 1})
    began = job.now
    found = job.flush({}, inside={0: began, 2: began}, times=12)
    assert found.missing == "rank 1 (pid 101, stopped)"
    assert (found.missing_ranks, found.waiting_ranks, found.ranks_here) == (1, 2, 3)
    assert found.call == "ncclAllReduce"
    assert found.waiting_secs == pytest.approx(24.0)
    assert found.workload == JOB


def test_a_missing_rank_is_busy_only_if_all_are() -> None:
    """One that computes is called busy; of two that are missing both have to be."""
    job = Job(3)
    job.flush({0: 3, 1: 2, 2: 2})
    job.busy = {101: True, 102: True}
    found = job.flush({})
    assert found.missing == "rank 1 (pid 101, busy), rank 2 (pid 102, busy)"
    assert found.missing_busy is True
    job.busy = {101: True, 102: False}
    found = job.flush({})
    assert (found.missing_busy, found.missing_ranks) == (False, 2)
    job.busy = {101: True}
    found = job.flush({})
    assert found.missing_busy is None


def test_ranks_that_run_ahead_wait_too() -> None:
    """NCCL queues: who has entered more than another waits for it, without being inside."""
    job = Job(2)
    job.flush(every(job))
    job.flush({0: 3})
    found = job.flush({}, times=11)
    assert found.missing == "rank 1 (pid 101)"
    assert found.waiting_secs == pytest.approx(22.0)


def test_a_rank_behind_that_goes_on_is_not_missing() -> None:
    """One that is always a step behind, and makes steps, lets nobody wait."""
    job = Job(2)
    job.flush({0: 20, 1: 19})
    for _ in range(20):
        assert job.flush(every(job)).waiting_secs < 3.0


def test_all_inside_is_a_hang_without_a_missing_rank() -> None:
    """All ranks of this node are inside: nobody is missing, the longest wait counts."""
    job = Job(2, of=4)
    job.flush(every(job))
    began = job.now
    job.flush(every(job, 1), inside={0: began, 1: began + 1})
    found = job.flush({}, inside={0: began, 1: began + 1}, times=12)
    assert (found.missing, found.missing_ranks) == ("", 0)
    assert (found.waiting_ranks, found.ranks) == (2, 4)
    assert found.waiting_secs == pytest.approx(26.0)


def test_who_was_inside_is_forgotten_when_nobody_says_so_any_more() -> None:
    """A bpftrace that has ended says nothing: what it said last is old after a few seconds."""
    job = Job(2)
    job.flush(every(job), inside={0: job.now, 1: job.now})
    found = job.flush({}, times=5)
    assert found.waiting_secs == 0.0


def test_a_rank_that_ended_in_the_middle_is_missing() -> None:
    """Its process is gone while the others wait for it: it is named as ended."""
    job = Job(3)
    job.flush(every(job))
    job.pids.remove(102)
    job.flush({0: 1, 1: 1})
    found = job.flush({}, times=11)
    assert found.missing == "rank 2 (pid 102, ended)"
    assert found.pids == (100, 101)


def test_a_job_that_ends_waits_for_nobody() -> None:
    """Ranks leave one after the other, after equally many steps: nobody is missing."""
    job = Job(3)
    job.flush(every(job))
    for pid in (100, 101, 102):
        assert job.flush({}).waiting_secs == 0.0
        job.pids.remove(pid)
    assert job.judged() == ()
    assert not job.seen.pids


def test_destroyed_communicators_are_forgotten() -> None:
    """NcclCommDestroy takes the rank out, also where the address is used again at once."""
    job = Job(2)
    job.flush(every(job))
    gone = {"100,1600": job.now + 1, "101,1616": job.now + 1}
    job.seen.take(batch(gone=gone), job.now)
    assert job.judged() == ()
    again = {"100,1600": [ID + 1, 2, 0, job.now + 5], "101,1616": [ID + 1, 2, 1, job.now + 5]}
    job.seen.take(batch(made=again, gone=gone), job.now)
    assert [found.id for found in job.judged()] == [f"{ID + 1:016x}"]


def test_ranks_whose_start_was_not_seen_tell_by_who_is_inside() -> None:
    """Counts cannot be compared then: who is not inside while others are is missing."""
    job = Job(3, start_is_seen=False)
    job.flush({0: 20, 1: 12, 2: 20})
    assert job.flush({}).waiting_secs == 0.0
    began = job.now
    found = job.flush({}, inside={0: began, 2: began}, times=12)
    assert found.missing == "pid 101"
    assert found.ranks is None
    assert found.waiting_secs == pytest.approx(24.0)


def test_who_waits_in_one_of_several_communicators_is_not_missing() -> None:
    """Where no start was seen ranks are processes, whichever of their communicators waits."""
    job = Job(3, start_is_seen=False)
    other = {f"{pid},{pid},{pid * 16 + 8},0": 20 for pid in job.pids}
    job.seen.take(batch(met=other), job.now)
    found = job.flush(every(job), inside=dict.fromkeys(range(3), job.now))
    assert (found.missing, found.waiting_ranks, found.ranks_here) == ("", 3, 3)
    assert found.pids == (100, 101, 102)


def test_a_process_that_was_never_looked_at_is_given_time() -> None:
    """A rank may start between two looks; one that is never found has ended."""
    job = Job(2)
    job.pids.clear()
    job.flush(every(job))
    job.now += 16 * FLUSH
    assert job.judged() == ()


def test_one_late_rank_is_found() -> None:
    """It enters 30 ms later than the others in each window: named, with its share of a step."""
    job = Job(4)
    late = {2: 30_000_000}
    found = job.flush(every(job), late=late, times=2 * WINDOWS + 2)
    assert found.late == "rank 2 (pid 102)"
    assert found.late_pid == 102
    assert found.late_secs == pytest.approx(0.03, rel=0.01)
    assert found.late_ratio == pytest.approx(0.3, rel=0.05)


def test_one_late_rank_is_found_while_the_others_are_one_ahead_at_every_look() -> None:
    """Each look comes when the others have entered and it has not: it is as late as it is."""
    job = Job(4)
    began, late = job.now, [0, 0, 30_000_000, 0]
    entered = [0] * job.ranks
    for look in range(1, 2 * WINDOWS + 3):
        job.now = began + look * FLUSH + STEP // 10
        met: dict[str, Any] = {}
        newest: dict[str, Any] = {}
        for rank, after in enumerate(late):
            done = (job.now - began - after) // STEP + 1
            times = [began + place * STEP + after for place in range(entered[rank], done)]
            key = f"{100 + rank},{100 + rank},{(100 + rank) * 16}"
            entered[rank], newest[key] = done, times[-1]
            sums = (len(times), sum(times), len(times) * (STEP // 1000) ** 2)
            met |= {f"{key},{what}": number for what, number in enumerate(sums)}
        assert len(set(entered)) == 2
        job.seen.take(batch(met=met, newest=newest), job.now)
        (found,) = job.judged()
    assert found.late == "rank 2 (pid 102)"
    assert found.late_secs == pytest.approx(0.03, rel=0.01)
    assert found.late_ratio == pytest.approx(0.3, rel=0.05)


def test_turns_in_being_late_are_no_straggler() -> None:
    """Another rank is late in each window: nobody is late again and again."""
    job = Job(3)
    for number in range(30):
        found = job.flush(every(job), late={number // 2 % 3: 60_000_000})
        assert not found.late


def test_small_differences_are_no_share_of_a_step() -> None:
    """A rank that is always last by 3 ms of 100 is named, with a share far below any limit."""
    job = Job(2)
    found = job.flush(every(job), late={1: 3_000_000}, times=10)
    assert found.late_ratio < 0.04


def test_a_straggler_that_recovers_is_not_late_any_more() -> None:
    """The last windows count: when one of them is even, it is over."""
    job = Job(2)
    job.flush(every(job), late={1: 50_000_000}, times=10)
    found = job.flush(every(job), times=3)
    assert found.late_ratio < 0.01


def test_sums_that_wrap_are_compared_all_the_same() -> None:
    """The kernel keeps sums of times in 64 bits, and prints them with a sign."""
    job = Job(2)
    job.now = 2**62
    found = job.flush(every(job), late={1: 40_000_000}, times=8)
    assert found.late_ratio == pytest.approx(0.4, rel=0.05)


def test_calls_that_were_not_counted_make_no_rank_a_missing_one() -> None:
    """Who is one behind since bpftrace was restarted may be none: who waits inside tells then."""
    job = Job(3)
    job.flush({0: 20, 1: 20, 2: 19})
    job.seen.miss()
    job.now += 30 * SECOND
    found = job.flush(every(job))
    assert (found.missing, found.waiting_secs, found.ranks) == ("", 0.0, 3)
    found = job.flush({}, inside={0: job.now, 1: job.now})
    assert found.missing == "rank 2 (pid 102)"


def test_ranks_are_bounded() -> None:
    """A process that makes communicators without end costs nothing beyond the bound."""
    seen = Communicators()
    made = {f"7,{comm}": [comm, 1, 0, 5] for comm in range(MAX_RANKS + 500)}
    seen.take(batch(made=made), 10)
    assert len(seen.evaluate(10, RankProcesses({}, {7: 1}))) == MAX_RANKS
    seen.take(batch(met={"7,7,99999999,0": 3}), 10)
    assert len(seen.evaluate(10, RankProcesses({}, {7: 1}))) == MAX_RANKS
