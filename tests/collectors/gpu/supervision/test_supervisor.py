"""A probe that answers requests, with a real child; test_request_probe.py has all its failures."""

import sys

import pytest

from exporter.collectors.gpu.supervision.request_probe import ProbeFailed, RequestProbe
from exporter.probes.child import Children, Command

pytestmark = pytest.mark.system

ECHO = """
import json, sys, time
for number, line in enumerate(sys.stdin):
    request = json.loads(line)
    if request["op"] == "hang":
        time.sleep(1000)
    if request["op"] == "crash":
        sys.stderr.write("segfault at 0")
        sys.exit(3)
    print(json.dumps({"id": request["id"], "number": number}), flush=True)
"""


async def test_a_real_child_answers_hangs_and_crashes(children: Children) -> None:
    """One child answers until it is killed at the deadline or ends; then a fresh one does."""
    command = Command((sys.executable, "-c", ECHO), {"PATH": "/usr/bin"}, with_input=True)
    probe = RequestProbe("echo", command, children, print)
    answers = [await probe.ask({"op": "read"}, 10) for _ in range(3)]
    assert [answer["number"] for answer in answers] == [0, 1, 2]
    with pytest.raises(ProbeFailed, match=r"did not answer within 0\.5 s"):
        await probe.ask({"op": "hang"}, 0.5)
    assert (await probe.ask({"op": "read"}, 10))["number"] == 0
    with pytest.raises(ProbeFailed, match="ended with 3, its last words: segfault at 0"):
        await probe.ask({"op": "crash"}, 10)
    assert (await probe.ask({"op": "read"}, 10))["number"] == 0
    assert probe.restarts == 2
