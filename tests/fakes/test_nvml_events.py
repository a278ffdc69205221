"""Events and profiling samples of the fake library, seen through pynvml."""

import os
import subprocess
import sys

from tests.fakes.asking import ask
from tests.fakes.nvml_library import NvmlLibrary

WAIT = """
import sys
from pynvml import *
nvmlInit()
events = nvmlEventSetCreate()
for index in range(nvmlDeviceGetCount()):
    card = nvmlDeviceGetHandleByIndex(index)
    nvmlDeviceRegisterEvents(card, nvmlEventTypeXidCriticalError, events)
while True:
    event = nvmlEventSetWait_v2(events, 20000)
    print(nvmlDeviceGetUUID(event.device), event.eventType, event.eventData, flush=True)
"""


def test_an_xid_reaches_who_waits(nvml: NvmlLibrary) -> None:
    """A line in the events file is one event, at once, and only from the card and type asked."""
    nvml.say("count = 2", "uuid = GPU-{device}", "event_types = 0x1f")
    nvml.raise_xid(31)
    with subprocess.Popen(
        [sys.executable, "-c", WAIT],
        env={**os.environ, **nvml.environment},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        nvml.wait_for_call("nvmlEventSetWait_v2")
        nvml.raise_event("clock", 1)
        nvml.raise_xid(79, card=1)
        assert process.stdout.readline() == "GPU-1 8 79\n"
        nvml.raise_xid(48)
        assert process.stdout.readline() == "GPU-0 8 48\n"
        process.kill()


def test_waiting_ends_when_nothing_happens(nvml: NvmlLibrary) -> None:
    """Without an event the wait ends with TIMEOUT; a lost card ends it with its own error."""
    nvml.say("count = 1", "event_types = 0x1f", "event_wait = error 15 at 2")
    wait = "nvmlEventSetWait_v2(nvmlEventSetCreate(), 10)"
    assert ask(nvml, wait, wait) == ["error 10", "error 15"]


def test_a_card_without_events_cannot_be_registered(nvml: NvmlLibrary) -> None:
    """Cards say which events they have; any other is NOT_SUPPORTED."""
    nvml.say("count = 2", "device.1.event_types = 4")
    register = "nvmlDeviceRegisterEvents(card({}), 8, nvmlEventSetCreate())"
    assert ask(nvml, register.format(0), register.format(1)) == ["error 3", "error 3"]


def test_profiling_between_two_samples(nvml: NvmlLibrary) -> None:
    """Metrics come from two samples of a card that supports them, each with its own outcome."""
    nvml.say(
        "count = 2",
        "device.0.gpm_supported = 1",
        "gpm.sm = 62.5",
        "gpm.170 = 3",
        "gpm.dram = error 999",
        "device.0.mig.0.gpu_instance = 5",
        "device.0.mig.0.gpm.sm = 12.5",
    )
    metrics = "globals().update(got=measured({}, [2, 170, 10, 11]))"
    values = "[(m.value, m.nvmlReturn) for m in got.metrics[:4]]"
    taken = "nvmlGpmSampleGet(card(), nvmlGpmSampleAlloc())"
    slice_taken = "nvmlGpmMigSampleGet(card(), 5, nvmlGpmSampleAlloc())"
    answers = ask(
        nvml,
        "nvmlGpmQueryDeviceSupport(card()).isSupportedDevice",
        "nvmlGpmQueryDeviceSupport(card(1)).isSupportedDevice",
        metrics.format(f"[{taken}, {taken}]"),
        values,
        metrics.format(f"[{slice_taken}, {slice_taken}]"),
        "got.metrics[0].value",
        "nvmlGpmSampleGet(card(1), nvmlGpmSampleAlloc())",
    )
    assert answers[:2] == [1, 0]
    assert answers[3] == [[62.5, 0], [3.0, 0], [0.0, 999], [0.0, 3]]
    assert answers[5:] == [12.5, "error 3"]
