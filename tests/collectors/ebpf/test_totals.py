"""Summing up what bpftrace prints, by call and workload."""

from dataclasses import fields

import pytest

from exporter.collectors.ebpf.batch import Batch
from exporter.collectors.ebpf.calls import CALLS, numbers_of
from exporter.collectors.ebpf.capped import KEPT_SECS, OTHERS
from exporter.collectors.ebpf.totals import MAX_COMBINATIONS, CallTotals
from exporter.collectors.workloads.values import TracedCall, Workload
from exporter.config.ebpf import Ebpf
from tests.collectors.ebpf.batches import batch

JOB = Workload("ml", "train-0", "main")
MALLOC = numbers_of(("cuda",))["cudaMalloc"]


def hist(pid: int, *buckets: tuple[int, int], tid: int = 7) -> Batch:
    """A batch of durations: the last nanosecond of each bucket, and how many."""
    rows = [{"min": most // 2 + 1, "max": most, "count": count} for most, count in buckets]
    return batch(time={f"{pid},{tid},{MALLOC}": rows})


def only(totals: CallTotals) -> TracedCall:
    """The only total."""
    (call,) = totals.calls()
    return call


def test_threads_and_processes_of_a_workload_are_summed() -> None:
    """Counts of all threads, both sets of maps and all processes add up; so do sums and errors."""
    totals = CallTotals()
    totals.take(hist(10, (2047, 3), (4095, 2)))
    totals.take(hist(10, (2047, 1), tid=8))
    totals.take(hist(11, (4095, 5)))
    totals.take(batch(sum={f"10,7,{MALLOC},0": 9000, f"11,7,{MALLOC},0": 1000}))
    totals.take(batch(sum={f"10,7,{MALLOC},1": 2}))
    totals.settle({10: JOB, 11: JOB}, 1.0)
    call = only(totals)
    assert (call.call, call.workload, call.errors) == ("cudaMalloc", JOB, 2)
    assert call.durations.count == 11
    assert call.durations.sum == pytest.approx(1e-5)


@pytest.mark.parametrize(
    ("longest_ns", "bound"),
    [(1023, 1.024e-06), (1025, 4.096e-06), (4095, 4.096e-06), (8191, 1.6384e-05)],
)
def test_a_duration_counts_from_its_bound_on(longest_ns: int, bound: float) -> None:
    """The first bound that is not below the longest duration of a bucket counts it."""
    totals = CallTotals()
    totals.take(hist(10, (longest_ns, 1)))
    totals.settle({10: JOB}, 1.0)
    within = [limit for limit, count in only(totals).durations.buckets if count]
    assert within[0] == bound
    assert len(within) + [b for b, _ in only(totals).durations.buckets].index(bound) == 14


def test_beyond_the_last_bound_only_infinity_counts() -> None:
    """A call of a minute is in no bucket but the last."""
    totals = CallTotals()
    totals.take(hist(10, (2**36 - 1, 1)))
    totals.settle({10: JOB}, 1.0)
    assert [count for _, count in only(totals).durations.buckets[-2:]] == [0, 1]


def test_a_process_without_a_workload_is_counted_with_the_others() -> None:
    """What ended before it could be looked at is counted all the same."""
    totals = CallTotals()
    totals.take(hist(10, (2047, 3)))
    assert totals.pids == {10}
    totals.settle({}, 1.0)
    assert only(totals).workload == OTHERS
    assert not totals.pids


def test_workloads_are_bounded() -> None:
    """Beyond the bound, calls of further workloads are one sum: none is lost."""
    totals = CallTotals()
    pids = {pid: Workload("ml", f"job-{pid}", "main") for pid in range(MAX_COMBINATIONS + 30)}
    for pid in pids:
        totals.take(hist(pid, (2047, 1)))
    totals.settle(pids, 1.0)
    calls = totals.calls()
    assert len(calls) == MAX_COMBINATIONS + 1
    assert sum(call.durations.count for call in calls) == MAX_COMBINATIONS + 30


def test_an_ended_workload_is_forgotten_after_a_while() -> None:
    """Its counts are shown for a quarter of an hour; those of one that lives stay."""
    totals = CallTotals()
    other = Workload("ml", "idle", "main")
    totals.take(hist(10, (2047, 1)))
    totals.take(hist(11, (2047, 1)))
    totals.settle({10: JOB, 11: other}, 1.0)
    totals.settle({11: other}, KEPT_SECS)
    assert len(totals.calls()) == 2
    totals.settle({11: other}, KEPT_SECS + 2)
    assert only(totals).workload == other


def test_bytes_are_those_of_collectives() -> None:
    """Bytes of all threads add up; a call that has none says nothing of them."""
    totals = CallTotals()
    reduce = numbers_of(("nccl",))["ncclAllReduce"]
    totals.take(batch(sum={f"10,7,{reduce},2": 4000, f"10,8,{reduce},2": 2000}))
    totals.take(hist(10, (2047, 1)))
    totals.settle({10: JOB}, 1.0)
    assert {call.call: call.sent_bytes for call in totals.calls()} == {
        "cudaMalloc": None,
        "ncclAllReduce": 6000,
    }


@pytest.mark.parametrize(
    "strange",
    [
        batch(time={"10,7": []}),
        batch(time={"10,7,x": []}),
        batch(time={f"10,7,{MALLOC}": [{"count": 1}]}),
        batch(time={f"10,7,{MALLOC}": 5}),
        batch(sum={f"10,7,{MALLOC},0": []}),
    ],
)
def test_a_strange_batch_is_refused(strange: Batch) -> None:
    """What bpftrace does not print raises what the tracer expects, and counts nothing."""
    totals = CallTotals()
    with pytest.raises((AttributeError, KeyError, TypeError, ValueError)):
        totals.take(strange)
    totals.settle({}, 1.0)
    assert sum(call.durations.count for call in totals.calls()) == 0


def test_each_call_can_be_skipped_and_nothing_else() -> None:
    """A name that is no call would change nothing, and nobody would be told."""
    (skipped,) = [each for each in fields(Ebpf) if each.name == "skipped_calls"]
    assert skipped.metadata["one_of"] == tuple(call.name for call in CALLS)


def test_numbers_are_places_in_the_list() -> None:
    """A call is known in the kernel by its place; skipped ones and other layers have none."""
    numbers = numbers_of(("nccl",), ("ncclSend",))
    assert all(CALLS[number].name == name for name, number in numbers.items())
    assert "ncclAllReduce" in numbers
    assert "ncclSend" not in numbers
    assert "cudaMalloc" not in numbers
