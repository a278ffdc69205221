"""Energy of a GPU shared among its workloads."""

import random

import pytest

from exporter.collectors.workloads.usage import EnergyAttribution, IdleTime
from exporter.collectors.workloads.values import Workload

A, B, C = (Workload("ml", name, "c") for name in "abc")


def test_shares_follow_the_utilization() -> None:
    """Each gets its share of the time, the rest is idle, and what was before is nobody's."""
    meter = EnergyAttribution()
    meter.update("GPU-0", 1000.0, {A: 50.0, B: 10.0})
    shares = meter.update("GPU-0", 1100.0, {A: 50.0, B: 10.0})
    assert shares.workloads == {A: 50.0, B: 10.0}
    assert (shares.idle, shares.ended) == (1040.0, 0.0)


def test_more_than_all_is_scaled() -> None:
    """Shares that add up to more than the whole give the whole and no more."""
    meter = EnergyAttribution()
    meter.update("GPU-0", 0.0, {})
    assert meter.update("GPU-0", 100.0, {A: 100.0, B: 300.0}).workloads == {A: 25.0, B: 75.0}


def test_energy_of_an_unknown_share_is_not_idle() -> None:
    """A workload without utilization has no energy; nobody says that the GPU was idle meanwhile."""
    meter = EnergyAttribution()
    meter.update("GPU-0", 0.0, {A: None, B: 20.0})
    shares = meter.update("GPU-0", 100.0, {A: None, B: 20.0})
    assert (shares.workloads, shares.idle) == ({B: 20.0}, 0.0)
    assert meter.update("GPU-0", 200.0, {B: 20.0}).idle == 80.0


def test_energy_of_a_process_of_nobody_is_not_idle() -> None:
    """Of a process whose pod is gone the share is known, but not whose it is."""
    meter = EnergyAttribution()
    meter.update("GPU-0", 0.0, {None: 70.0})
    shares = meter.update("GPU-0", 100.0, {None: 70.0})
    assert (shares.workloads, shares.idle) == ({}, 30.0)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_or_counted_twice(seed: int) -> None:
    """Workloads, idle and ended ones together are the counter, whatever comes, goes or resets."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    meter = EnergyAttribution()
    counters = {"GPU-0": 5e6, "GPU-1": 0.0}
    before: dict[tuple[str, Workload], float] = {}
    for _ in range(300):
        uuid = chance.choice(tuple(counters))
        has_reset = chance.random() < 0.02
        increase = chance.choice((0.0, chance.uniform(0, 10_000)))
        counters[uuid] = 3.0 if has_reset else counters[uuid] + increase
        present = chance.sample((A, B, C), chance.randrange(4))
        percents: dict[Workload | None, float | None] = {
            it: chance.choice((0.0, chance.uniform(0, 100))) for it in present
        }
        shares = meter.update(uuid, counters[uuid], percents)
        whole = sum(shares.workloads.values()) + shares.idle + shares.ended
        assert whole == pytest.approx(counters[uuid])
        for workload, joules in shares.workloads.items():
            assert joules >= (0.0 if has_reset else before.get((uuid, workload), 0.0))
        before = {key: value for key, value in before.items() if key[0] != uuid}
        before |= {(uuid, workload): joules for workload, joules in shares.workloads.items()}


def test_a_reading_that_is_seen_twice_changes_nothing() -> None:
    """An early publication and the cache show the same counter again: shares stay."""
    meter = EnergyAttribution()
    meter.update("GPU-0", 100.0, {A: 100.0})
    first = meter.update("GPU-0", 200.0, {A: 100.0})
    assert meter.update("GPU-0", 200.0, {A: 100.0}) == first
    assert first.workloads == {A: 100.0}


def test_what_is_forgotten_begins_anew() -> None:
    """A GPU that left and came back is a new account; so is a holding that ended."""
    meter = EnergyAttribution()
    meter.update("GPU-0", 0.0, {A: 100.0})
    meter.update("GPU-0", 50.0, {A: 100.0})
    meter.forget_all_but(frozenset())
    assert meter.update("GPU-0", 60.0, {A: 100.0}).workloads == {A: 0.0}
    idle = IdleTime()
    idle.update("GPU-0", A, is_active=False, boottime=0.0)
    idle.forget_all_but(frozenset())
    assert idle.update("GPU-0", A, is_active=False, boottime=90.0) == 0.0
