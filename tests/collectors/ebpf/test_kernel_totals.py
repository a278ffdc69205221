"""Summing up the events of the kernel that bpftrace prints."""

from pathlib import Path

import pytest

from exporter.collectors.ebpf.capped import KEPT_SECS, OTHERS
from exporter.collectors.ebpf.kernel_program import (
    LATENCY,
    RETRANSMITS,
    TRACEPOINTS,
    count_events,
    not_countable,
)
from exporter.collectors.ebpf.kernel_totals import MAX_DISKS, MAX_USERS, MAX_WAITING, KernelTotals
from exporter.collectors.ebpf.values import Retransmits
from exporter.collectors.workloads.values import Workload
from tests.collectors.ebpf.batches import batch

JOB = Workload("ml", "train-0", "main")
SDA, SDB = 8 << 20, 8 << 20 | 16
READ = ord("R")


def test_segments_of_all_sockets_of_a_user_are_summed() -> None:
    """Batches add up; what is of nobody known is of an unknown container."""
    totals = KernelTotals()
    totals.take(batch(retransmits={"77,10": 3, "77,11": 1}))
    totals.take(batch(retransmits={"77,10": 2, "1,0": 4}))
    assert totals.openers == {(77, 10), (77, 11), (1, 0)}
    totals.settle({(77, 10): (JOB, "python"), (77, 11): (JOB, "python")}, 1.0)
    assert totals.retransmits() == (
        Retransmits(Workload("", "", "unknown"), "", 4),
        Retransmits(JOB, "python", 6),
    )
    assert totals.openers == frozenset()


def test_users_are_bounded_and_forgotten() -> None:
    """What comes after the sixty-fourth is of others; nobody is kept for ever."""
    totals = KernelTotals()
    users = {(n, 1): (Workload("ml", f"p{n}", "main"), "") for n in range(MAX_USERS + 5)}
    totals.take(batch(retransmits={f"{n},1": 1 for n, _ in users}))
    totals.settle(users, 1.0)
    found = totals.retransmits()
    assert len(found) == MAX_USERS + 1
    assert sum(one.segments for one in found) == MAX_USERS + 5
    assert found[0] == Retransmits(OTHERS, "", 5)
    totals.settle({}, 1.0 + KEPT_SECS)
    assert len(totals.retransmits()) == MAX_USERS + 1
    totals.settle({}, 1.1 + KEPT_SECS)
    assert totals.retransmits() == ()


def test_a_flood_of_sockets_waits_in_a_bounded_place() -> None:
    """No segment is lost: beyond the bound they are of nobody known."""
    totals = KernelTotals()
    totals.take(batch(retransmits={f"{n},1": 1 for n in range(MAX_WAITING + 10)}))
    assert len(totals.openers) == MAX_WAITING + 1
    totals.settle({}, 1.0)
    assert [one.segments for one in totals.retransmits()] == [MAX_WAITING + 10]


def _rows(*buckets: tuple[int, int]) -> list[dict[str, int]]:
    return [{"min": most // 2 + 1, "max": most, "count": count} for most, count in buckets]


def test_requests_are_told_apart_by_disk_and_operation() -> None:
    """By the first letter of their kind, a number; sums are seconds."""
    totals = KernelTotals()
    rows = {f"{SDA},{READ}": _rows((2047, 3), (4095, 1)), f"{SDA},{ord('W')}": _rows((1, 2))}
    totals.take(batch(time=rows, sum={f"{SDA},{READ}": 2000}))
    others = {f"{SDB},{ord('D')}": _rows((2**40, 1)), f"{SDB},{ord('N')}": _rows((1, 1))}
    totals.take(batch(time=others))
    found = {(one.device, one.operation): one.latency for one in totals.latencies({SDA: "sda"})}
    assert {key: each.count for key, each in found.items()} == {
        ("sda", "read"): 4,
        ("sda", "write"): 2,
    }
    assert found["sda", "read"].sum == pytest.approx(2e-6)
    both = totals.latencies({SDA: "sda", SDB: "sdb"})
    assert [(one.device, one.operation) for one in both][-1] == ("sdb", "discard")


def test_paths_to_one_disk_are_one() -> None:
    """Numbers that have the same name are summed."""
    totals = KernelTotals()
    totals.take(batch(time={f"{SDA},{READ}": _rows((2047, 3)), f"{SDB},{READ}": _rows((2047, 4))}))
    (one,) = totals.latencies({SDA: "nvme0n1", SDB: "nvme0n1"})
    assert one.latency.count == 7
    (again,) = totals.latencies({SDA: "nvme0n1", SDB: "nvme0n1"})
    assert again.latency.count == 7


def test_disks_are_bounded() -> None:
    """A crowd of disks does not grow beyond it."""
    totals = KernelTotals()
    totals.take(batch(time={f"{n},{READ}": _rows((1, 1)) for n in range(MAX_DISKS + 9)}))
    assert len(totals.disks) == MAX_DISKS


def test_a_kernel_without_a_tracepoint_says_so(tmp_path: Path) -> None:
    """Each kind names what it misses; retransmits need types of the kernel too."""
    for tracepoint in TRACEPOINTS[LATENCY]:
        (tmp_path / tracepoint).mkdir(parents=True)
    btf = tmp_path / "vmlinux"
    assert not_countable(LATENCY, tmp_path, btf) is None
    assert not_countable(RETRANSMITS, tmp_path, btf) == (
        "this kernel has no tracepoint tcp:tcp_retransmit_skb"
    )
    for tracepoint in TRACEPOINTS[RETRANSMITS]:
        (tmp_path / tracepoint).mkdir(parents=True)
    assert not_countable(RETRANSMITS, tmp_path, btf) == (
        "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)"
    )
    btf.touch()
    assert not_countable(RETRANSMITS, tmp_path, btf) is None


@pytest.mark.parametrize("kinds", [(LATENCY,), (RETRANSMITS,), (RETRANSMITS, LATENCY)])
def test_only_what_is_wanted_is_attached_to(kinds: tuple[str, ...]) -> None:
    """The other kind costs nothing."""
    text = count_events(kinds, reports_failures=False)
    for kind, tracepoints in TRACEPOINTS.items():
        for tracepoint in tracepoints:
            assert (f"tracepoint:{tracepoint.replace('/', ':')}" in text) == (kind in kinds)


def test_no_key_holds_what_lies_behind_a_text() -> None:
    """The kernel leaves bytes behind the kind of a request: as a key it is several of one text."""
    text = count_events((LATENCY,), reports_failures=False)
    assert "$kind = *(uint8 *)args->rwbs;" in text
    assert text.count("rwbs") == 1


def test_what_could_not_be_sent_is_no_retransmit() -> None:
    """Where the tracepoint reports failures too, they are left out, as in RetransSegs."""
    new, old = (count_events([RETRANSMITS], reports_failures=each) for each in (True, False))
    assert "tracepoint:tcp:tcp_retransmit_skb /args->err == 0/ {" in new
    assert "tracepoint:tcp:tcp_retransmit_skb {" in old
