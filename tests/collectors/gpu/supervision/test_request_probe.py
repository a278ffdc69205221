"""A probe that answers requests, in virtual time: what its failures cost, and how it comes back."""

import asyncio
import errno
import json
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from exporter.collectors.gpu.supervision.breadcrumb import Breadcrumb
from exporter.collectors.gpu.supervision.call_failures import RETRY_SECS
from exporter.collectors.gpu.supervision.request_probe import ProbeFailed, RequestProbe
from exporter.probes.child import Command
from tests.fakes.virtual_time import in_virtual_scene
from tests.probes.scripted_children import ScriptedChild, ScriptedChildren

DEADLINE_SECS = 2.0


class Scene:
    """One probe over scripted children; each does with a request what `behave` says."""

    def __init__(self) -> None:
        self.behave: Callable[[ScriptedChild, dict[str, Any]], None] = answers
        self.is_undying = False
        self.takes_requests = True
        self.children = ScriptedChildren(self._prepare)
        self.events: list[dict[str, Any]] = []
        self.crumb = Breadcrumb("test", device="GPU")
        self.probe = RequestProbe(
            "nvml",
            Command(("/opt/nvml", "--fast"), {}, with_input=True),
            self.children.as_children(),
            self.events.append,
            self.crumb,
        )

    def _prepare(self, child: ScriptedChild) -> None:
        child.is_undying = self.is_undying
        child.takes_requests = self.takes_requests

        def take(data: bytes) -> None:
            child.requests.append(data)
            self.behave(child, json.loads(data))

        child.on_request = take

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(data) for child in self.children.started for data in child.requests]

    async def ask(self, **request: Any) -> dict[str, Any]:
        return await self.probe.ask({"op": "read", **request}, DEADLINE_SECS)

    async def failure(self) -> ProbeFailed:
        """How the next request fails."""
        with pytest.raises(ProbeFailed) as caught:
            await self.ask()
        return caught.value

    async def reasons(self, count: int) -> list[str]:
        """The reasons of so many failures in a row."""
        return [(await self.failure()).reason for _ in range(count)]

    def crashes_in(self, call: str) -> None:
        """Children crash from now on, in this call of their library."""

        def behave(child: ScriptedChild, _: object) -> None:
            self.leave(call)
            child.ends(-11)

        self.behave = behave

    def leave(self, call: str) -> None:
        """Write what a child writes before each call."""
        os.pwrite(self.crumb.descriptor, call.encode(), 0)


def answers(child: ScriptedChild, request: dict[str, Any]) -> None:
    """Answer at once."""
    child.says(json.dumps({"id": request["id"], "op": request["op"]}).encode() + b"\n")


def is_silent(_: ScriptedChild, __: object) -> None:
    """Hang."""


def crashes(child: ScriptedChild, _: object) -> None:
    """Die at once, between calls."""
    child.ends(1)


@asynccontextmanager
async def _scene() -> AsyncIterator[Scene]:
    yield Scene()


story = in_virtual_scene(_scene)


@story
async def test_one_child_answers_requests_that_are_numbered(scene: Scene) -> None:
    """It gets what was asked for, and nothing of calls that are switched off where none is."""
    assert await scene.ask(only=3) == {"id": 1, "op": "read"}
    assert (await scene.ask())["id"] == 2
    assert scene.requests == [{"id": 1, "op": "read", "only": 3}, {"id": 2, "op": "read"}]
    assert len(scene.children.started) == 1
    assert scene.probe.restarts == 0


@story
async def test_a_child_that_was_started_ahead_answers_the_first_request(scene: Scene) -> None:
    """No second child is started, and nothing is asked of it before."""
    scene.probe.start_ahead()
    assert len(scene.children.started) == 1
    assert scene.requests == []
    assert (await scene.ask())["id"] == 1
    assert (len(scene.children.started), scene.probe.restarts) == (1, 0)


@story
async def test_a_start_ahead_that_fails_leaves_the_start_to_the_first_request(
    scene: Scene,
) -> None:
    """Nothing is raised, and the first request does not wait."""
    prepare = scene.children._prepare

    def missing(_: ScriptedChild) -> None:
        raise OSError(errno.EAGAIN, "no more processes now")

    scene.children._prepare = missing
    scene.probe.start_ahead()
    scene.children._prepare = prepare
    assert (await scene.ask())["id"] == 1


@story
async def test_a_child_gets_a_clean_breadcrumb(scene: Scene) -> None:
    """It is told the descriptor, may use it, and finds nothing of the one before it."""
    scene.leave("nvmlInit")
    await scene.ask()
    command = scene.children.last.command
    assert command.argv == ("/opt/nvml", "--fast", f"--crumbs={scene.crumb.descriptor}")
    assert command.descriptors == (scene.crumb.descriptor,)
    assert scene.crumb.read() == ""


@story
async def test_only_the_answer_to_the_running_request_counts(scene: Scene) -> None:
    """Not one to an earlier request, nor a second one; what has no id is an event."""

    def behave(child: ScriptedChild, request: dict[str, Any]) -> None:
        for answer in (
            {"id": request["id"] - 1, "number": 1},
            {"event": "xid"},
            {"id": None, "event": "lost"},
            {"id": request["id"], "number": 2},
            {"id": request["id"], "number": 3},
        ):
            child.says(json.dumps(answer).encode() + b"\n")

    scene.behave = behave
    assert (await scene.ask())["number"] == 2
    assert scene.events == [{"event": "xid"}, {"id": None, "event": "lost"}]
    behave(scene.children.last, {"id": 1})
    assert (await scene.ask())["number"] == 2


@story
async def test_a_hang_ends_at_the_deadline_and_names_the_call(scene: Scene) -> None:
    """The child is killed, and a GPU is named where the call was one of a GPU."""

    def hang(_: ScriptedChild, __: object) -> None:
        scene.leave("nvmlDeviceGetName@3")

    scene.behave = hang
    failed = await scene.failure()
    assert asyncio.get_running_loop().time() == DEADLINE_SECS
    assert (failed.reason, failed.place) == ("timeout", 3)
    assert str(failed) == ("probe nvml did not answer within 2 s in nvmlDeviceGetName on GPU 3")
    assert scene.children.last.is_killed
    assert not scene.probe.is_stuck


@pytest.mark.parametrize(("crumb", "where"), [("", ""), ("nvmlInit", " in nvmlInit")])
@story
async def test_a_hang_outside_of_a_gpu_names_none(scene: Scene, crumb: str, where: str) -> None:
    """Neither in its sentence nor for whom it would be left out."""

    def hang(_: ScriptedChild, __: object) -> None:
        scene.leave(crumb)

    scene.behave = hang
    failed = await scene.failure()
    assert failed.place is None
    assert str(failed) == f"probe nvml did not answer within 2 s{where}"


@story
async def test_a_child_that_does_not_die_is_never_replaced_before_it_has(scene: Scene) -> None:
    """Requests fail at once meanwhile; when it is gone at last a fresh one is started."""
    scene.behave, scene.is_undying = is_silent, True
    assert await scene.reasons(3) == ["stuck"] * 3
    assert scene.probe.is_stuck
    assert asyncio.get_running_loop().time() == DEADLINE_SECS
    assert len(scene.children.started) == 1
    assert scene.probe.restarts == 1
    scene.children.last.ends(-9)
    assert not scene.probe.is_stuck
    scene.behave = answers
    assert await scene.ask()
    assert len(scene.children.started) == 2


@story
async def test_a_child_that_does_not_die_when_it_is_closed_is_stuck(scene: Scene) -> None:
    """The next request does not start another beside it."""
    scene.is_undying = True
    await scene.ask()
    await scene.probe.close()
    assert scene.probe.is_stuck
    assert (await scene.failure()).reason == "stuck"


@story
async def test_a_child_that_takes_no_request_is_replaced(scene: Scene) -> None:
    """Its pipe is full or closed: it is killed, and that is a crash."""
    scene.takes_requests = False
    assert (await scene.failure()).reason == "crashed"
    assert scene.children.last.is_killed
    scene.takes_requests = True
    assert await scene.ask()
    assert (len(scene.children.started), scene.probe.restarts) == (2, 1)


@story
async def test_a_child_that_takes_no_request_and_does_not_die_is_stuck(scene: Scene) -> None:
    """It is not replaced either before it has died."""
    scene.takes_requests, scene.is_undying = False, True
    assert await scene.reasons(2) == ["stuck"] * 2
    assert len(scene.children.started) == 1


@story
async def test_a_child_that_fails_each_time_is_started_ever_more_seldom(scene: Scene) -> None:
    """However often it is asked; meanwhile the reason of its last failure is given at once."""
    scene.behave = crashes
    for _ in range(260):
        failed = await scene.failure()
        assert str(failed) == "probe nvml ended with 1"
        await asyncio.sleep(0.5)
    assert scene.children.starts == [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5, 121.5]
    assert scene.probe.restarts == 10


@story
async def test_a_good_answer_makes_the_next_failure_the_first_again(scene: Scene) -> None:
    """A probe that crashes once a day is back at once each time."""
    for _ in range(5):
        scene.behave = crashes
        await scene.failure()
        assert scene.probe.may_start
        scene.behave = answers
        await scene.ask()
    scene.behave = crashes
    await scene.reasons(2)
    assert not scene.probe.may_start
    await asyncio.sleep(1)
    assert scene.probe.may_start


@story
async def test_a_start_may_be_allowed_before_the_pause_is_over(scene: Scene) -> None:
    """Where what failed is left out of the next request; the pause itself goes on growing."""
    scene.behave = crashes
    await scene.reasons(3)
    assert len(scene.children.started) == 2
    scene.probe.allow_start()
    await scene.reasons(1)
    assert len(scene.children.started) == 3
    await asyncio.sleep(1.5)
    assert not scene.probe.may_start


@story
async def test_a_child_that_ends_between_requests_is_a_crash_and_is_replaced(scene: Scene) -> None:
    """It is counted, and the request is answered by another one."""
    await scene.ask()
    scene.children.last.ends(7)
    assert await scene.ask()
    assert (len(scene.children.started), scene.probe.restarts) == (2, 1)


@story
async def test_the_third_crash_in_a_call_switches_it_off(scene: Scene) -> None:
    """The child is started again at once and told so, until the call is tried again."""
    scene.crashes_in("nvmlDeviceGetFanSpeed@2")
    for secs in (0, 1, 0):
        failed = await scene.failure()
        assert (failed.reason, failed.place) == ("crashed", 2)
        await asyncio.sleep(secs)
    assert scene.probe.switched_off == ("nvmlDeviceGetFanSpeed@2",)
    scene.behave = answers
    assert await scene.ask()
    assert scene.requests[-1]["switched_off"] == ["nvmlDeviceGetFanSpeed@2"]
    scene.behave = crashes
    await scene.failure()
    assert scene.probe.may_start  # an older failure does not count any more
    await asyncio.sleep(RETRY_SECS)
    assert not scene.probe.switched_off


@story
async def test_crashes_in_no_call_switch_nothing_off(scene: Scene) -> None:
    """A library that crashes on its own thread is not cured by leaving out a call."""
    scene.behave = crashes
    for _ in range(8):
        assert (await scene.failure()).place is None
        scene.probe.allow_start()
    assert not scene.probe.switched_off


@story
async def test_closing_forgets_failures_and_allows_every_call(scene: Scene) -> None:
    """The driver may be another one after it."""
    scene.crashes_in("nvmlEventSetWait_v2")
    for _ in range(3):
        await scene.failure()
        await asyncio.sleep(1)
    assert scene.probe.switched_off == ("nvmlEventSetWait_v2",)
    scene.behave = crashes
    await scene.reasons(2)
    assert not scene.probe.may_start
    await scene.probe.close()
    assert not scene.probe.switched_off
    await scene.reasons(2)  # the first pause after a close is none
    assert len(scene.children.started) == 7


@story
async def test_a_probe_that_grew_too_large_is_ended_and_counted(scene: Scene) -> None:
    """The next request is answered by a fresh one."""
    await scene.ask()
    await scene.probe.recycle()
    assert scene.children.last.is_killed
    assert await scene.ask()
    assert (len(scene.children.started), scene.probe.restarts) == (2, 1)


@pytest.mark.parametrize("output", [b"garbage\n", b"[]\n", b"{" * 5_000_000], ids=len)
@story
async def test_a_probe_that_writes_garbage_is_killed(
    scene: Scene, output: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """It cannot be trusted any more; the reason is in the log."""

    def behave(child: ScriptedChild, _: object) -> None:
        child.says(output)

    scene.behave = behave
    assert (await scene.failure()).reason == "crashed"
    assert scene.children.last.is_killed
    assert [each.levelno for each in caplog.records] == [logging.WARNING]


@story
async def test_last_words_are_told_and_bounded(scene: Scene) -> None:
    """A library may print a great deal: the end of it is what it died of."""

    def behave(child: ScriptedChild, _: object) -> None:
        child.complains(b"a" * 5000 + b"b" * 199 + b"c")
        child.ends(3)

    scene.behave = behave
    failed = await scene.failure()
    assert str(failed) == f"probe nvml ended with 3, its last words: {'b' * 199}c"


@story
async def test_a_program_that_cannot_be_started_says_why(scene: Scene) -> None:
    """And is not tried again before its pause is over."""

    def missing(_: ScriptedChild) -> None:
        raise OSError(errno.ENOENT, "no such file")

    scene.children._prepare = missing
    for _ in range(3):
        failed = await scene.failure()
        assert (failed.reason, str(failed)) == ("no_program", "probe nvml: no such file")
    assert (len(scene.children.started), scene.probe.restarts) == (2, 2)
