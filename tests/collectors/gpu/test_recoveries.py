"""What gets well makes nothing ill: the program on a driver in virtual time."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import TypeVar

import pytest

from exporter.collectors.gpu.nvml import VITAL_CALLS
from exporter.collectors.gpu.values import Gpus
from exporter.reports.faults import faults_document
from exporter.reports.incidents import verdict_of
from tests.collectors.gpu.simulated_driver import (
    LIBRARY,
    SimulatedDriver,
    SimulatedNode,
    Trouble,
    faults,
)
from tests.collectors.gpu.trouble_schedules import HEALING_SECS, Schedule, schedule
from tests.fakes.virtual_time import in_virtual_time, run_virtually

T = TypeVar("T")

SCHEDULES, ALL_SCHEDULES = 16, 200
"""How many are played, and how many by `make soak`; nothing in them waits for real."""

PLAYED_EVERY = 3
"""Of all combinations each third is played, by `make soak` all."""

HANGS = tuple(product([(3,), (1, 6), tuple(range(8))], [80.0, 84.3, 87.1, 91.7], [1.0, 5.0, 15.0]))
CRASHES = tuple(
    product(sorted(VITAL_CALLS), ["nvidia-smi", "no nvidia-smi"], [5.0, 14.0, 40.0], [1.0, 15.0])
)

pytestmark = pytest.mark.slow

NOTICE_SECS = 0.2
"""A call of the simulated driver goes on so late at most after it is well again."""


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that shows that a driver is loaded."""
    path = tmp_path / "version"
    path.touch()
    return path


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the tests their seeds and combinations."""
    is_soak = metafunc.config.getoption("--all-scenes")
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(ALL_SCHEDULES if is_soak else SCHEDULES))
    for name, every in (("hang", HANGS), ("crash", CRASHES)):
        if name in metafunc.fixturenames:
            some = every if is_soak else [*_some(every)]
            ids = ["-".join(map(str, each)) for each in some]
            metafunc.parametrize(name, some, ids=ids)


def _some(every: Sequence[T]) -> Iterator[T]:
    """Yield each third, another one in each round."""
    for place, each in enumerate(every):
        if (place + place // PLAYED_EVERY) % PLAYED_EVERY == 0:
            yield each


@pytest.mark.parametrize("every", [HANGS, CRASHES], ids=["hangs", "crashes"])
def test_every_two_values_are_played_together(every: Sequence[tuple[object, ...]]) -> None:
    """By default only combinations of three and more values are left out."""
    found, wanted = (
        {
            (one, other, case[one], case[other])
            for case in cases
            for one, other in combinations(range(len(case)), 2)
        }
        for cases in (_some(every), every)
    )
    assert found == wanted


@in_virtual_time
async def test_no_gpu_is_lost_after_a_hang(
    marker: Path, hang: tuple[tuple[int, ...], float, float]
) -> None:
    """GPUs of a slow driver hang and come back, one may answer during a pass: none is lost."""
    places, healed_at, interval_secs = hang
    driver = SimulatedDriver(8)
    node = SimulatedNode(driver, interval_secs, marker)
    async with node.collecting():
        driver.troubles = {place: Trouble("slow") for place in range(8)}
        await asyncio.sleep(40)
        driver.troubles |= {place: Trouble("hang") for place in places}
        await asyncio.sleep(healed_at - 40)
        driver.troubles |= {place: Trouble("slow") for place in places}
        await asyncio.sleep(120)
    assert not [begun for begun in node.begun() if begun[0] > healed_at]
    assert all(state.up and not state.stale for state in node.states)


def test_a_crash_of_what_everything_needs(
    marker: Path, crash: tuple[str, str, float, float]
) -> None:
    """No GPU is down without a critical fault, few processes are started, all is soon fresh."""
    call, smi, secs, interval_secs = crash
    is_library = call in ("nvmlInit", "nvmlDeviceGetCount")
    for places in ([LIBRARY],) if is_library else ([2], list(range(8))):
        driver = SimulatedDriver(8, has_smi=smi == "nvidia-smi")
        troubles = {place: Trouble("crash", call) for place in places}
        run_virtually(_crash(driver, interval_secs, marker, troubles, secs))


async def _crash(
    driver: SimulatedDriver,
    interval_secs: float,
    marker: Path,
    troubles: Mapping[int | None, Trouble],
    secs: float,
) -> None:
    node = SimulatedNode(driver, interval_secs, marker)
    is_start = any(trouble.call == "nvmlInit" for trouble in troubles.values())
    begin = 0.0 if is_start else 40.0  # it is called by a new process only
    async with node.collecting():
        await asyncio.sleep(begin)
        driver.troubles = dict(troubles)
        await asyncio.sleep(secs)
        driver.troubles.clear()
        await asyncio.sleep(HEALING_SECS)
        assert [state.is_fresh and state.up for state in node.states] == [True] * driver.count
    for at, snapshot in node.run.published:
        gpus = snapshot.reading(Gpus)
        if gpus is not None and any(not state.is_fresh for state in gpus.states):
            assert verdict_of(faults_document(snapshot)).state != "healthy", at
        if gpus is not None and any(not state.up for state in gpus.states):
            assert [fault for fault in faults(snapshot) if fault.severity == "critical"], at
    late = [at for at in driver.starts if at >= begin + 20]
    assert all(sum(since <= at < since + 20 for at in late) <= 3 for since in late), late
    assert not [each for each in node.begun() if each[0] > begin + secs + NOTICE_SECS]


@pytest.mark.parametrize("interval_secs", [1.0, 5.0, 15.0])
@pytest.mark.parametrize("change", ["load again", "add a GPU", "cut into slices"])
@in_virtual_time
async def test_a_change_makes_no_fault(marker: Path, change: str, interval_secs: float) -> None:
    """A driver that is loaded again, a GPU that is added, GPUs that are cut: nothing begins."""
    driver = SimulatedDriver(4)
    node = SimulatedNode(driver, interval_secs, marker)
    async with node.collecting():
        await asyncio.sleep(40)
        if change == "load again":
            marker.rename(marker.with_suffix(".away"))  # noqa: ASYNC240 - of this test alone
            await asyncio.sleep(20)
            marker.touch()  # noqa: ASYNC240 - as above
        driver.count += change == "add a GPU"
        driver.mig = change == "cut into slices"
        await asyncio.sleep(90)
    assert node.begun() == []
    assert [state.up and state.is_fresh for state in node.states] == [True] * driver.count


@in_virtual_time
async def test_nothing_begins_after_the_last_healing(marker: Path, seed: int) -> None:
    """Hangs, crashes and slow calls at random: no critical fault follows, all is fresh in time."""
    plan = schedule(seed)
    driver = SimulatedDriver(plan.gpus, has_smi=plan.has_smi)
    node = SimulatedNode(driver, plan.interval_secs, marker)
    async with node.collecting():
        await follow(plan, driver)
        await asyncio.sleep(HEALING_SECS)
        assert len(node.states) == plan.gpus, plan
        assert all(state.up and not state.stale for state in node.states), (
            f"{plan}\n{[(s.gpu.index, s.up, s.reason, s.stale) for s in node.states]}"
        )
        await asyncio.sleep(2 * HEALING_SECS)
    noticed = plan.healed_at + NOTICE_SECS
    late = [each for each in node.begun() if each[0] > noticed and each[2] == "critical"]
    assert not late, f"{plan}\nbegan after {plan.healed_at:.1f} s: {late}"
    late_starts = [at for at in driver.starts if at > plan.healed_at + HEALING_SECS]
    assert not late_starts, plan


async def follow(plan: Schedule, driver: SimulatedDriver) -> None:
    """Let the driver have the troubles of a schedule; comes back when the last has ended."""
    moments = sorted({moment for step in plan.steps for moment in (step.begin, step.end)})
    now = asyncio.get_running_loop().time
    for moment in moments:
        await asyncio.sleep(moment - now())
        lasting = [step for step in plan.steps if step.begin <= moment < step.end]
        driver.troubles = {step.place: Trouble(step.kind, step.call) for step in lasting}
