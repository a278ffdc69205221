"""What follows for one GPU from what its siblings, its links, its fans and its users say."""

from dataclasses import replace

import pytest

from exporter.collectors.gpu.entity_fields import derived
from exporter.collectors.gpu.values import Gpu, GpuProcess, GpuState
from exporter.collectors.workloads.values import GpuTotals, Workload, Workloads, WorkloadUse
from exporter.faults.values import Value

BRAKE = "hw_power_brake_slowdown"
WORK = Workload("ns", "pod", "main")


def card(number: int, **fields: object) -> GpuState:
    """One of several GPUs of the same name, busy."""
    known = Gpu(number, f"GPU-{number}", "H100", utilization_percent=90.0)
    return GpuState(replace(known, **fields), 100.0)  # type: ignore[arg-type]  # fields by name


def of_first(name: str, *states: GpuState, workloads: Workloads | None = None) -> Value:
    """What this field of the first of these GPUs is."""
    return derived(states, workloads)[0][name]


def links(*up: int) -> dict[str, object]:
    """The state of each link."""
    return {"nvlink_up": tuple((str(n), is_up) for n, is_up in enumerate(up))}


def test_links_are_counted_and_named() -> None:
    """How many are up and down, and the numbers of those that are down."""
    assert of_first("links_up", card(0, **links(1, 1, 0))) == 2
    assert of_first("links_down", card(0, **links(1, 1, 0))) == 1
    assert of_first("links_down", card(0)) is None
    assert of_first("inactive_links", card(0)) is None
    assert of_first("inactive_links", card(0, **links(1, 1))) is None
    assert of_first("inactive_links", card(0, **links(0, 0, 0, 1, 1, 0, 1, 0, 0))) == "0-2, 5, 7-8"


@pytest.mark.parametrize(
    ("name", "fabric", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", "completed", 1),
        ("NVIDIA H100 80GB HBM3", "in_progress", 0),
        ("NVIDIA A100-SXM4-80GB", None, 1),
        ("Tesla V100-SXM2-32GB", None, 0),
        ("NVIDIA A100 80GB PCIe", None, 0),
        ("NVIDIA GH200 480GB", None, 0),
        ("NVIDIA GeForce RTX 3090", None, 0),
    ],
)
def test_all_links_are_wired_on_boards_with_switches(
    name: str, fabric: str | None, expected: int
) -> None:
    """A connector without a bridge is no broken link; the fabric, or the name, tells them apart."""
    assert of_first("all_links_wired", card(0, name=name, fabric_state=fabric)) == expected


def test_most_links_up_are_those_of_any_gpu_of_the_name() -> None:
    """Its own count, as those of siblings that answer."""
    own, other = card(0, **links(0, 0)), card(1, **links(1, 0))
    assert of_first("most_links_up", own, card(2)) == 0
    assert of_first("most_links_up", own, other) == 1
    assert of_first("most_links_up", other, own) == 1
    assert of_first("most_links_up", own, replace(other, up=False)) == 0


def test_links_of_siblings_are_those_of_the_better_half_of_them() -> None:
    """Of the same name, answering, and said; its own links do not count, nor do a few bridges."""
    own = card(0, **links(0, 0))
    others = (
        card(1, **links(1, 1, 0, 0)),
        card(2, **links(1, 1, 1, 0)),
        card(3),
        card(4, name="T4", **links(1, 1)),
        replace(card(5, **links(1, 1)), up=False),
    )
    assert of_first("links_down_of_siblings", own, *others) == 1
    assert of_first("links_down_of_siblings", own) is None
    bridged = (card(1, **links(1, 1)), card(2, **links(0, 0)), card(3, **links(0, 0)))
    assert of_first("links_down_of_siblings", own, *bridged) == 2


@pytest.mark.parametrize(
    ("siblings", "mig", "expected"), [(2, None, None), (3, None, 1), (3, False, 1), (3, True, None)]
)
def test_links_up_are_compared_among_four_or_more(
    siblings: int, *, mig: bool | None, expected: int | None
) -> None:
    """Two or three may be joined by a bridge; in MIG mode there is no NVLink."""
    own = card(0, mig_enabled=mig, **links(1, 1))
    others = [card(n, **links(1, n % 2)) for n in range(2, siblings + 2)]
    assert of_first("links_up_of_siblings", own, *others) == expected


@pytest.mark.parametrize(
    ("brakes", "expected"),
    [((1, 1), 1.0), ((1, 0), 0.0), ((0, 0), 0.0), ((1,), 0.0), ((1, None), None)],
)
def test_the_rack_brakes_when_all_gpus_are_braked(
    brakes: tuple[int | None, ...], expected: float | None
) -> None:
    """One alone is no rack; where one does not say it is unknown; one that is down is not asked."""
    states = [
        card(n, throttle_active=None if brake is None else ((BRAKE, brake), ("idle", 0)))
        for n, brake in enumerate(brakes)
    ]
    down = replace(card(9), up=False)
    assert of_first("power_brake_on_all", *states, down) == expected


def test_fans_that_stand_are_counted() -> None:
    """A card without fans has none that stand."""
    assert of_first("fans_stopped", card(0, fan_speed_percent=(("0", 0.0), ("1", 30.0)))) == 1
    assert of_first("fans_stopped", card(0, fan_speed_percent=())) is None


def test_processes_that_cannot_be_seen_are_not_none() -> None:
    """An empty list is none, no list is unknown."""
    assert of_first("process_count", card(0)) is None
    assert of_first("process_count", card(0, processes=())) == 0
    one = GpuProcess(7, "compute", None)
    assert of_first("process_count", card(0, processes=(one,))) == 1


def clocked(number: int, clock: float, busy: float = 90.0, word: str = "sm") -> GpuState:
    """A GPU with this clock."""
    return card(number, clock_hertz=((word, clock),), utilization_percent=busy)


def test_a_clock_is_compared_with_the_median_of_busy_siblings() -> None:
    """Of the same name and fresh, at least two of them; the clock of graphics where it is one."""
    slow = clocked(0, 500.0)
    busy = [clocked(1, 1000.0), clocked(2, 2000.0, word="graphics")]
    not_asked = [
        clocked(3, 9000.0, busy=20.0),
        replace(clocked(4, 9000.0), stale=True),
        replace(clocked(5, 9000.0), expired=True),
        replace(clocked(6, 9000.0), gpu=replace(clocked(6, 9000.0).gpu, name="T4")),
        card(7, clock_hertz=(("sm", 9000.0),), utilization_percent=None),
        card(8),
    ]
    ratio = "clock_ratio_to_siblings"
    assert of_first(ratio, slow, *busy, *not_asked) == pytest.approx(500 / 1500)
    assert of_first(ratio, slow, *busy, clocked(9, 1200.0)) == pytest.approx(500 / 1200)
    four = [*busy, clocked(9, 1200.0), clocked(10, 1000.0)]
    assert of_first(ratio, slow, *four) == pytest.approx(500 / 1100)
    assert of_first(ratio, slow, busy[0], *not_asked) is None
    assert of_first(ratio, clocked(0, 500.0, busy=20.0), *busy) is None
    assert of_first(ratio, clocked(0, 500.0, busy=20.1), *busy) == pytest.approx(500 / 1500)
    assert of_first(ratio, card(0), *busy) is None


def test_what_users_leave_idle_is_said_of_their_gpu() -> None:
    """The longest time of all that hold it; allocated and without a process; memory of nobody."""
    use = WorkloadUse("GPU-0", WORK, processes=1, idle_allocated_secs=60.0, is_allocated=True)
    uses = (
        use,
        replace(use, idle_allocated_secs=90.0),
        replace(use, idle_allocated_secs=None, processes=0),
        replace(use, idle_allocated_secs=None, processes=0, is_allocated=False),
        replace(use, gpu_uuid="GPU-1", processes=0, idle_allocated_secs=900.0),
    )
    totals = (GpuTotals("GPU-1", orphan_memory_bytes=7), GpuTotals("GPU-0", orphan_memory_bytes=5))
    (known,) = derived((card(0),), Workloads("ok", uses=uses, totals=totals))
    names = ("orphan_memory_bytes", "idle_allocated_secs", "allocated_without_process")
    assert [known[name] for name in names] == [5, 90.0, 1]
    (nobody,) = derived((card(2),), Workloads("ok", uses=uses, totals=totals))
    assert [nobody[name] for name in names] == [None, None, 0]
    assert names[0] not in derived((card(0),), None)[0]


@pytest.mark.parametrize("age", ["stale", "expired"])
def test_nothing_follows_from_old_values(age: str) -> None:
    """A GPU served from the cache is not counted at all."""
    old = replace(card(0, **links(0)), **{age: True})  # type: ignore[arg-type]  # fields by name
    assert derived((old,), None) == [{}]
