"""How the fake libnvidia-ml.so.1 answers, fails and crashes, seen through pynvml."""

import pytest

from tests.fakes.asking import ask, run
from tests.fakes.native import build_nvml
from tests.fakes.nvml_library import NvmlLibrary


def test_a_capture_gives_its_cards(nvml: NvmlLibrary) -> None:
    """Each card of a capture answers with its own values."""
    nvml.say(capture="h100x8.scenario")
    answers = ask(
        nvml,
        "nvmlSystemGetDriverVersion()",
        "nvmlSystemGetCudaDriverVersion_v2()",
        "nvmlDeviceGetCount()",
        "nvmlDeviceGetName(card())",
        "nvmlDeviceGetUUID(card())",
        "nvmlDeviceGetUUID(card(7))",
        "nvmlDeviceGetPciInfo(card(1)).busId",
        "nvmlDeviceGetPowerUsage(card())",
        "nvmlDeviceGetTemperature(card(), 0)",
        "nvmlDeviceGetTemperatureV(card(1), 0)",
        "nvmlDeviceGetUtilizationRates(card()).gpu",
    )
    assert answers == [
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
    answers = ask(
        nvml,
        "[nvmlDeviceGetMemoryInfo(card()).used, nvmlDeviceGetMemoryInfo(card()).free]",
        "nvmlDeviceGetMemoryInfo(card(), nvmlMemory_v2).used",
        "nvmlDeviceGetMemoryInfo(card(), nvmlMemory_v2).reserved",
        "nvmlDeviceGetMemoryInfo(card(), 0x03000028).used",
    )
    assert answers == [[400, 600], 300, 100, "error 25"]


def test_what_a_card_does_not_say_is_not_supported(nvml: NvmlLibrary) -> None:
    """A key without a line, or with `na`, answers NVML_ERROR_NOT_SUPPORTED."""
    nvml.say("count = 1", "temperature = 40", "device.0.temperature = na")
    answers = ask(nvml, "nvmlDeviceGetPowerUsage(card())", "nvmlDeviceGetTemperature(card(), 0)")
    assert answers == ["error 3", "error 3"]


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
    answers = ask(
        nvml,
        *["nvmlDeviceGetTemperature(card(), 0)"] * 2,
        *["nvmlDeviceGetTemperature(card(1), 0)"] * 2,
        *["nvmlDeviceGetPowerUsage(card())"] * 2,
        *["nvmlDeviceGetMinorNumber(card())"] * 3,
    )
    assert answers == [40, "error 15", 40, 40, "error 10", 1000, 7, "error 999", 7]


def test_order_and_count_change_from_call_to_call(nvml: NvmlLibrary) -> None:
    """A list of counts gives one per call; `order` says which card is at which index."""
    nvml.say("count = 2,1,2", "uuid = GPU-{device}", "order = 1,0")
    answers = ask(
        nvml,
        *["nvmlDeviceGetCount()"] * 4,
        "nvmlDeviceGetUUID(card())",
        "nvmlDeviceGetIndex(card())",
    )
    assert answers == [2, 1, 2, 2, "GPU-1", 0]


def test_a_count_may_promise_more_than_there_is(nvml: NvmlLibrary) -> None:
    """A handle that cannot be had fails with the code the scenario names."""
    nvml.say("count = 3", "minor = {device}", "device.2.handle = error 6")
    assert ask(nvml, *[f"nvmlDeviceGetMinorNumber(card({i}))" for i in range(4)]) == [
        0,
        1,
        "error 6",
        "error 2",
    ]


def test_handles_by_uuid_and_bus_id(nvml: NvmlLibrary) -> None:
    """A card is found by its uuid and by its bus id, and a stranger is NOT_FOUND."""
    nvml.say("count = 2", "uuid = GPU-{device}", "bus_id = 00000000:0{device}:00.0")
    answers = ask(
        nvml,
        "nvmlDeviceGetIndex(nvmlDeviceGetHandleByUUID('GPU-1'))",
        "nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId('00000000:01:00.0'))",
        "nvmlDeviceGetHandleByUUID('GPU-9')",
    )
    assert answers == [1, 1, "error 6"]


def test_init_fails_as_said(nvml: NvmlLibrary) -> None:
    """A failing init leaves the library uninitialized, and a later one may work."""
    nvml.say("count = 1", "init = error 18 at 2")
    answers = ask(
        nvml, "nvmlShutdown()", "nvmlInit()", "nvmlDeviceGetCount()", "nvmlInit()", "card() and 1"
    )
    assert answers == [None, "error 18", "error 1", None, 1]


def test_a_scenario_may_change_while_a_process_runs(nvml: NvmlLibrary) -> None:
    """What the file says now is what the next call answers."""
    nvml.say("count = 1", "temperature = 40")
    temperature = "nvmlDeviceGetTemperature(card(), 0)"
    assert ask(nvml, temperature, "say('count = 1')", temperature) == [40, None, "error 3"]


def test_a_name_may_be_any_bytes(nvml: NvmlLibrary) -> None:
    """`hex` gives bytes that are no UTF-8, which pynvml cannot decode."""
    nvml.say("count = 1", "name = hex 4e56ff0a")
    assert "UnicodeDecodeError" in run(nvml, "nvmlDeviceGetName(card())").stderr


@pytest.mark.parametrize(("fault", "code"), [("segv", -11), ("abort", -6), ("exit 3", 3)])
def test_a_crash_takes_the_process(nvml: NvmlLibrary, fault: str, code: int) -> None:
    """A crash of the library ends the process that loaded it, at the call that was named."""
    nvml.say("count = 1", "minor = 1", f"any = {fault} at 4")
    assert run(nvml, "nvmlDeviceGetMinorNumber(card())").returncode == 0
    assert run(nvml, *["nvmlDeviceGetMinorNumber(card())"] * 3).returncode == code


def test_every_call_is_in_the_log(nvml: NvmlLibrary) -> None:
    """The log names function and card of each call in order of time."""
    nvml.say("count = 2", "minor = 1")
    ask(nvml, "nvmlDeviceGetCount()", "nvmlDeviceGetMinorNumber(card())")
    calls = nvml.calls()
    assert [(call.function, call.card) for call in calls] == [
        ("nvmlInitWithFlags", "-"),
        ("nvmlDeviceGetCount_v2", "-"),
        ("nvmlDeviceGetHandleByIndex_v2", "0"),
        ("nvmlDeviceGetMinorNumber", "0"),
    ]
    assert calls == sorted(calls, key=lambda call: call.monotonic_ns)
    assert nvml.calls("nvmlDeviceGetMinorNumber", card="1") == []


def test_a_library_may_lack_functions(nvml: NvmlLibrary) -> None:
    """A variant without a symbol makes pynvml say FUNCTION_NOT_FOUND."""
    nvml.library_dir = build_nvml(missing=("nvmlDeviceGetTemperatureV",))
    nvml.say("count = 1", "temperature = 40")
    assert ask(nvml, "nvmlDeviceGetTemperatureV(card(), 0)") == ["error 13"]


def test_noise_on_stdout_and_a_closed_descriptor(nvml: NvmlLibrary) -> None:
    """`print` writes to standard output behind Python's back, `close 2` takes a descriptor."""
    nvml.say("count = 1", "shutdown = print driver says hello", "count = close 2")
    done = run(nvml, "nvmlShutdown()")
    assert done.stdout.startswith("driver says hello\n")
    nvml.say("count = close 2")
    closed = "__import__('os').path.exists('/proc/self/fd/2')"
    assert ask(nvml, closed, "nvmlDeviceGetCount()", closed) == [True, 0, False]


def test_a_leak_grows_the_process(nvml: NvmlLibrary) -> None:
    """`leak` takes memory at every call and never gives it back."""
    nvml.say("count = 1", "leak = 1048576")
    rss = "int(open('/proc/self/statm').read().split()[1])"
    before, *_, after = ask(nvml, rss, *["nvmlDeviceGetCount()"] * 20, rss)
    assert after - before >= 20 * 256
