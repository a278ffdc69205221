"""What the library does wrong, and what it costs: real probe processes over the fake library."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from exporter.collectors.gpu.backend import BackendError, Deadline, GpuAnswer
from exporter.collectors.gpu.nvml import LASTING_ERRORS, VITAL_CALLS, NvmlBackend
from exporter.collectors.gpu.nvml_probe.constants import (
    NVML_ERROR_INSUFFICIENT_RESOURCES,
    NVML_ERROR_NOT_SUPPORTED,
)
from exporter.collectors.gpu.nvml_probe.known_gpu import KnownGpu
from exporter.collectors.gpu.nvml_probe.nvml import NVMLError
from exporter.collectors.gpu.quarantine import Quarantine
from exporter.collectors.gpu.values import DisabledCall
from exporter.probes.breadcrumb import Breadcrumb
from exporter.probes.child import Children, Command
from exporter.probes.supervisor import RequestProbe
from tests.collectors.gpu.nvml_probe.probe_process import probe_environment
from tests.fakes.native import build_nvml
from tests.fakes.nvml_library import NvmlLibrary

pytestmark = pytest.mark.system

CARDS = ("count = 2", "uuid = GPU-{device}", "name = H100", "temperature = 40", "power = 50000")


class Asked:
    """NVML through a probe that is asked under a short deadline."""

    def __init__(
        self, nvml: NvmlLibrary, children: Children, timeout_secs: float, longest_secs: float
    ) -> None:
        command = Command(
            (sys.executable, "-S", "-m", "exporter.collectors.gpu.nvml_probe"),
            probe_environment(nvml),
            with_input=True,
        )
        self.events: list[dict[str, Any]] = []
        self.crumb = Breadcrumb("test", VITAL_CALLS, "GPU")
        self.probe = RequestProbe("nvml", command, children, self.events.append, self.crumb)
        self.changes = 0
        self.lone_crumb = Breadcrumb("test", VITAL_CALLS, "GPU")
        lone = RequestProbe("nvml", command, children, lambda _: None, self.lone_crumb)
        lone_secs = min(timeout_secs, 1.5)
        self.quarantine = Quarantine(lone, lone_secs, self._note_change, retry_secs=0.5)
        self.deadline = Deadline(timeout_secs, longest_secs)
        self._backend = NvmlBackend(self.probe, self.deadline, self.quarantine)

    def _note_change(self) -> None:
        self.changes += 1

    async def close(self) -> None:
        """End the children."""
        await self._backend.close()

    async def ask(self) -> GpuAnswer:
        """One pass, whatever back-off says."""
        self.probe._not_before = 0.0
        return await self._backend.ask()

    def be_patient(self) -> None:
        """Give the passes from now on all the time a busy machine may need."""
        self.deadline.secs = 20.0

    async def reason(self) -> str:
        """Why a pass failed."""
        with pytest.raises(BackendError) as caught:
            await self.ask()
        return caught.value.reason


MakeBackend = Callable[..., Asked]


@pytest.fixture
async def make(nvml: NvmlLibrary) -> AsyncIterator[MakeBackend]:
    """Builds the way; two healthy cards until a test says otherwise."""
    nvml.say(*CARDS)
    children = Children()
    made: list[Asked] = []

    def build(timeout_secs: float = 20.0, longest_secs: float = 0.0) -> Asked:
        made.append(Asked(nvml, children, timeout_secs, longest_secs))
        return made[-1]

    yield build
    for each in made:
        await each.close()
    await children.end_all()
    for each in made:
        each.crumb.close()
        each.lone_crumb.close()


def temperatures(answer: GpuAnswer) -> dict[str, float | None]:
    """What was said, by UUID."""
    return {gpu.uuid: gpu.temperature_celsius for gpu in answer.gpus}


@pytest.mark.parametrize("fault", ["hang", "sleep 100"])
@pytest.mark.parametrize("where", ["nvmlInitWithFlags", "nvmlDeviceGetPowerUsage"])
async def test_a_hang_costs_the_pass_and_names_its_call(
    nvml: NvmlLibrary, make: MakeBackend, where: str, fault: str
) -> None:
    """The reason is `timeout`, the message says where; the next pass is well when the call is."""
    nvml.say(*CARDS, f"{where} = {fault}")
    way = make(timeout_secs=1.5)
    with pytest.raises(BackendError, match=f"in {where.replace('WithFlags', '')}") as caught:
        await way.ask()
    assert caught.value.reason == "timeout"
    nvml.say(*CARDS)
    way.be_patient()
    assert temperatures(await way.ask()) == {"GPU-0": 40, "GPU-1": 40}
    assert way.probe.restarts == (2 if "Power" in where else 1)


@pytest.mark.parametrize("fault", ["segv", "abort", "exit 3"])
async def test_a_single_crash_is_survived_within_the_pass(
    nvml: NvmlLibrary, make: MakeBackend, fault: str
) -> None:
    """A fresh process takes over at once; the restart is counted."""
    nvml.say(*CARDS, f"device.1.temperature = {fault} at 2", "device.1.temperature = 41")
    way = make()
    await way.ask()
    assert temperatures(await way.ask()) == {"GPU-0": 40, "GPU-1": 41}
    assert way.probe.restarts == 1


async def test_the_third_crash_of_a_call_switches_the_call_off(
    nvml: NvmlLibrary, make: MakeBackend, caplog: pytest.LogCaptureFixture
) -> None:
    """On its GPU first, on a second one for all; all other values are read again."""
    nvml.say(*CARDS, "nvmlDeviceGetPowerUsage = segv")
    way = make()
    assert await way.reason() == "crashed"
    assert await way.reason() == "crashed"
    assert way.probe.switched_off == ("nvmlDeviceGetPowerUsage@0",)
    answer = await way.ask()
    assert temperatures(answer) == {"GPU-0": 40, "GPU-1": 40}
    assert [gpu.power_draw_watts for gpu in answer.gpus] == [None, None]
    reasons = {missing.field: missing.reason for missing in answer.missing}
    assert reasons["gpu0.power_draw_watts"] == "crashes"
    assert "nvmlDeviceGetPowerUsage" in way.probe.switched_off
    assert way.probe.restarts == 6
    await way.ask()
    assert caplog.text.count("this call is disabled for a while") == 2


async def test_a_call_that_crashes_on_one_gpu_is_switched_off_there(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """The others keep the value, and the answer names the call and the GPU."""
    nvml.say("count = 8", *CARDS[1:], "device.5.nvmlDeviceGetPowerUsage = segv")
    backend = make()
    assert await backend.reason() == "crashed"
    answer = await backend.ask()
    told = [gpu.power_draw_watts for gpu in answer.gpus]
    assert told == [50, 50, 50, 50, 50, None, 50, 50]
    assert temperatures(answer) == {f"GPU-{n}": 40 for n in range(8)}
    assert answer.disabled_calls == (DisabledCall("nvmlDeviceGetPowerUsage", 5),)


HANGS = ("any = hang", "nvmlDeviceGetPowerUsage = hang")


@pytest.mark.parametrize("fault", HANGS)
async def test_a_gpu_that_hangs_costs_itself_only(
    nvml: NvmlLibrary, make: MakeBackend, fault: str
) -> None:
    """The others are read within the same pass and stay fresh; it is down with its own reason."""
    cards = ("count = 8", *CARDS[1:])
    others = {f"GPU-{n}": 40 for n in range(8) if n != 3}
    nvml.say(*cards)
    backend = make(timeout_secs=3.0)
    assert len((await backend.ask()).gpus) == 8
    nvml.say(*cards, f"device.3.{fault}")
    first = await backend.ask()
    assert temperatures(first) == others
    assert first.is_partial
    assert not first.problems
    await until(lambda: backend.changes == 1)
    restarts = backend.probe.restarts
    for _ in range(3):
        answer = await backend.ask()
        assert temperatures(answer) == others
        assert [(p.index, p.reason) for p in answer.problems] == [(3, "hung")]
        assert not answer.is_partial
    assert backend.probe.restarts == restarts
    nvml.say(*cards)
    await until(lambda: backend.changes == 2)
    assert len((await backend.ask()).gpus) == 8


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, for half a minute at most."""
    for _ in range(3000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("it did not become so within 30 s")


async def test_two_gpus_of_eight_that_hang(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """Both are found within one pass, and the other six are read in it."""
    cards = ("count = 8", *CARDS[1:])
    nvml.say(*cards)
    backend = make(timeout_secs=2.5)
    await backend.ask()
    nvml.say(*cards, "device.1.any = hang", "device.6.any = hang")
    assert sorted(temperatures(await backend.ask())) == [f"GPU-{n}" for n in (0, 2, 3, 4, 5, 7)]
    assert sorted(backend.quarantine.suspects) == [1, 6]


async def test_a_call_that_hangs_on_every_gpu_is_no_fault_of_one(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """The pass has failed, no GPU is blamed, and the next one asks all again."""
    cards = ("count = 4", *CARDS[1:])
    nvml.say(*cards, "nvmlDeviceGetPowerUsage = hang")
    backend = make(timeout_secs=1.5)
    assert await backend.reason() == "timeout"
    assert backend.quarantine.suspects == ()
    nvml.say(*cards)
    backend.be_patient()
    assert len((await backend.ask()).gpus) == 4


async def test_a_library_that_crashes_at_once_gives_way(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """Nothing is read without its first call: it is made again in each pass, and recovers."""
    nvml.say(*CARDS, "init = abort")
    way = make()
    assert [await way.reason() for _ in range(4)] == ["crashed"] * 4
    assert way.probe.switched_off == ()
    nvml.say(*CARDS)
    assert temperatures(await way.ask()) == {"GPU-0": 40, "GPU-1": 40}


@pytest.mark.parametrize("call", ["nvmlDeviceGetUUID", "handle", "nvmlDeviceGetIndex"])
async def test_a_gpu_that_cannot_be_asked_who_it_is_costs_itself_only(
    nvml: NvmlLibrary, make: MakeBackend, call: str
) -> None:
    """The others are read; it is down with its own reason, and back when it answers."""
    cards = ("count = 8", *CARDS[1:])
    nvml.say(*cards, f"device.3.{call} = segv")
    backend = make()
    assert await backend.reason() == "crashed"
    for _ in range(2):
        answer = await backend.ask()
        assert sorted(temperatures(answer)) == [f"GPU-{n}" for n in range(8) if n != 3]
        await until(lambda: backend.changes == 1)
    assert [(p.index, p.reason) for p in answer.problems] == [(3, "crashes")]
    nvml.say(*cards)
    await until(lambda: backend.changes == 2)
    assert len((await backend.ask()).gpus) == 8


async def test_a_crash_between_two_passes_costs_nothing(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """The event thread may crash the probe while nobody asks: the next pass starts a fresh one."""
    nvml.say(*CARDS, "event_types = 8", "event_wait = segv at 1")
    way = make()
    await way.ask()
    child = way.probe._child
    assert child is not None
    assert await child.gone_within(10)
    nvml.say(*CARDS)
    assert temperatures(await way.ask()) == {"GPU-0": 40, "GPU-1": 40}
    assert way.probe.switched_off == ()


async def test_events_that_crash_are_given_up(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """After the third crash of the event thread passes go on without it."""
    nvml.say(*CARDS, "event_types = 8", "event_wait = segv")
    way = make()
    for _ in range(4):
        await way.ask()
        child = way.probe._child
        if child is not None and not way.probe.switched_off:
            await child.gone_within(10)
    assert way.probe.switched_off == ("nvmlEventSetWait_v2",)
    assert temperatures(await way.ask()) == {"GPU-0": 40, "GPU-1": 40}


INIT_ERRORS = {
    4: "no_permission",
    9: "driver_not_loaded",
    12: "no_library",
    17: "blocked_by_system",
    18: "version_mismatch",
    20: "no_memory",
    999: "access_lost",
}


@pytest.mark.parametrize(("code", "reason"), INIT_ERRORS.items())
async def test_each_failure_of_the_library_has_its_word(
    nvml: NvmlLibrary, make: MakeBackend, code: int, reason: str
) -> None:
    """The reason is a word of docs/troubleshooting.md, and it recovers by itself.

    Where only a fresh process can, that is counted as a restart, of which there are few.
    """
    nvml.say(*CARDS, f"init = error {code}")
    way = make()
    assert [await way.reason() for _ in range(3)] == [reason] * 3
    nvml.say(*CARDS)
    assert len((await way.ask()).gpus) == 2
    assert way.probe.restarts == (reason in LASTING_ERRORS)


async def test_no_library_at_all(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """A node without the library says so."""
    nvml.library_dir = nvml.scenario.parent
    assert await make().reason() == "no_library"


async def test_a_library_that_is_replaced_is_used(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """After a driver upgrade a process keeps the old library: only a fresh one loads the new."""
    nvml.say(*CARDS, "init = error 18")
    way = make()
    assert await way.reason() == "version_mismatch"
    assert not way.probe._child, "a mismatch ends the process that has met it"
    nvml.say(*CARDS)
    assert len((await way.ask()).gpus) == 2


async def test_one_lost_gpu_of_eight(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """Seven are whole, in each pass; the eighth is named with its reason, and comes back."""
    eight = ("count = 8", *CARDS[1:])
    nvml.say(*eight)
    way = make()
    await way.ask()
    for code, reason in ((15, "gpu_lost"), (16, "reset_required"), (999, "unknown_error")):
        nvml.say(*eight, f"device.3.any = error {code}")
        answer = await way.ask()
        assert [gpu.index for gpu in answer.gpus] == [0, 1, 2, 4, 5, 6, 7]
        assert not any(gpu.temperature_celsius is None for gpu in answer.gpus)
        assert [problem.reason for problem in answer.problems] == [reason]
    nvml.say(*eight)
    assert len((await way.ask()).gpus) == 8


@pytest.mark.parametrize("key", ["fan.0", "power_limit_default", "pcie_replays", "power"])
async def test_a_board_that_has_an_unknown_error_somewhere_works(
    nvml: NvmlLibrary, make: MakeBackend, key: str
) -> None:
    """Its fan is said so while it computes: that value is absent, as with nvidia-smi."""
    nvml.say(*CARDS, "fans = 2", "fan.0 = 30", "fan.1 = 35", f"device.1.{key} = error 999")
    answer = await make().ask()
    assert [gpu.temperature_celsius for gpu in answer.gpus] == [40, 40]
    assert not answer.problems
    assert answer.gpus[1].fan_speed_percent == (
        (("1", 35),) if key == "fan.0" else (("0", 30), ("1", 35))
    )


async def test_a_gpu_that_is_lost_in_the_middle_of_a_pass(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """It is a problem with its UUID, not a GPU with half of its values."""
    nvml.say(*CARDS, "device.1.power = error 15")
    answer = await make().ask()
    assert [gpu.uuid for gpu in answer.gpus] == ["GPU-0"]
    assert [(p.uuid, p.index, p.reason) for p in answer.problems] == [("GPU-1", 1, "gpu_lost")]


async def test_a_lost_gpu_that_gives_another_index(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """GPUs that are numbered anew in the middle of a pass do not end the probe."""
    nvml.say(*CARDS, "device.1.index = 4", "device.1.power = error 15")
    answer = await make().ask()
    assert [gpu.uuid for gpu in answer.gpus] == ["GPU-0"]
    assert [(p.uuid, p.reason) for p in answer.problems] == [("GPU-1", "gpu_lost")]


async def test_values_stay_with_their_gpu(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """Whatever the count and the order are from pass to pass, no value is under another UUID."""
    warm = (*CARDS, "device.0.temperature = 30", "device.1.temperature = 60")
    way = make()
    truth = {"GPU-0": 30, "GPU-1": 60}
    for lines in (
        (),
        ("order = 1,0",),
        ("count = 1",),
        (),
        ("order = 1,0",),
        ("count = 1", "order = 1"),
    ):
        nvml.say(*warm, *lines)
        answer = await way.ask()
        assert answer.gpus
        assert temperatures(answer).items() <= truth.items()
        assert [gpu.index for gpu in answer.gpus] == list(range(len(answer.gpus)))


async def test_a_count_that_promises_too_much(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """Two whole GPUs and one that cannot be had."""
    nvml.say("count = 3", *CARDS[1:], "device.2.handle = error 6")
    answer = await make().ask()
    assert len(answer.gpus) == 2
    assert [(p.index, p.reason) for p in answer.problems] == [(2, "not_found")]


async def test_mig_is_switched_during_the_run(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """Instances come and go with the mode; the use of the whole is absent under MIG, not 0."""
    whole = (
        "count = 1",
        *CARDS[1:],
        "mig_mode = 0",
        "utilization_gpu = 55",
        "utilization_memory = 5",
    )
    cut = (
        "count = 1",
        *CARDS[1:],
        "mig_mode = 1",
        "mig_count_max = 7",
        "device.0.mig.0.gpu_instance = 1",
        "device.0.mig.0.uuid = MIG-a",
        "device.0.mig.0.name = NVIDIA H100 MIG 3g.40gb",
        "device.0.mig.0.memory_total = 40 GiB",
        "device.0.mig.0.memory_used = 1 GiB",
        "device.0.mig.4.gpu_instance = 2",
        "device.0.mig.4.uuid = MIG-b",
        "device.0.mig.4.name = NVIDIA H100 MIG 1g.10gb",
        "mig.compute_instance = 0",
    )
    way = make()
    for _ in range(2):
        nvml.say(*whole)
        (gpu,) = (await way.ask()).gpus
        assert (gpu.utilization_percent, gpu.mig_instances, gpu.mig_enabled) == (55, (), False)
        nvml.say(*cut)
        (gpu,) = (await way.ask()).gpus
        assert (gpu.utilization_percent, gpu.mig_enabled) == (None, True)
        said = [(one.gpu_instance, one.mig_uuid, one.profile) for one in gpu.mig_instances or ()]
        assert said == [(1, "MIG-a", "3g.40gb"), (2, "MIG-b", "1g.10gb")]


async def test_old_drivers_are_asked_in_their_own_words(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """Without the newer forms of calls the older ones are used, and remembered."""
    nvml.library_dir = build_nvml(
        missing=(
            "nvmlDeviceGetMemoryInfo_v2",
            "nvmlDeviceGetTemperatureV",
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetGpuFabricInfoV",
        )
    )
    said = (
        *CARDS,
        "memory_total = 80 GiB",
        "memory_used = 1 GiB",
        "compute_processes = 7:1024",
        "clock_reasons = 4",
        "fabric_state = 3",
    )
    nvml.say(*said)
    way = make()
    gpu = (await way.ask()).gpus[0]
    assert gpu.memory_total_bytes == 80 * 2**30
    assert gpu.temperature_celsius == 40
    assert gpu.processes is not None
    assert [process.pid for process in gpu.processes] == [7]
    assert dict(gpu.throttle_active or ())["sw_power_cap"] == 1
    assert gpu.fabric_state == "completed"


async def test_noise_of_the_library_is_harmless(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """It may print to both outputs and close standard output."""
    noise = ("nvmlDeviceGetPowerUsage = print hello", "nvmlDeviceGetCount_v2 = close 1")
    nvml.say(*CARDS, *noise, "nvmlDeviceGetName = warn careful")
    way = make()
    for _ in range(3):
        assert len((await way.ask()).gpus) == 2


async def test_a_library_that_leaks_is_replaced(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """The probe is replaced before it holds much, and no pass is missed."""
    nvml.say(*CARDS, "nvmlDeviceGetPowerUsage = leak 4194304")
    way = make()
    pids = set()
    for _ in range(6):
        assert len((await way.ask()).gpus) == 2
        if way.probe._child is not None:
            pids.add(way.probe._child.pid)
    assert len(pids) > 1
    assert way.probe.restarts >= 1


async def test_an_xid_is_said_the_moment_it_occurs(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """A line of its own, with the GPU, between two passes."""
    nvml.say(*CARDS, "event_types = 0x39f")
    way = make()
    await way.ask()
    nvml.wait_for_call("nvmlEventSetWait_v2", count=2)
    nvml.raise_xid(79, card=1)
    child = way.probe._child
    assert child is not None
    for _ in range(200):
        if way.events:
            break
        await child.gone_within(0.05)
    (event,) = way.events
    assert (event["event"], event["xid"], event["uuid"], event["index"]) == ("xid", 79, "GPU-1", 1)


async def test_impossible_values_are_absent_and_counted(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """All-ones, a terawatt, more than all: never shown, never 0."""
    nvml.say(
        "count = 1",
        "uuid = GPU-0",
        "power = 4294967295",
        "utilization_gpu = 4294967295",
        "utilization_memory = 3",
        "temperature = 4294967295",
        "memory_total = 0xffffffffffffffff",
        "memory_used = 0xffffffffffffffff",
        "clock.sm = 4294967295",
        "clock.memory = 2619",
        "pcie_replays = 4294967295",
        "performance_state = 32",
    )
    answer = await make().ask()
    (gpu,) = answer.gpus
    absent = (
        "power_draw_watts",
        "utilization_percent",
        "temperature_celsius",
        "memory_used_bytes",
        "memory_total_bytes",
        "pcie_replays_total",
        "performance_state",
    )
    assert [getattr(gpu, field) for field in absent] == [None] * len(absent)
    assert set(absent) <= answer.rejected.keys()
    assert gpu.clock_hertz == (("memory", 2619e6),)
    assert gpu.memory_controller_utilization_percent == 3


async def test_hostile_names(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """Bytes that are no UTF-8, quotes and newlines come through as clean text."""
    nvml.say("count = 1", "uuid = GPU-0", "name = hex 4e2256ff0a5c2c", "serial = hex ff")
    (gpu,) = (await make().ask()).gpus
    assert gpu.name == 'N"V\ufffd \\,'
    assert gpu.serial == "\ufffd"


async def test_two_gpus_of_the_same_uuid(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """The second is a problem of its own: no value is under somebody else's name."""
    nvml.say("count = 2", "uuid = GPU-same", "temperature = 40")
    answer = await make().ask()
    assert [gpu.index for gpu in answer.gpus] == [0]
    assert [(p.index, p.reason) for p in answer.problems] == [(1, "duplicate_uuid")]


async def test_a_slow_driver_gives_less_and_not_nothing(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """What matters most is read of every GPU in each pass; the rest says why it is absent."""
    nvml.say("count = 8", *CARDS[1:], "utilization_gpu = 5", "any = sleep 0.02", "serial = 1")
    way = make(timeout_secs=5)
    for _ in range(2):
        answer = await way.ask()
        assert [gpu.temperature_celsius for gpu in answer.gpus] == [40] * 8
        assert [gpu.power_draw_watts for gpu in answer.gpus] == [50] * 8
        assert "too_slow" in {missing.reason for missing in answer.missing}
    assert way.probe.restarts == 0


async def test_gpus_whose_every_call_is_slow_are_read_in_turn(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """A pass takes longer as far as the interval allows, and goes on where the last one ended."""
    nvml.say("count = 6", *CARDS[1:], "any = sleep 0.08")
    backend = make(timeout_secs=1.5, longest_secs=3.0)
    seen: Counter[str] = Counter()
    for _ in range(7):
        answer = await backend.ask()
        assert not answer.problems
        assert {gpu.temperature_celsius for gpu in answer.gpus} <= {40.0, None}
        seen.update(gpu.uuid for gpu in answer.gpus)
        assert answer.is_partial == (len(answer.gpus) < 6)
    assert sorted(seen) == [f"GPU-{n}" for n in range(6)]
    assert max(seen.values()) - min(seen.values()) <= 3
    assert backend.probe.restarts <= 2


async def test_gpus_that_take_long_to_wake_come_one_after_the_other(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """The first call on a sleeping GPU takes seconds: each pass goes on where the last ended."""
    nvml.say("count = 10", *CARDS[1:], "handle = sleep 0.5")
    way = make(timeout_secs=5.5)
    found = []
    for _ in range(3):
        answer = await way.ask()
        found.append(len(answer.gpus))
        assert answer.is_partial == (len(answer.gpus) < 10)
        assert not answer.problems
    assert found == sorted(found)
    assert 0 < found[0] < 10
    assert found[-1] == 10
    assert way.probe.restarts == 0


async def test_instances_that_may_not_be_seen_are_not_no_instances(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """Without the right the list is absent; an instance taken apart meanwhile is left out."""
    cut = (
        "count = 1",
        *CARDS[1:],
        "mig_mode = 1",
        "mig_count_max = 7",
        "device.0.mig.0.gpu_instance = 1",
        "device.0.mig.0.compute_instance = 0",
        "device.0.mig.0.uuid = MIG-a",
        "device.0.mig.1.gpu_instance = 2",
        "device.0.mig.1.compute_instance = 0",
    )
    nvml.say(*cut, "mig_handle = error 4")
    way = make()
    answer = await way.ask()
    assert answer.gpus[0].mig_instances is None
    reasons = {missing.field: missing.reason for missing in answer.missing}
    assert reasons["gpu0.mig_instances"] == "no_permission"
    nvml.say(*cut, "device.0.mig.1.uuid = error 6")
    (gpu,) = (await make().ask()).gpus
    assert [instance.mig_uuid for instance in gpu.mig_instances or ()] == ["MIG-a"]


async def test_an_xid_of_an_instance_names_both_its_instances(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """The GPU instance and the compute instance are not taken for each other."""
    nvml.say(*CARDS, "event_types = 8")
    backend = make()
    await backend.ask()
    nvml.wait_for_call("nvmlEventSetWait_v2", count=2)
    with nvml.events.open("a") as file:
        file.write("1 xid 31 3 1\n")
    await until(lambda: bool(backend.events))
    (event,) = backend.events
    told = (event["uuid"], event["xid"], event["gpu_instance"], event["compute_instance"])
    assert told == ("GPU-1", 31, 3, 1)


async def test_a_count_of_links_that_cannot_be_ends(nvml: NvmlLibrary, make: MakeBackend) -> None:
    """A million links are not asked for one by one."""
    nvml.say(*CARDS, "nvlink_links = 1000000", "nvlink.state = 1")
    (gpu, _) = (await make().ask()).gpus
    assert gpu.nvlink_up is not None
    assert len(gpu.nvlink_up) == 36
    assert len(nvml.calls("nvmlDeviceGetNvLinkState", "0")) <= 36


async def test_a_name_that_was_not_to_be_had_is_there_soon(
    nvml: NvmlLibrary, make: MakeBackend
) -> None:
    """One error does not call a GPU `unknown` for as long as the probe lives."""
    way = make()
    nvml.say(*CARDS, "device.1.name = error 23")
    assert [gpu.name for gpu in (await way.ask()).gpus] == ["H100", "unknown"]
    nvml.say(*CARDS)
    assert [gpu.name for gpu in (await way.ask()).gpus] == ["H100", "H100"]


class UnsupportedCard:
    """A card that supports no call but those that say who it is; notes when one is asked for."""

    library = handle = place = None

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[float] = []

    def text(self, name: str) -> str:
        return name

    def ask(self, name: str, *_: object, **__: object) -> object:
        if name == "nvmlDeviceGetEncoderUtilization":
            self.asked.append(self.now)
        if name == "nvmlDeviceGetIndex":
            return 0
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)

    ask_newest = field_values = ask

    def once(self, _: str, read: Callable[[Any], Any]) -> Any:
        return read(self)

    def kept(self, _: str, otherwise: Any) -> Any:
        return otherwise


class ShyCard(UnsupportedCard):
    """A card that gives its address on the bus only from the second try on."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: list[float] = []

    def ask(self, name: str, *arguments: object, **others: object) -> object:
        """Give the PCI address unless it is asked for the first time."""
        if name != "nvmlDeviceGetPciInfo":
            return super().ask(name, *arguments, **others)
        self.tried.append(self.now)
        if len(self.tried) == 1:
            raise NVMLError(NVML_ERROR_INSUFFICIENT_RESOURCES)
        return SimpleNamespace(busId=b"00000000:18:00.0")

    ask_newest = field_values = ask


def test_a_fact_that_was_not_to_be_had_is_there_soon() -> None:
    """One error does not take the address of a GPU away for as long as the probe lives."""
    card: Any = ShyCard()
    known = KnownGpu(card, frozenset(), lambda: card.now)
    found = []
    for second in range(0, 60, 5):
        card.now = second
        known.begin()
        known.finish(lambda: True)
        answer = known.answer()
        found.append((answer.get("pci_bus_id"), answer["missing"].get("pci_bus_id")))
    assert found[:4] == [(None, "insufficient_resources")] * 4
    assert set(found[4:]) == {("0000:18:00.0", None)}
    assert card.tried == [0, 20]


def test_a_value_that_becomes_available_is_there_soon() -> None:
    """What the board did not support is asked for again after twenty seconds, not before."""
    card: Any = UnsupportedCard()
    known = KnownGpu(card, frozenset(), lambda: card.now)
    for second in range(0, 60, 5):
        card.now = second
        known.begin()
        known.finish(lambda: True)
    assert card.asked == [0, 20, 40]
