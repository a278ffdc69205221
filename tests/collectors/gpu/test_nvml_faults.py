"""What the library does wrong, and what it costs: real probe processes over the fake library."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from exporter.collectors.gpu.backend import BackendError, Deadline, GpuAnswer
from exporter.collectors.gpu.nvml import LASTING_ERRORS, VITAL_CALLS, NvmlBackend
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice
from exporter.collectors.gpu.nvml_probe.known_gpu import QUIET_SECS, KnownGpu
from exporter.collectors.gpu.nvml_probe.library import Library
from exporter.collectors.gpu.nvml_probe.nvml import NVML_ERROR_NOT_SUPPORTED, NVMLError
from exporter.collectors.gpu.quarantine import Quarantine
from exporter.collectors.gpu.supervision.breadcrumb import Breadcrumb
from exporter.collectors.gpu.supervision.request_probe import RequestProbe
from exporter.collectors.gpu.values import DisabledCall
from exporter.probes.child import Children
from tests.collectors.gpu.nvml_probe.probe_process import probe_command
from tests.fakes.native import build_nvml
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.waiting import until

pytestmark = pytest.mark.system

ANY = ("uuid = GPU-{device}", "name = H100", "temperature = 40", "power = 50000")
CARDS, EIGHT = ("count = 2", *ANY), ("count = 8", *ANY)


class Asked:
    """NVML through a probe that is asked under a deadline; two healthy cards to begin with."""

    def __init__(self, nvml: NvmlLibrary, children: Children) -> None:
        self.nvml = nvml
        self.say = nvml.say
        self.events: list[dict[str, Any]] = []
        self.changes = 0
        self._children = children
        self.within(20.0)
        self.say(*CARDS)

    def within(self, timeout_secs: float, longest_secs: float = 0.0) -> None:
        """Ask new processes from now on, under this deadline."""
        self.probe = self._new_probe(self.events.append)
        lone = self._new_probe(lambda _: None)
        lone_secs = min(timeout_secs, 1.5)
        self.quarantine = Quarantine(lone, lone_secs, self._note_change, retry_secs=0.5)
        self.deadline = Deadline(timeout_secs, longest_secs)
        self._backend = NvmlBackend(self.probe, self.deadline, self.quarantine)

    def _new_probe(self, on_event: Callable[[dict[str, Any]], None]) -> RequestProbe:
        crumb = Breadcrumb("test", VITAL_CALLS, "GPU")
        return RequestProbe("nvml", probe_command(self.nvml), self._children, on_event, crumb)

    def _note_change(self) -> None:
        self.changes += 1

    async def close(self) -> None:
        """End the children."""
        await self._backend.close()
        await self._children.end_all()

    async def ask(self) -> GpuAnswer:
        """One pass, whatever back-off says."""
        self.probe._not_before = 0.0
        return await self._backend.ask()

    def ask_suspects_at_once(self) -> None:
        """Ask the GPUs in quarantine again, whatever their pause after a crash says."""
        for suspect in self.quarantine._suspects.values():
            suspect.not_before = 0.0

    def be_patient(self) -> None:
        """Give the passes from now on all the time a busy machine may need."""
        self.deadline.secs = 20.0

    async def reason(self) -> str:
        """Why a pass failed."""
        with pytest.raises(BackendError) as caught:
            await self.ask()
        return caught.value.reason


@pytest.fixture
async def way(nvml: NvmlLibrary) -> AsyncIterator[Asked]:
    """NVML as the program asks it."""
    asked = Asked(nvml, Children())
    yield asked
    await asked.close()


def temperatures(answer: GpuAnswer) -> dict[str, float | None]:
    """What was said, by UUID."""
    return {gpu.uuid: gpu.temperature_celsius for gpu in answer.gpus}


@pytest.mark.parametrize("fault", ["hang", "sleep 100"])
@pytest.mark.parametrize("where", ["nvmlInitWithFlags", "nvmlDeviceGetPowerUsage"])
async def test_a_hang_costs_the_pass_and_names_its_call(way: Asked, where: str, fault: str) -> None:
    """The reason is `timeout`, the message says where; the next pass is well when the call is."""
    way.say(*CARDS, f"{where} = {fault}")
    way.within(1.5)
    with pytest.raises(BackendError, match=f"in {where.replace('WithFlags', '')}") as caught:
        await way.ask()
    assert caught.value.reason == "timeout"
    way.say(*CARDS)
    way.be_patient()
    assert temperatures(await way.ask()) == {"GPU-0": 40, "GPU-1": 40}
    assert way.probe.restarts == (2 if "Power" in where else 1)


@pytest.mark.parametrize("fault", ["segv", "abort", "exit 3"])
async def test_a_single_crash_is_survived_within_the_pass(way: Asked, fault: str) -> None:
    """A fresh process takes over at once; the restart is counted."""
    way.say(*CARDS, f"device.1.temperature = {fault} at 2", "device.1.temperature = 41")
    await way.ask()
    assert temperatures(await way.ask()) == {"GPU-0": 40, "GPU-1": 41}
    assert way.probe.restarts == 1


async def test_the_third_crash_of_a_call_switches_the_call_off(
    way: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    """On its GPU first, on a second one for all; all other values are read again."""
    way.say(*CARDS, "nvmlDeviceGetPowerUsage = segv")
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


async def test_a_call_that_crashes_on_one_gpu_is_switched_off_there(way: Asked) -> None:
    """The others keep the value, and the answer names the call and the GPU."""
    way.say(*EIGHT, "device.5.nvmlDeviceGetPowerUsage = segv")
    assert await way.reason() == "crashed"
    answer = await way.ask()
    told = [gpu.power_draw_watts for gpu in answer.gpus]
    assert told == [50, 50, 50, 50, 50, None, 50, 50]
    assert temperatures(answer) == {f"GPU-{n}": 40 for n in range(8)}
    assert answer.disabled_calls == (DisabledCall("nvmlDeviceGetPowerUsage", 5),)


HANGS = ("any = hang", "nvmlDeviceGetPowerUsage = hang")


@pytest.mark.parametrize("fault", HANGS)
async def test_a_gpu_that_hangs_costs_itself_only(way: Asked, fault: str) -> None:
    """The others are read within the same pass and stay fresh; it is down with its own reason."""
    others = {f"GPU-{n}": 40 for n in range(8) if n != 3}
    way.say(*EIGHT)
    way.within(3.0)
    assert len((await way.ask()).gpus) == 8
    way.say(*EIGHT, f"device.3.{fault}")
    first = await way.ask()
    assert temperatures(first) == others
    assert first.is_partial
    assert not first.problems
    await until(lambda: way.changes == 1)
    restarts = way.probe.restarts
    for _ in range(3):
        answer = await way.ask()
        assert temperatures(answer) == others
        assert [(p.index, p.reason) for p in answer.problems] == [(3, "hung")]
        assert not answer.is_partial
    assert way.probe.restarts == restarts
    way.say(*EIGHT)
    await until(lambda: way.changes == 2)
    assert len((await way.ask()).gpus) == 8


async def test_a_call_that_hangs_on_every_gpu_is_no_fault_of_one(way: Asked) -> None:
    """The pass has failed, no GPU is blamed, and the next one asks all again."""
    cards = ("count = 4", *ANY)
    way.say(*cards, "nvmlDeviceGetPowerUsage = hang")
    way.within(1.5)
    assert await way.reason() == "timeout"
    assert way.quarantine.suspects == ()
    way.say(*cards)
    way.be_patient()
    assert len((await way.ask()).gpus) == 4


async def test_a_library_that_crashes_at_once_gives_way(way: Asked) -> None:
    """Nothing is read without its first call: it is made again in each pass, and recovers."""
    way.say(*CARDS, "init = abort")
    assert [await way.reason() for _ in range(4)] == ["crashed"] * 4
    assert way.probe.switched_off == ()
    way.say(*CARDS)
    assert temperatures(await way.ask()) == {"GPU-0": 40, "GPU-1": 40}


@pytest.mark.parametrize("call", ["nvmlDeviceGetUUID", "handle", "nvmlDeviceGetIndex"])
async def test_a_gpu_that_cannot_be_asked_who_it_is_costs_itself_only(
    way: Asked, call: str
) -> None:
    """The others are read; it is down with its own reason, and back when it answers."""
    way.say(*EIGHT, f"device.3.{call} = segv")
    assert await way.reason() == "crashed"
    for _ in range(2):
        answer = await way.ask()
        assert sorted(temperatures(answer)) == [f"GPU-{n}" for n in range(8) if n != 3]
        await until(lambda: way.changes == 1)
    assert [(p.index, p.reason) for p in answer.problems] == [(3, "crashes")]
    way.say(*EIGHT)
    way.ask_suspects_at_once()
    await until(lambda: way.changes == 2)
    assert len((await way.ask()).gpus) == 8


async def test_a_crash_between_two_passes_costs_nothing(way: Asked) -> None:
    """The event thread may crash the probe while nobody asks: the next pass starts a fresh one."""
    way.say(*CARDS, "event_types = 8", "event_wait = segv at 1")
    await way.ask()
    child = way.probe._child
    assert child is not None
    assert await child.gone_within(10)
    way.say(*CARDS)
    assert temperatures(await way.ask()) == {"GPU-0": 40, "GPU-1": 40}
    assert way.probe.switched_off == ()


async def test_events_that_crash_are_given_up(way: Asked) -> None:
    """After the third crash of the event thread passes go on without it."""
    way.say(*CARDS, "event_types = 8", "event_wait = segv")
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
async def test_each_failure_of_the_library_has_its_word(way: Asked, code: int, reason: str) -> None:
    """The reason is a word of docs/troubleshooting.md, and it recovers by itself.

    Where only a fresh process can, that is counted as a restart, of which there are few.
    """
    way.say(*CARDS, f"init = error {code}")
    assert [await way.reason() for _ in range(3)] == [reason] * 3
    way.say(*CARDS)
    assert len((await way.ask()).gpus) == 2
    assert way.probe.restarts == (reason in LASTING_ERRORS)


async def test_no_library_at_all(way: Asked) -> None:
    """A node without the library says so."""
    way.nvml.library_dir = way.nvml.scenario.parent
    way.within(20.0)
    assert await way.reason() == "no_library"


async def test_one_lost_gpu_of_eight(way: Asked) -> None:
    """Seven are whole, in each pass; the eighth is named with its reason, and comes back."""
    way.say(*EIGHT)
    await way.ask()
    for code, reason in ((15, "gpu_lost"), (16, "reset_required"), (999, "unknown_error")):
        way.say(*EIGHT, f"device.3.any = error {code}")
        answer = await way.ask()
        assert [gpu.index for gpu in answer.gpus] == [0, 1, 2, 4, 5, 6, 7]
        assert not any(gpu.temperature_celsius is None for gpu in answer.gpus)
        assert [problem.reason for problem in answer.problems] == [reason]
    way.say(*EIGHT)
    assert len((await way.ask()).gpus) == 8


@pytest.mark.parametrize("key", ["fan.0", "power_limit_default", "pcie_replays", "power"])
async def test_a_board_that_has_an_unknown_error_somewhere_works(way: Asked, key: str) -> None:
    """Its fan is said so while it computes: that value is absent, as with nvidia-smi."""
    way.say(*CARDS, "fans = 2", "fan.0 = 30", "fan.1 = 35", f"device.1.{key} = error 999")
    answer = await way.ask()
    assert [gpu.temperature_celsius for gpu in answer.gpus] == [40, 40]
    assert not answer.problems
    assert answer.gpus[1].fan_speed_percent == (
        (("1", 35),) if key == "fan.0" else (("0", 30), ("1", 35))
    )


@pytest.mark.parametrize("index", [1, 4])
async def test_a_gpu_that_is_lost_in_the_middle_of_a_pass(way: Asked, index: int) -> None:
    """It is a problem with its UUID, not a GPU with half of its values; also numbered anew."""
    way.say(*CARDS, f"device.1.index = {index}", "device.1.power = error 15")
    answer = await way.ask()
    assert [gpu.uuid for gpu in answer.gpus] == ["GPU-0"]
    assert [(p.uuid, p.reason) for p in answer.problems] == [("GPU-1", "gpu_lost")]


async def test_values_stay_with_their_gpu(way: Asked) -> None:
    """Whatever the count and the order are from pass to pass, no value is under another UUID."""
    warm = (*CARDS, "device.0.temperature = 30", "device.1.temperature = 60")
    truth = {"GPU-0": 30, "GPU-1": 60}
    for lines in (
        (),
        ("order = 1,0",),
        ("count = 1",),
        (),
        ("order = 1,0",),
        ("count = 1", "order = 1"),
    ):
        way.say(*warm, *lines)
        answer = await way.ask()
        assert answer.gpus
        assert temperatures(answer).items() <= truth.items()
        assert [gpu.index for gpu in answer.gpus] == list(range(len(answer.gpus)))


async def test_a_count_that_promises_too_much(way: Asked) -> None:
    """Two whole GPUs and one that cannot be had."""
    way.say("count = 3", *ANY, "device.2.handle = error 6")
    answer = await way.ask()
    assert len(answer.gpus) == 2
    assert [(p.index, p.reason) for p in answer.problems] == [(2, "not_found")]


async def test_mig_is_switched_during_the_run(way: Asked) -> None:
    """Instances come and go with the mode; the use of the whole is absent under MIG, not 0."""
    whole = (
        "count = 1",
        *ANY,
        "mig_mode = 0",
        "utilization_gpu = 55",
        "utilization_memory = 5",
    )
    cut = (
        "count = 1",
        *ANY,
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
    for _ in range(2):
        way.say(*whole)
        (gpu,) = (await way.ask()).gpus
        assert (gpu.utilization_percent, gpu.mig_instances, gpu.mig_enabled) == (55, (), False)
        way.say(*cut)
        (gpu,) = (await way.ask()).gpus
        assert (gpu.utilization_percent, gpu.mig_enabled) == (None, True)
        said = [(one.gpu_instance, one.mig_uuid, one.profile) for one in gpu.mig_instances or ()]
        assert said == [(1, "MIG-a", "3g.40gb"), (2, "MIG-b", "1g.10gb")]


async def test_old_drivers_are_asked_in_their_own_words(way: Asked) -> None:
    """Without the newer forms of calls the older ones are used, and remembered."""
    way.nvml.library_dir = build_nvml(
        missing=(
            "nvmlDeviceGetMemoryInfo_v2",
            "nvmlDeviceGetTemperatureV",
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetGpuFabricInfoV",
        )
    )
    way.within(20.0)
    said = (
        *CARDS,
        "memory_total = 80 GiB",
        "memory_used = 1 GiB",
        "compute_processes = 7:1024",
        "clock_reasons = 4",
        "fabric_state = 3",
    )
    way.say(*said)
    gpu = (await way.ask()).gpus[0]
    assert gpu.memory_total_bytes == 80 * 2**30
    assert gpu.temperature_celsius == 40
    assert gpu.processes is not None
    assert [process.pid for process in gpu.processes] == [7]
    assert dict(gpu.throttle_active or ())["sw_power_cap"] == 1
    assert gpu.fabric_state == "completed"


async def test_noise_of_the_library_is_harmless(way: Asked) -> None:
    """It may print to both outputs and close standard output."""
    noise = ("nvmlDeviceGetPowerUsage = print hello", "nvmlDeviceGetCount_v2 = close 1")
    way.say(*CARDS, *noise, "nvmlDeviceGetName = warn careful")
    for _ in range(3):
        assert len((await way.ask()).gpus) == 2


async def test_a_library_that_leaks_is_replaced(way: Asked) -> None:
    """The probe is replaced before it holds much, and no pass is missed."""
    way.say(*CARDS, "nvmlDeviceGetPowerUsage = leak 4194304")
    pids = set()
    for _ in range(6):
        assert len((await way.ask()).gpus) == 2
        if way.probe._child is not None:
            pids.add(way.probe._child.pid)
    assert len(pids) > 1
    assert way.probe.restarts >= 1


async def test_impossible_values_are_absent_and_counted(way: Asked) -> None:
    """All-ones, a terawatt, more than all: never shown, never 0."""
    way.say(
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
    answer = await way.ask()
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


async def test_hostile_names(way: Asked) -> None:
    """Bytes that are no UTF-8, quotes and newlines come through as clean text."""
    way.say("count = 1", "uuid = GPU-0", "name = hex 4e2256ff0a5c2c", "serial = hex ff")
    (gpu,) = (await way.ask()).gpus
    assert gpu.name == 'N"V\ufffd \\,'
    assert gpu.serial == "\ufffd"


async def test_two_gpus_of_the_same_uuid(way: Asked) -> None:
    """The second is a problem of its own: no value is under somebody else's name."""
    way.say("count = 2", "uuid = GPU-same", "temperature = 40")
    answer = await way.ask()
    assert [gpu.index for gpu in answer.gpus] == [0]
    assert [(p.index, p.reason) for p in answer.problems] == [(1, "duplicate_uuid")]


async def test_a_slow_driver_gives_less_and_not_nothing(way: Asked) -> None:
    """What matters most is read of every GPU in each pass; the rest says why it is absent."""
    way.say(*EIGHT, "utilization_gpu = 5", "any = sleep 0.02", "serial = 1")
    way.within(5)
    for _ in range(2):
        answer = await way.ask()
        assert [gpu.temperature_celsius for gpu in answer.gpus] == [40] * 8
        assert [gpu.power_draw_watts for gpu in answer.gpus] == [50] * 8
        assert "too_slow" in {missing.reason for missing in answer.missing}
    assert way.probe.restarts == 0


async def test_gpus_whose_every_call_is_slow_are_read_in_turn(way: Asked) -> None:
    """A pass takes longer as far as the interval allows, and goes on where the last one ended."""
    way.say("count = 6", *ANY, "any = sleep 0.08")
    way.within(1.5, longest_secs=3.0)
    seen: Counter[str] = Counter()
    for _ in range(7):
        answer = await way.ask()
        assert not answer.problems
        assert {gpu.temperature_celsius for gpu in answer.gpus} <= {40.0, None}
        seen.update(gpu.uuid for gpu in answer.gpus)
        assert answer.is_partial == (len(answer.gpus) < 6)
    assert sorted(seen) == [f"GPU-{n}" for n in range(6)]
    assert max(seen.values()) - min(seen.values()) <= 3
    assert way.probe.restarts <= 2


async def test_gpus_that_take_long_to_wake_come_one_after_the_other(way: Asked) -> None:
    """The first call on a sleeping GPU takes seconds: each pass goes on where the last ended."""
    way.say("count = 10", *ANY, "handle = sleep 0.5")
    way.within(5.5)
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


async def test_instances_that_may_not_be_seen_are_not_no_instances(way: Asked) -> None:
    """Without the right the list is absent; an instance taken apart meanwhile is left out."""
    cut = (
        "count = 1",
        *ANY,
        "mig_mode = 1",
        "mig_count_max = 7",
        "device.0.mig.0.gpu_instance = 1",
        "device.0.mig.0.compute_instance = 0",
        "device.0.mig.0.uuid = MIG-a",
        "device.0.mig.1.gpu_instance = 2",
        "device.0.mig.1.compute_instance = 0",
    )
    way.say(*cut, "mig_handle = error 4")
    answer = await way.ask()
    assert answer.gpus[0].mig_instances is None
    reasons = {missing.field: missing.reason for missing in answer.missing}
    assert reasons["gpu0.mig_instances"] == "no_permission"
    way.within(20.0)  # a fresh probe asks again at once
    way.say(*cut, "device.0.mig.1.uuid = error 6")
    (gpu,) = (await way.ask()).gpus
    assert [instance.mig_uuid for instance in gpu.mig_instances or ()] == ["MIG-a"]


async def test_an_xid_of_an_instance_names_both_its_instances(way: Asked) -> None:
    """The GPU instance and the compute instance are not taken for each other."""
    way.say(*CARDS, "event_types = 8")
    await way.ask()
    way.nvml.wait_for_call("nvmlEventSetWait_v2", count=2)
    way.nvml.raise_xid(31, card=1, instances="3 1")
    await until(lambda: bool(way.events))
    (event,) = way.events
    told = (event["uuid"], event["xid"], event["gpu_instance"], event["compute_instance"])
    assert told == ("GPU-1", 31, 3, 1)


async def test_a_count_of_links_that_cannot_be_ends(way: Asked) -> None:
    """A million links are not asked for one by one."""
    way.say(*CARDS, "nvlink_links = 1000000", "nvlink.state = 1")
    (gpu, _) = (await way.ask()).gpus
    assert gpu.nvlink_up is not None
    assert len(gpu.nvlink_up) == 36
    assert len(way.nvml.calls("nvmlDeviceGetNvLinkState", "0")) <= 36


async def test_a_name_that_was_not_to_be_had_is_there_soon(way: Asked) -> None:
    """One error does not call a GPU `unknown` for as long as the probe lives."""
    way.say(*CARDS, "device.1.name = error 23")
    assert [gpu.name for gpu in (await way.ask()).gpus] == ["H100", "unknown"]
    way.say(*CARDS)
    assert [gpu.name for gpu in (await way.ask()).gpus] == ["H100", "H100"]


class ShyCard(NvmlDevice):
    """A card that supports no call but its name, and gives address and limits a little later.

    `asked` are the seconds at which each function was asked for.
    """

    def __init__(self) -> None:
        super().__init__(Library(), None)
        self.now = 0.0
        self.asked: dict[str, list[float]] = defaultdict(list)

    def text(self, name: str) -> str:
        return name

    def ask(self, name: str, *_: object, **__: object) -> object:
        self.asked[name].append(self.now)
        if name == "nvmlDeviceGetIndex":
            return 0
        if name not in ("nvmlDeviceGetPciInfo", "nvmlDeviceGetTemperatureThreshold"):
            raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
        if self.now == 0:
            raise NVMLError(23)  # NVML_ERROR_INSUFFICIENT_RESOURCES
        return SimpleNamespace(busId=b"00000000:18:00.0") if name.endswith("PciInfo") else 90

    ask_newest = field_values = ask  # type: ignore[assignment] # none is supported


def test_what_was_not_to_be_had_is_there_soon() -> None:
    """What failed or is not supported is asked for again after twenty seconds, not before."""
    card: Any = ShyCard()
    known = KnownGpu(card, frozenset(), lambda: card.now)
    found = []
    for second in range(0, 60, 5):
        card.now = second
        known.begin()
        known.finish(lambda: True)
        answer = known.answer()
        found.append((answer.get("pci_bus_id"), answer["missing"].get("pci_bus_id")))
        assert ("temperature_threshold_celsius" in answer) == (second >= QUIET_SECS)
    assert found[:4] == [(None, "insufficient_resources")] * 4
    assert set(found[4:]) == {("0000:18:00.0", None)}
    assert card.asked["nvmlDeviceGetPciInfo"] == [0, 20]
    assert card.asked["nvmlDeviceGetEncoderUtilization"] == [0, 20, 40]
