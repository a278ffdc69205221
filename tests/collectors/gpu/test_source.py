"""The order of truth, in virtual time with ways that answer as each test says."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.collectors.gpu.backend import BackendError, Backends, GpuAnswer, GpuProblem
from exporter.collectors.gpu.nvidia import bound_gpus
from exporter.collectors.gpu.source import GpuSource, build_gpu
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus
from exporter.collectors.gpu.xids.nvml_events import GpuEvents
from exporter.config import Config, GpuConfig, Sources
from tests.collectors.gpu.backends import ScriptedBackend, answers, fails
from tests.fakes.source_context import call_now, source_context
from tests.fakes.virtual_time import in_virtual_time
from tests.probes.scripted_children import ScriptedChildren


def card(index: int, temperature: float = 50.0) -> Gpu:
    """A GPU of a node."""
    return Gpu(index=index, uuid=f"GPU-{index}", name="H100", temperature_celsius=temperature)


class Node:
    """A GPU source on a node whose driver marker is a file of the test."""

    def __init__(
        self, nvml: ScriptedBackend | None, smi: ScriptedBackend | None, marker: Path
    ) -> None:
        self.is_stuck = False
        self.wakes: list[float] = []
        loop = asyncio.get_running_loop()
        ctx = source_context(
            Config(
                gpu=GpuConfig(driver_markers=(str(marker),), redetect_secs=10),
                sources=Sources(sys_root=str(marker.parent)),
            ),
            boottime=loop.time,
            wake=lambda _: self.wakes.append(loop.time()),
        )
        backends = Backends(nvml, smi, lambda: self.is_stuck)
        self.source = GpuSource(ctx, backends, GpuEvents(ctx.wall, ctx.boottime))

    async def read(self) -> Gpus:
        value = (await self.source.read()).value
        assert isinstance(value, Gpus)
        return value

    async def read_at(self, moment: float) -> Gpus:
        await asyncio.sleep(moment - asyncio.get_running_loop().time())
        return await self.read()


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that shows that a driver is loaded."""
    path = tmp_path / "version"
    path.touch()
    return path


def bind(sys_root: Path, *addresses: str) -> None:
    """Bind the driver to the devices at these addresses."""
    for address in addresses:
        (sys_root / "bus/pci/devices" / address).mkdir(parents=True)
        folder = sys_root / "bus/pci/drivers/nvidia" / address
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.symlink_to(sys_root / "bus/pci/devices" / address)


async def test_virtual_functions_of_a_vgpu_host_are_no_gpus(tmp_path: Path) -> None:
    """The driver is bound to them as well, and counts the whole GPUs only."""
    bind(tmp_path, "0000:41:00.0", "0000:41:00.4", "0000:61:00.0")
    (tmp_path / "bus/pci/devices/0000:41:00.4/physfn").symlink_to("../0000:41:00.0")
    (tmp_path / "bus/pci/drivers/nvidia/bind").touch()
    ctx = source_context(Config(sources=Sources(sys_root=str(tmp_path))))
    assert await bound_gpus(ctx) == ("0000:41:00.0", "0000:61:00.0")


@in_virtual_time
async def test_nvml_is_asked_first(marker: Path) -> None:
    """A good answer of NVML is fresh, and nvidia-smi is not run."""
    smi = ScriptedBackend(answers(card(0)))
    gpus = await Node(ScriptedBackend(answers(card(0), card(1))), smi, marker).read()
    assert gpus.backend == GpuBackend("nvml", "ok", "550.1", "12.4", nvml_up=True)
    assert [(s.up, s.stale) for s in gpus.states] == [(True, False)] * 2
    assert smi.passes == 0


@in_virtual_time
async def test_nvidia_smi_speaks_when_nvml_fails_and_says_why(marker: Path) -> None:
    """The reason names why NVML was not used."""
    nvml, smi = ScriptedBackend(fails("version_mismatch")), ScriptedBackend(answers(card(0)))
    backend = (await Node(nvml, smi, marker).read()).backend
    told = (backend.backend, backend.reason, backend.nvml_up)
    assert told == ("nvidia-smi", "version_mismatch", False)


@in_virtual_time
async def test_the_cache_serves_the_last_good_reading_and_no_longer(marker: Path) -> None:
    """Marked stale from the first failure on, gone to the second at the end of its life."""
    nvml = ScriptedBackend(answers(card(0)), fails("timeout"))
    node = Node(nvml, ScriptedBackend(fails("timeout")), marker)
    assert not (await node.read()).states[0].stale
    for moment in (15, 299.9):
        gpus = await node.read_at(moment)
        assert (gpus.backend.backend, gpus.backend.reason) == ("cache", "timeout")
        assert gpus.states[0].stale
        assert gpus.states[0].up, "from the cache `up` keeps its last real value"
        assert gpus.states[0].gpu.temperature_celsius == 50.0
        assert gpus.states[0].read_boottime == 0.0
    gone = await node.read_at(300)
    assert gone.backend.backend == "none"
    assert (gone.states[0].up, gone.states[0].gpu.temperature_celsius) == (False, None)


@in_virtual_time
async def test_a_gpu_that_is_no_longer_listed_is_not_forgotten(marker: Path) -> None:
    """It is down until it returns, not gone as if it had never been there."""
    node = Node(ScriptedBackend(answers(card(0), card(1)), answers(card(0))), None, marker)
    await node.read()
    states = (await node.read_at(15)).states
    assert [(state.up, state.reason) for state in states] == [(True, None), (False, "not_listed")]


@in_virtual_time
@pytest.mark.parametrize("reason", ["not_listed", "gpu_lost"])
async def test_a_gpu_that_a_virtual_machine_has_is_not_shown(marker: Path, reason: str) -> None:
    """As after a restart; with a driver of the node it is shown again, at first as lost."""
    address = "0000:2a:00.0"
    lent = replace(card(1), pci_bus_id=address)
    problems = () if reason == "not_listed" else (GpuProblem(reason, "GPU-1", 1),)
    gone = answers(card(0), problems=problems)
    nvml = ScriptedBackend(answers(card(0), lent), gone, gone, gone, answers(card(0), lent))
    node = Node(nvml, None, marker)
    driver = marker.parent / "bus/pci/devices" / address / "driver"
    driver.parent.mkdir(parents=True)
    assert len((await node.read()).states) == 2
    driver.symlink_to("../../drivers/vfio-pci")
    for moment in (15, 30):
        assert [state.gpu.index for state in (await node.read_at(moment)).states] == [0]
    driver.unlink()
    assert [state.reason for state in (await node.read_at(45)).states] == [None, reason]
    assert [state.up for state in (await node.read_at(60)).states] == [True, True]


@in_virtual_time
async def test_a_hanging_pass_delays_nobody_and_is_not_repeated(marker: Path) -> None:
    """Each read comes back within its patience; one pass runs; its end is published at once."""
    nvml = ScriptedBackend(answers(card(0)), answers(card(0, 60.0), after_secs=40))
    node = Node(nvml, None, marker)
    loop = asyncio.get_running_loop()
    took = []
    for moment in (0, 15, 30, 45):
        await asyncio.sleep(moment - loop.time())
        started = loop.time()
        await node.read()
        took.append(loop.time() - started)
    assert took == [0.0, 1.0, 1.0, 1.0]
    assert nvml.passes == 2
    late = await node.read_at(55.1)
    assert node.wakes == [55.0]  # the first read shows the driver that it finds
    assert late.states[0].gpu.temperature_celsius == 60.0


@in_virtual_time
async def test_nothing_is_asked_while_a_killed_child_still_lives(marker: Path) -> None:
    """The circuit is open: no NVML, no nvidia-smi, the cache says `stuck`; then it closes."""
    nvml, smi = ScriptedBackend(answers(card(0))), ScriptedBackend(answers(card(0)))
    node = Node(nvml, smi, marker)
    await node.read()
    node.is_stuck = True
    stuck = await node.read_at(15)
    assert (stuck.backend.backend, stuck.backend.reason) == ("cache", "stuck")
    assert (nvml.passes, smi.passes) == (1, 0)
    node.is_stuck = False
    assert (await node.read_at(30)).backend.backend == "nvml"


@in_virtual_time
async def test_nvidia_smi_is_not_tried_beside_a_stuck_nvml_child(marker: Path) -> None:
    """It would hang in the kernel as well."""

    async def get_stuck() -> GpuAnswer:
        node.is_stuck = True
        raise BackendError("stuck", "it does not die")

    smi = ScriptedBackend(answers(card(0)))
    node = Node(ScriptedBackend(answers(card(0)), get_stuck), smi, marker)
    await node.read()
    gpus = await node.read_at(15)
    assert (gpus.backend.reason, smi.passes) == ("stuck", 0)


@in_virtual_time
async def test_reads_in_quick_succession_share_one_pass(marker: Path) -> None:
    """The driver is asked at most once a second, however often somebody wants to know."""
    nvml = ScriptedBackend(answers(card(0)))
    node = Node(nvml, None, marker)
    for _ in range(75):
        await node.read()
        await asyncio.sleep(0.01)
    assert nvml.passes == 1


@in_virtual_time
async def test_without_a_driver_nothing_is_asked(tmp_path: Path) -> None:
    """A CPU node says `no_driver`, has no `nvml_up`, and runs no child."""
    nvml = ScriptedBackend(answers(card(0)))
    gpus = await Node(nvml, None, tmp_path / "not there").read()
    assert gpus == Gpus(GpuBackend("none", "no_driver"))
    assert nvml.passes == 0


@in_virtual_time
async def test_a_driver_that_appears_and_goes_is_noticed_by_itself(tmp_path: Path) -> None:
    """A new one and a gone one within ten seconds: forgotten, its children ended."""
    path = tmp_path / "version"
    nvml = ScriptedBackend(answers(card(0)))
    node = Node(nvml, None, path)
    await node.read()
    await asyncio.sleep(12)
    await call_now(path.touch)
    appeared = await node.read_at(20.1)
    assert [state.gpu.uuid for state in appeared.states] == ["GPU-0"]
    await call_now(path.unlink)
    assert await node.read_at(30.1) == Gpus(GpuBackend("none", "no_driver"))
    assert node.wakes == [20.0, 30.0]
    assert nvml.is_closed


@in_virtual_time
async def test_a_bug_in_a_pass_is_the_failure_of_this_source(marker: Path) -> None:
    """It is neither swallowed nor shown as an empty node."""

    async def broken() -> GpuAnswer:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Node(ScriptedBackend(broken), None, marker).read()


@in_virtual_time
async def test_impossible_values_are_counted_over_passes(marker: Path) -> None:
    """What was rejected is a counter by field."""

    async def step() -> GpuAnswer:
        return GpuAnswer((card(0),), rejected={"power_draw_watts": 2})

    node = Node(ScriptedBackend(step), None, marker)
    await node.read()
    await asyncio.sleep(15)
    assert (await node.source.read()).rejected == (("power_draw_watts", 4.0),)


@in_virtual_time
async def test_a_failure_is_shown_before_the_other_way_has_answered(marker: Path) -> None:
    """While nvidia-smi takes its time, the page says already why NVML is not used."""
    nvml = ScriptedBackend(answers(card(0)), fails("timeout", after_secs=5))
    node = Node(nvml, ScriptedBackend(answers(card(0), after_secs=4)), marker)
    await node.read()
    await node.read_at(15)
    waiting, answered = [(await node.read_at(moment)).backend for moment in (20.1, 24.1)]
    assert (waiting.backend, waiting.reason, waiting.nvml_up) == ("cache", "timeout", False)
    assert (answered.backend, answered.reason) == ("nvidia-smi", "timeout")
    assert answered.cuda_version == "12.4", "what NVML said of this driver still holds"


@in_virtual_time
async def test_gpus_are_let_go_of_and_taken_up_again(marker: Path) -> None:
    """No way is asked meanwhile, the children are ended, and the cache serves what is known."""
    nvml = ScriptedBackend(answers(card(0)))
    node = Node(nvml, None, marker)
    found, passes = [await node.read()], [nvml.passes]
    node.source.release()
    await asyncio.sleep(0)
    for moment in (15, 299, 301):
        found.append(await node.read_at(moment))
        passes.append(nvml.passes)
    node.source.release()
    node.source.resume()
    found.append(await node.read_at(303))
    assert [gpus.backend.reason for gpus in found] == ["ok", "released", "released", "ok", "ok"]
    assert passes == [1, 1, 1, 2]
    assert nvml.is_closed
    assert found[1].states[0].stale
    assert found[1].states[0].up


@in_virtual_time
async def test_who_keeps_gpus_released_is_seen(marker: Path) -> None:
    """Each request counts; requests that follow each other are overdue once the first is over."""
    node = Node(ScriptedBackend(answers(card(0))), None, marker)
    found = [await node.read()]
    for moment in (10, 200, 390):
        await node.read_at(moment)
        node.source.release()
        found.append(await node.read_at(moment + 1))
    found.append(await node.read_at(390 + 301))
    assert [gpus.releases for gpus in found] == [0, 1, 2, 3, 3]
    assert [gpus.release_overdue for gpus in found] == [False, False, False, True, False]


@in_virtual_time
async def test_an_unloaded_driver_ends_the_release(marker: Path) -> None:
    """Who had the driver unloaded has it loaded again: nobody has to ask for the GPUs."""
    node = Node(ScriptedBackend(answers(card(0))), None, marker)
    await node.read()
    await asyncio.sleep(1)
    node.source.release()
    await call_now(marker.unlink)
    await node.read_at(3)
    await call_now(marker.touch)
    assert (await node.read_at(20)).backend.reason == "ok"


@in_virtual_time
async def test_a_collection_each_second_reads_each_second(marker: Path) -> None:
    """A timer that fires a little early does not make every other read an old one."""
    nvml = ScriptedBackend(answers(card(0)))
    node = Node(nvml, None, marker)
    for second in range(20):
        await node.read_at(second + (0.03 if second % 2 else 0.0))
    assert nvml.passes == 20


@in_virtual_time
async def test_a_chosen_nvidia_smi_is_no_failure_of_nvml(marker: Path) -> None:
    """Where NVML is switched off it is shown neither as up nor as down."""
    smi = ScriptedBackend(answers(card(0)), fails("timeout"), answers(card(0)))
    node = Node(None, smi, marker)
    seen = [(await node.read_at(second)).backend for second in (0, 2, 4)]
    assert [backend.backend for backend in seen] == ["nvidia-smi", "cache", "nvidia-smi"]
    assert [backend.nvml_up for backend in seen] == [None] * 3


@pytest.mark.parametrize("how", ["known", "bound"])
@in_virtual_time
async def test_no_devices_is_a_loss_where_there_were_some(marker: Path, how: str) -> None:
    """«No devices were found» on a node whose GPUs were seen, or are bound to the driver."""
    steps = [answers(card(0)), fails("no_devices")] if how == "known" else [fails("no_devices")]
    node = Node(None, ScriptedBackend(*steps), marker)
    bind(marker.parent, *(["0000:01:00.0"] if how == "bound" else []))
    for second in range(len(steps)):
        gpus = await node.read_at(2.0 * second)
    (state,) = gpus.states
    assert (state.up, state.reason) == (False, "no_devices")
    assert state.gpu.pci_bus_id == ("0000:01:00.0" if how == "bound" else card(0).pci_bus_id)


@in_virtual_time
async def test_no_devices_on_a_node_without_any_is_none(marker: Path) -> None:
    """A driver without a GPU: no GPU is invented."""
    gpus = await Node(None, ScriptedBackend(fails("no_devices")), marker).read()
    assert (gpus.states, gpus.backend.reason) == ((), "no_devices")


@pytest.mark.parametrize(("second_driver", "expected"), [("550.1", "12.4"), ("570.1", None)])
@in_virtual_time
async def test_the_cuda_version_of_another_driver_is_not_shown(
    marker: Path, second_driver: str, expected: str | None
) -> None:
    """What NVML said of an older driver is not told of the one that nvidia-smi names."""
    nvml = ScriptedBackend(answers(card(0)), fails("version_mismatch"))
    smi = answers(card(0), driver_version=second_driver, cuda_version=None)
    node = Node(nvml, ScriptedBackend(smi), marker)
    await node.read_at(0)
    assert (await node.read_at(2)).backend.cuda_version == expected


@in_virtual_time
async def test_a_reading_is_as_old_as_the_begin_of_its_pass(marker: Path) -> None:
    """What a pass of three seconds says was so when it began, or later."""
    node = Node(ScriptedBackend(answers(card(0), after_secs=3.0)), None, marker)
    await node.read_at(10.0)
    assert (await node.read_at(13.5)).states[0].read_boottime == 10.0


@in_virtual_time
@pytest.mark.parametrize("has_driver", [True, False])
async def test_the_probe_starts_with_the_program_where_a_driver_is(
    marker: Path, *, has_driver: bool
) -> None:
    """It does not wait for the first reading; without a driver no process is started."""
    path = marker if has_driver else marker.with_suffix(".away")
    children = ScriptedChildren()
    build_gpu(
        source_context(
            Config(gpu=GpuConfig(driver_markers=(str(path),))),
            driver_children=children.as_children(),
        )
    )
    assert len(children.started) == has_driver
