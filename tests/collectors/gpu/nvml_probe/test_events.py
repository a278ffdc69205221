"""Xids of GPUs that are lost and come back, by the real probe over the fake library."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from exporter.probes.protocol import LineSplitter, decode_line
from tests.collectors.gpu.nvml_probe.probe_process import ProbeProcess
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.waiting import is_readable

pytestmark = pytest.mark.system

CARDS = ("count = 2", "uuid = GPU-{device}", "name = H100", "temperature = 40", "event_types = 8")
LOST = "device.1.any = error 15"
SILENCE_SECS = 0.15
PATIENCE_SECS = 20.0
RUNS = 4
"""Of each delay; more of them find nothing else, and take half a second each."""


class Watched:
    """A probe whose lines are read with a time limit: answers, and the Xids between them."""

    def __init__(self, nvml: NvmlLibrary) -> None:
        self.probe = ProbeProcess(nvml)
        self.xids: list[tuple[str, int]] = []
        self._lines = LineSplitter()
        self._answers: list[dict[str, Any]] = []

    def ask(self) -> list[str | None]:
        """One pass: the problem of each GPU, in the order of the answer."""
        self.probe.send({"id": 1, "op": "read"})
        self.listen(lambda: bool(self._answers), PATIENCE_SECS)
        return [gpu.get("problem") for gpu in self._answers.pop()["gpus"]]

    def listen(self, is_enough: Callable[[], bool], secs: float) -> None:
        """Read until there is enough, for so many seconds at most."""
        stream = self.probe.process.stdout
        assert stream is not None
        until = time.monotonic() + secs
        while not is_enough() and (left := until - time.monotonic()) > 0:
            if is_readable(stream, left):
                for line in self._lines.feed(os.read(stream.fileno(), 65536)):
                    self._take(decode_line(line))

    def _take(self, line: dict[str, Any]) -> None:
        if line.get("event") == "xid":
            self.xids.append((line["uuid"], line["xid"]))
        else:
            self._answers.append(line)

    def heard(self, count: int) -> list[tuple[str, int]]:
        """So many Xids, and those of a moment more: one might come twice."""
        self.listen(lambda: len(self.xids) >= count, PATIENCE_SECS)
        self.listen(lambda: False, SILENCE_SECS)
        heard, self.xids = self.xids, []
        return sorted(heard)


@pytest.fixture
def watched(nvml: NvmlLibrary) -> Iterator[Watched]:
    """A probe on two GPUs whose Xids are waited for."""
    nvml.say(*CARDS)
    watched = Watched(nvml)
    watched.ask()
    nvml.wait_for_call("nvmlEventSetWait_v2", count=2)
    yield watched
    watched.probe.end()


@pytest.mark.parametrize("delay_secs", [0.0, 0.05, 0.1, 0.2])
def test_the_xid_of_a_lost_gpu_is_told_once(
    nvml: NvmlLibrary, watched: Watched, delay_secs: float
) -> None:
    """However long after its loss it comes, and however many passes have seen the loss by then."""
    for run in range(RUNS):
        nvml.say(*CARDS, LOST)
        assert watched.ask() == [None, "gpu_lost"]
        time.sleep(delay_secs)
        nvml.raise_xid(79, card=1)
        watched.ask()
        assert watched.heard(1) == [("GPU-1", 79)], f"run {run}"
        nvml.say(*CARDS)
        for _ in range(2):  # after the second answer whatever follows the first one is done
            assert watched.ask() == [None, None]


def test_a_gpu_that_is_back_tells_its_xids_again(nvml: NvmlLibrary, watched: Watched) -> None:
    """By a set of its own; the neighbour is waited for all the time."""
    for count in range(3):
        nvml.say(*CARDS, LOST)
        watched.ask()
        nvml.raise_xid(48, card=0)
        nvml.say(*CARDS)
        for _ in range(2):
            watched.ask()
        nvml.raise_xid(63, card=1)
        assert watched.heard(2) == [("GPU-0", 48), ("GPU-1", 63)], f"round {count}"


def test_a_wait_that_fails_is_begun_again(nvml: NvmlLibrary, watched: Watched) -> None:
    """A set may answer that a GPU is lost: the Xids it holds are told when it can be asked."""
    nvml.say(*CARDS, LOST, "event_wait = error 15 times 2")
    nvml.raise_xid(79, card=1)
    nvml.raise_xid(79, card=1)
    watched.ask()
    assert watched.heard(2) == [("GPU-1", 79)] * 2


def test_an_xid_of_a_failing_set_is_told_when_the_set_is_made_anew(
    nvml: NvmlLibrary, watched: Watched
) -> None:
    """An Xid that only the old set of a lost GPU holds is told once when the GPU is back."""
    nvml.say(*CARDS, LOST, "event_wait = error 15")
    nvml.raise_xid(63, card=0)  # ends the waits that began before
    nvml.raise_xid(63, card=1)
    assert watched.heard(2) == [("GPU-0", 63), ("GPU-1", 63)]
    nvml.wait_for_call("nvmlEventSetWait_v2", count=4)
    nvml.raise_xid(79, card=1)
    assert watched.ask() == [None, "gpu_lost"]
    nvml.say(*CARDS)
    assert watched.ask() == [None, None]
    assert watched.heard(1) == [("GPU-1", 79)]


def test_a_gpu_without_a_set_gets_one_in_the_next_pass(nvml: NvmlLibrary) -> None:
    """A driver that has no memory for one at the start is asked again."""
    nvml.say(*CARDS, "event_set = error 20")
    watched = Watched(nvml)
    watched.ask()
    nvml.say(*CARDS)
    watched.ask()
    nvml.wait_for_call("nvmlEventSetWait_v2", count=2)
    nvml.raise_xid(79, card=1)
    assert watched.heard(1) == [("GPU-1", 79)]
    watched.probe.end()


def test_a_gpu_that_hangs_when_it_is_to_be_watched_delays_no_pass(
    nvml: NvmlLibrary, watched: Watched
) -> None:
    """Its values are read, and the Xids of the others are heard."""
    nvml.say(*CARDS, LOST)
    assert watched.ask() == [None, "gpu_lost"]
    nvml.say(*CARDS, "device.1.nvmlDeviceRegisterEvents = hang")
    for _ in range(3):
        assert watched.ask() == [None, None]
    nvml.raise_xid(79, card=0)
    assert watched.heard(1) == [("GPU-0", 79)]


def test_a_gpu_whose_new_set_fails_is_waited_for_by_the_old_one(
    nvml: NvmlLibrary, watched: Watched
) -> None:
    """A GPU that is back and lost again at once keeps its set; the next pass tries a new one."""
    nvml.say(*CARDS, LOST)
    assert watched.ask() == [None, "gpu_lost"]
    nvml.say(*CARDS, "device.1.nvmlDeviceRegisterEvents = error 15")
    for _ in range(2):
        assert watched.ask() == [None, None]
    nvml.raise_xid(79, card=1)
    assert watched.heard(1) == [("GPU-1", 79)]
    nvml.say(*CARDS)
    for _ in range(2):
        watched.ask()
    nvml.raise_xid(63, card=1)
    assert watched.heard(1) == [("GPU-1", 63)]
