"""A probe that answers requests, and everything it may do instead."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from exporter.probes.child import Children, Command
from exporter.probes.supervisor import ProbeFailed, RequestProbe

pytestmark = pytest.mark.system

ECHO = """
import json, sys
for number, line in enumerate(sys.stdin):
    request = json.loads(line)
    BODY
    print(json.dumps({"id": request["id"], "number": number, "op": request["op"]}), flush=True)
"""

Make = Callable[[str], RequestProbe]


@pytest.fixture
async def events() -> list[dict[str, Any]]:
    """Where events of the probe arrive."""
    return []


@pytest.fixture
async def make(events: list[dict[str, Any]]) -> AsyncIterator[Make]:
    """Builds a probe whose body runs before each answer."""
    children = Children()

    def build(body: str) -> RequestProbe:
        script = ECHO.replace("BODY", body)
        command = Command((sys.executable, "-c", script), {"PATH": "/usr/bin"}, with_input=True)
        return RequestProbe("echo", command, children, events.append)

    yield build
    await children.end_all()


async def test_a_probe_answers_request_after_request(make: Make) -> None:
    """One child answers all of them."""
    probe = make("pass")
    answers = [await probe.ask({"op": "read"}, 10) for _ in range(3)]
    assert [answer["number"] for answer in answers] == [0, 1, 2]
    assert probe.restarts == 0


async def test_what_was_not_asked_for_is_an_event(make: Make, events: list[dict[str, Any]]) -> None:
    """Lines without the id of a request go to the listener."""
    await make('print(json.dumps({"event": "xid"}), flush=True)').ask({"op": "read"}, 10)
    assert events == [{"event": "xid"}]


async def test_a_hang_ends_at_the_deadline_and_the_next_request_starts_anew(make: Make) -> None:
    """The child is gone, the reason is `timeout`, and a fresh child answers."""
    probe = make("if request['op'] == 'hang': import time; time.sleep(1000)")
    with pytest.raises(ProbeFailed) as caught:
        await probe.ask({"op": "hang"}, 1)
    assert caught.value.reason == "timeout"
    assert not probe.is_stuck
    assert (await probe.ask({"op": "read"}, 10))["number"] == 0
    assert probe.restarts == 1


async def test_a_crash_is_told_with_its_last_words(make: Make) -> None:
    """The reason is `crashed`, and what it wrote to standard error is in the message."""
    probe = make("sys.stderr.write('segfault at 0'); sys.stderr.flush(); sys.exit(3)")
    with pytest.raises(ProbeFailed, match="ended with 3, its last words: segfault at 0") as caught:
        await probe.ask({"op": "read"}, 10)
    assert caught.value.reason == "crashed"


async def test_a_probe_that_keeps_failing_is_left_alone_for_a_while(make: Make) -> None:
    """The first restart is free, the second waits: meanwhile the last reason is given at once."""
    probe = make("sys.exit(1)")
    for _ in range(2):
        with pytest.raises(ProbeFailed):
            await probe.ask({"op": "read"}, 10)
    assert probe.restarts == 2
    with pytest.raises(ProbeFailed) as caught:
        await probe.ask({"op": "read"}, 10)
    assert (caught.value.reason, probe.restarts) == ("crashed", 2)


@pytest.mark.parametrize(
    "body", ["print('garbage', flush=True)", "print('[]', flush=True)", "print('{' * 5000000)"]
)
async def test_a_probe_that_writes_garbage_is_ended(make: Make, body: str) -> None:
    """It cannot be trusted any more; its reading fails and nothing else."""
    probe = make(body)
    with pytest.raises(ProbeFailed) as caught:
        await probe.ask({"op": "read"}, 10)
    assert caught.value.reason == "crashed"


async def test_an_answer_to_an_earlier_request_is_not_taken_for_this_one(make: Make) -> None:
    """Only the id of the running request counts."""
    probe = make('print(json.dumps({"id": request["id"] - 1, "number": 99}), flush=True)')
    assert (await probe.ask({"op": "read"}, 10))["number"] == 0


async def test_a_program_that_is_not_there_is_told() -> None:
    """The reason is `no_program`."""
    probe = RequestProbe("gone", Command(("/no/such",), {}, with_input=True), Children(), print)
    with pytest.raises(ProbeFailed) as caught:
        await probe.ask({"op": "read"}, 10)
    assert caught.value.reason == "no_program"


async def test_closing_ends_the_child_and_a_request_starts_it_again(make: Make) -> None:
    """After a close nothing is held; the next request is served by a new child."""
    probe = make("pass")
    await probe.ask({"op": "read"}, 10)
    await probe.close()
    assert (await probe.ask({"op": "read"}, 10))["number"] == 0


async def test_a_probe_that_grew_too_large_is_replaced(make: Make) -> None:
    """The next request is answered by a new child at once, and the change is counted."""
    probe = make("pass")
    await probe.ask({"op": "read"}, 10)
    await probe.recycle()
    assert (await probe.ask({"op": "read"}, 10))["number"] == 0
    assert probe.restarts == 1


async def test_a_child_that_ended_between_requests_is_a_crash(make: Make) -> None:
    """It is counted, the first start after it is free, and the next request is answered."""
    probe = make("import os, threading; threading.Timer(0.05, os._exit, (7,)).start()")
    assert (await probe.ask({"op": "read"}, 10))["number"] == 0
    child = probe._child
    assert child is not None
    assert await asyncio.wait_for(child.exited, 10) == 7
    assert (await probe.ask({"op": "read"}, 10))["number"] == 0
    assert probe.restarts == 1


async def test_a_child_that_crashes_each_time_is_started_ever_more_seldom() -> None:
    """The pause doubles from a second to half a minute, however often it is asked."""
    command = Command(("/bin/false",), {}, with_input=True)
    children = Children()
    probe = RequestProbe("false", command, children, lambda _: None)
    pauses = []
    for _ in range(8):
        probe.allow_start()
        before = asyncio.get_running_loop().time()
        with pytest.raises(ProbeFailed):
            await probe.ask({"op": "read"}, 10)
        pauses.append(int(probe._not_before - before))
    with pytest.raises(ProbeFailed):  # asked at once again: no further child is started
        await probe.ask({"op": "read"}, 10)
    await children.end_all()
    assert pauses == [0, 1, 2, 4, 8, 16, 30, 30]
    assert probe.restarts == 8
