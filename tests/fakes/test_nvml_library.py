"""The fake libnvidia-ml.so.1 as pynvml sees it from a process of its own."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.fakes.native import build_nvml
from tests.fakes.nvml_library import NvmlLibrary

ASK = """
import json, sys
from pynvml import *
def asked(expression):
    try:
        return eval(expression)
    except NVMLError as error:
        return f"error {error.value}"
print(json.dumps([asked(expression) for expression in sys.argv[1:]]))
"""


def asked(nvml: NvmlLibrary, *expressions: str) -> list[Any]:
    """What pynvml answers to these expressions, asked in order in one new process."""
    done = run(nvml, *expressions)
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def run(nvml: NvmlLibrary, *expressions: str) -> "subprocess.CompletedProcess[str]":
    """The process itself, for cases in which it may die."""
    return subprocess.run(
        [sys.executable, "-c", ASK, "nvmlInit()", *expressions],
        env={**os.environ, **nvml.environment},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def first(call: str) -> str:
    """A call on the card at index 0, written as `nvmlDeviceGet…` without its handle."""
    return f"nvmlDeviceGet{call}(nvmlDeviceGetHandleByIndex(0))"


def test_a_capture_gives_its_cards(nvml: NvmlLibrary) -> None:
    """Each card of a capture answers with its own values through pynvml."""
    nvml.say(capture="h100x8.scenario")
    answers = asked(
        nvml,
        "nvmlSystemGetDriverVersion()",
        "nvmlSystemGetCudaDriverVersion_v2()",
        "nvmlDeviceGetCount()",
        first("Name"),
        first("UUID"),
        "nvmlDeviceGetUUID(nvmlDeviceGetHandleByIndex(7))",
        "nvmlDeviceGetPciInfo(nvmlDeviceGetHandleByIndex(1)).busId",
        first("PowerUsage"),
        "nvmlDeviceGetTemperature(nvmlDeviceGetHandleByIndex(0), 0)",
        "nvmlDeviceGetTemperatureV(nvmlDeviceGetHandleByIndex(1), 0)",
        "nvmlDeviceGetUtilizationRates(nvmlDeviceGetHandleByIndex(0)).gpu",
    )
    assert answers == [
        None,
        "550.90.07",
        12040,
        8,
        "NVIDIA H100 80GB HBM3",
        "GPU-5a1c0d3e-7b42-4c19-9d10-000000000000",
        "GPU-5a1c0d3e-7b42-4c19-9d10-000000000007",
        "00000000:2A:00.0",
        668430,
        64,
        61,
        98,
    ]


def test_memory_of_both_versions_agrees(nvml: NvmlLibrary) -> None:
    """The old call counts the driver's reserved part as used, the new one says it apart."""
    nvml.say("count = 1", "memory_total = 1000", "memory_reserved = 100", "memory_used = 300")
    handle = "nvmlDeviceGetHandleByIndex(0)"
    answers = asked(
        nvml,
        f"[nvmlDeviceGetMemoryInfo({handle}).used, nvmlDeviceGetMemoryInfo({handle}).free]",
        f"nvmlDeviceGetMemoryInfo({handle}, nvmlMemory_v2).used",
        f"nvmlDeviceGetMemoryInfo({handle}, nvmlMemory_v2).reserved",
        f"nvmlDeviceGetMemoryInfo({handle}, 0x03000028).used",
    )
    assert answers == [None, [400, 600], 300, 100, "error 25"]


def test_what_a_card_does_not_say_is_not_supported(nvml: NvmlLibrary) -> None:
    """A key without a line, or with `na`, answers NVML_ERROR_NOT_SUPPORTED."""
    nvml.say("count = 1", "temperature = 40", "device.0.temperature = na")
    answers = asked(
        nvml, first("PowerUsage"), "nvmlDeviceGetTemperature(nvmlDeviceGetHandleByIndex(0), 0)"
    )
    assert answers[1:] == ["error 3", "error 3"]


def test_faults_begin_and_end_when_said(nvml: NvmlLibrary) -> None:
    """`after N`, `times N` and `at N` count calls, of one card where the line names one."""
    nvml.say(
        "count = 2",
        "temperature = 40",
        "device.0.temperature = error 15 after 1",
        "nvmlDeviceGetPowerUsage = error 10 times 1",
        "power = 1000",
        "minor = 7",
        "minor = error 999 at 2",
    )
    temperature = "nvmlDeviceGetTemperature(nvmlDeviceGetHandleByIndex({}), 0)"
    answers = asked(
        nvml,
        *[temperature.format(0)] * 2,
        *[temperature.format(1)] * 2,
        *[first("PowerUsage")] * 2,
        *[first("MinorNumber")] * 3,
    )
    assert answers[1:] == [40, "error 15", 40, 40, "error 10", 1000, 7, "error 999", 7]


def test_order_and_count_change_from_call_to_call(nvml: NvmlLibrary) -> None:
    """A list of counts gives one per call; `order` says which card is at which index."""
    nvml.say("count = 2,1,2", "uuid = GPU-{device}", "order = 1,0")
    answers = asked(nvml, *["nvmlDeviceGetCount()"] * 4, first("UUID"), first("Index"))
    assert answers[1:] == [2, 1, 2, 2, "GPU-1", 0]


def test_handles_by_uuid_and_bus_id(nvml: NvmlLibrary) -> None:
    """A card is found by its uuid and by its bus id, and a stranger is NOT_FOUND."""
    nvml.say("count = 2", "uuid = GPU-{device}", "bus_id = 00000000:0{device}:00.0")
    answers = asked(
        nvml,
        "nvmlDeviceGetIndex(nvmlDeviceGetHandleByUUID('GPU-1'))",
        "nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId('00000000:01:00.0'))",
        "nvmlDeviceGetHandleByUUID('GPU-9')",
    )
    assert answers[1:] == [1, 1, "error 6"]


def test_processes_of_each_kind(nvml: NvmlLibrary) -> None:
    """Processes carry memory or its absence, and the ids of their MIG instances."""
    nvml.say(
        "count = 1",
        "compute_processes = 100:2048 101:na 102:4096:1:0",
        "graphics_processes =",
    )
    handle = "nvmlDeviceGetHandleByIndex(0)"
    answers = asked(
        nvml,
        f"[[p.pid, p.usedGpuMemory] for p in nvmlDeviceGetComputeRunningProcesses({handle})]",
        f"nvmlDeviceGetComputeRunningProcesses({handle})[2].gpuInstanceId",
        f"nvmlDeviceGetGraphicsRunningProcesses({handle})",
        f"nvmlDeviceGetMPSComputeRunningProcesses({handle})",
        f"len(nvmlDeviceGetComputeRunningProcesses_v2({handle}))",
    )
    assert answers[1:] == [[[100, 2048], [101, None], [102, 4096]], 1, [], "error 3", 3]


def test_init_fails_as_said(nvml: NvmlLibrary) -> None:
    """A failing init leaves the library uninitialized, and a later one may work."""
    nvml.say("count = 1", "init = error 9 times 1")
    answers = asked(nvml, "nvmlDeviceGetCount()", "nvmlInit()", "nvmlDeviceGetCount()")
    assert answers == ["error 9", "error 1", None, 1]


def test_a_name_may_be_any_bytes(nvml: NvmlLibrary) -> None:
    """`hex` gives bytes that are no UTF-8, which pynvml cannot decode."""
    nvml.say("count = 1", "name = hex 4e56ff0a")
    done = run(nvml, first("Name"))
    assert "UnicodeDecodeError" in done.stderr


@pytest.mark.parametrize(("fault", "code"), [("segv", -11), ("abort", -6), ("exit 3", 3)])
def test_a_crash_takes_the_process(nvml: NvmlLibrary, fault: str, code: int) -> None:
    """A crash of the library ends the process that loaded it, at the call that was named."""
    nvml.say("count = 1", "minor = 1", f"any = {fault} at 4")
    assert run(nvml, first("MinorNumber")).returncode == 0
    assert run(nvml, *[first("MinorNumber")] * 3).returncode == code


def test_every_call_is_in_the_log(nvml: NvmlLibrary) -> None:
    """The log names function and card of each call in order of time."""
    nvml.say("count = 2", "minor = 1")
    asked(nvml, "nvmlDeviceGetCount()", first("MinorNumber"))
    calls = [(call.function, call.card) for call in nvml.calls()]
    assert calls == [
        ("nvmlInitWithFlags", "-"),
        ("nvmlDeviceGetCount_v2", "-"),
        ("nvmlDeviceGetHandleByIndex_v2", "0"),
        ("nvmlDeviceGetMinorNumber", "0"),
    ]
    assert len(nvml.calls("nvmlDeviceGetMinorNumber", card="1")) == 0


def test_a_library_may_lack_functions(nvml: NvmlLibrary) -> None:
    """A variant without a symbol makes pynvml say FUNCTION_NOT_FOUND."""
    nvml.library_dir = build_nvml(missing=("nvmlDeviceGetTemperatureV",))
    nvml.say("count = 1", "temperature = 40")
    answers = asked(nvml, "nvmlDeviceGetTemperatureV(nvmlDeviceGetHandleByIndex(0), 0)")
    assert answers[1:] == ["error 13"]


def test_noise_on_stdout(nvml: NvmlLibrary) -> None:
    """`print` writes to the process's standard output behind Python's back."""
    nvml.say("count = 1", "shutdown = print driver says hello")
    assert run(nvml, "nvmlShutdown()").stdout.startswith("driver says hello\n")
