"""GPUs that the NVML probe hung on, asked alone: who is left out, who comes back, and when."""

import asyncio
from itertools import pairwise
from typing import Any, cast

import pytest

from exporter.collectors.gpu.quarantine import (
    CRASHES,
    ENOUGH,
    HUNG,
    PASSES,
    RETRY_SECS,
    Quarantine,
)
from exporter.collectors.gpu.supervision.request_probe import (
    LONGEST_PAUSE_SECS,
    ProbeFailed,
    RequestProbe,
)
from tests.fakes.virtual_time import in_virtual_time

TIMEOUT_SECS = 2.0


class _Probe:
    """Hangs on some GPUs, until they answer again or with an error of another kind."""

    def __init__(self) -> None:
        self.hung: set[int] = set()
        self.reason = "timeout"
        self.is_stuck = False
        self.fails_in_gpu = True
        self.closed = 0
        self.asked: list[tuple[float, int]] = []
        self.requests: list[tuple[dict[str, Any], float]] = []

    async def ask(self, request: dict[str, Any], timeout_secs: float) -> dict[str, Any]:
        place = request["only"]
        self.asked.append((asyncio.get_running_loop().time(), place))
        self.requests.append((request, timeout_secs))
        await asyncio.sleep(0.1)
        if place in self.hung:
            await asyncio.sleep(timeout_secs - 0.1)
            raise ProbeFailed(self.reason, "it hangs", self.place(place))
        return {}

    def place(self, asked: int) -> int | None:
        """In the call of which GPU it failed."""
        return asked if self.fails_in_gpu else None

    async def close(self) -> None:
        self.closed += 1


class Scene:
    """A quarantine over such a probe, and how often it told of a change."""

    def __init__(self) -> None:
        self.probe = _Probe()
        self.changes = 0
        probe = cast("RequestProbe", self.probe)
        self.quarantine = Quarantine(probe, TIMEOUT_SECS, self._changed)

    def _changed(self) -> None:
        self.changes += 1

    @property
    def problems(self) -> list[tuple[int | None, str]]:
        return [(each.index, each.reason) for each in self.quarantine.problems]


@pytest.fixture
def scene() -> Scene:
    """A quarantine without a suspect."""
    return Scene()


@in_virtual_time
async def test_a_suspect_that_answers_alone_is_none(scene: Scene) -> None:
    """It is left out until then, is no problem, and its probe is ended when nobody is left."""
    scene.quarantine.add({3})
    assert scene.quarantine.suspects == (3,)
    assert scene.quarantine.is_undecided
    assert scene.problems == []
    await asyncio.sleep(1)
    assert not scene.quarantine.suspects
    assert scene.changes == 1
    assert not scene.quarantine.is_undecided
    assert scene.probe.closed == 1
    assert ENOUGH < 1  # what a slow GPU is not asked for any more leaves it time to answer
    request = {"op": "read", "only": 3, "enough_secs": ENOUGH * TIMEOUT_SECS}
    assert scene.probe.requests == 2 * [(request, TIMEOUT_SECS)]


@in_virtual_time
async def test_one_that_hangs_alone_too_is_a_problem_until_it_answers(scene: Scene) -> None:
    """A change is told when it is found to hang and when it is back; it is tried in between."""
    scene.probe.hung = {3}
    scene.quarantine.add({3, 5})
    await asyncio.sleep(TIMEOUT_SECS + 1)
    assert (scene.quarantine.suspects, scene.problems) == ((3,), [(3, HUNG)])
    assert not scene.quarantine.is_undecided
    assert scene.changes == 2  # 5 answered, 3 hung
    await asyncio.sleep(2 * (TIMEOUT_SECS + RETRY_SECS))
    assert scene.changes == 2  # it still hangs: nothing new
    times = [at for at, place in scene.probe.asked if place == 3]
    gaps = [round(after - before, 6) for before, after in pairwise(times)]
    assert len(gaps) >= 2
    assert all(TIMEOUT_SECS + RETRY_SECS <= gap <= TIMEOUT_SECS + RETRY_SECS + 1 for gap in gaps)
    closed = scene.probe.closed
    assert closed >= 2  # after each hang: the next try does not wait for a back-off
    scene.probe.hung = set()
    await asyncio.sleep(TIMEOUT_SECS + RETRY_SECS + 1)
    assert (scene.quarantine.suspects, scene.problems, scene.changes) == ((), [], 3)


@in_virtual_time
async def test_a_child_that_cannot_be_killed_is_waited_for(scene: Scene) -> None:
    """While it sleeps in the driver its probe is not ended, and the GPU hangs."""
    scene.probe.hung, scene.probe.reason, scene.probe.is_stuck = {0}, "stuck", True
    scene.quarantine.add({0})
    await asyncio.sleep(TIMEOUT_SECS + 1)
    assert scene.problems == [(0, HUNG)]
    assert scene.quarantine.is_stuck
    assert scene.probe.closed == 0


@in_virtual_time
async def test_one_that_crashes_alone_too_is_tried_ever_more_seldom(scene: Scene) -> None:
    """It is down for that reason; half a minute after it is well again it is back."""
    scene.probe.hung, scene.probe.reason = {1}, "crashed"
    scene.quarantine.add({1})
    await asyncio.sleep(120)
    assert (scene.problems, scene.changes) == ([(1, CRASHES)], 1)
    times = [at for at, _ in scene.probe.asked]
    assert all(sum(since <= at < since + 20 for at in times) <= 2 for since in times[1:])
    scene.probe.hung = set()
    await asyncio.sleep(LONGEST_PAUSE_SECS + TIMEOUT_SECS + RETRY_SECS)
    assert not scene.quarantine.suspects


@in_virtual_time
async def test_a_probe_that_cannot_start_says_nothing_of_a_gpu(scene: Scene) -> None:
    """Neither hung nor well: it stays a suspect, and is tried again."""
    scene.probe.hung, scene.probe.reason = {1}, "no_program"
    scene.quarantine.add({1})
    await asyncio.sleep(2 * (TIMEOUT_SECS + RETRY_SECS))
    assert (scene.quarantine.suspects, scene.problems, scene.changes) == ((1,), [], 0)
    assert scene.quarantine.is_undecided
    assert len(scene.probe.asked) >= 2


@in_virtual_time
async def test_a_library_that_crashes_before_it_comes_to_the_gpu_says_nothing_of_it(
    scene: Scene,
) -> None:
    """The GPU stays a suspect; what was found of it before is in doubt where all has failed."""
    scene.probe.hung = {1}
    scene.quarantine.add({1})
    await asyncio.sleep(TIMEOUT_SECS + 1)
    assert scene.problems == [(1, HUNG)]
    scene.probe.reason, scene.probe.fails_in_gpu = "crashed", False
    scene.quarantine.doubt()
    await asyncio.sleep(2 * (TIMEOUT_SECS + RETRY_SECS))
    assert (scene.quarantine.suspects, scene.problems) == ((1,), [])


@in_virtual_time
async def test_what_is_added_later_is_asked_too(scene: Scene) -> None:
    """While one is being asked, and after all were; the same one is not asked at the same time."""
    scene.probe.hung = {1}
    scene.quarantine.add({1})
    scene.quarantine.add({1, 2})
    await asyncio.sleep(2 * TIMEOUT_SECS + RETRY_SECS + 1)
    assert [place for _, place in scene.probe.asked].count(2) == PASSES
    scene.quarantine.add({1})  # nothing is forgotten of it
    assert scene.problems == [(1, HUNG)]
    scene.probe.hung = set()
    await asyncio.sleep(TIMEOUT_SECS + RETRY_SECS + 1)
    assert not scene.quarantine.suspects
    scene.quarantine.add({4})
    await asyncio.sleep(1)
    assert not scene.quarantine.suspects
    assert scene.probe.asked[-1][1] == 4
    closed = scene.probe.closed
    scene.quarantine.add(set())
    await asyncio.sleep(1)
    assert (scene.probe.asked[-1][1], scene.probe.closed) == (4, closed)


@in_virtual_time
async def test_nobody_is_asked_after_the_end(scene: Scene) -> None:
    """Closing forgets the suspects, and the call that is under way is given up."""
    scene.probe.hung = {1}
    scene.quarantine.add({1})
    await asyncio.sleep(1)
    task = scene.quarantine._task
    await scene.quarantine.close()
    assert not scene.quarantine.suspects + scene.quarantine.problems
    await asyncio.sleep(0)
    assert task is not None
    assert task.cancelled()
    await asyncio.sleep(10 * RETRY_SECS)
    assert len(scene.probe.asked) == 1
    assert scene.changes == 0
    assert scene.probe.closed == 1
