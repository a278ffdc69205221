"""nvidia-smi as a real child process: what it prints, and everything it may do instead."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from exporter.probes.child import Children
from exporter.sources.gpu.backend import BackendError
from exporter.sources.gpu.nvidia_smi import NvidiaSmiBackend, is_trustworthy
from exporter.sources.gpu.smi_fields import COLUMNS
from tests.fakes.smi_program import NvidiaSmi

CARDS = (
    "count = 2",
    "driver_version = 550.1",
    "uuid = GPU-{device}",
    "name = NVIDIA H100",
    "bus_id = 00000000:0{device}:00.0",
    "temperature = 40",
    "power = 71250",
    "memory_total = 80 GiB",
    "memory_reserved = 512 MiB",
    "memory_used = 1 GiB",
    "compute_processes =",
    "device.1.compute_processes = 4242:1073741824 4243:na",
)

MakeWay = Callable[..., NvidiaSmiBackend]


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    """All children of a test, ended with it."""
    started = Children()
    yield started
    await started.end_all()


@pytest.fixture
def make(nvidia_smi: NvidiaSmi, children: Children) -> MakeWay:
    """Builds the way over the fake program; two healthy cards until a test says otherwise."""
    nvidia_smi.say(*CARDS)

    def build(timeout_secs: float = 20.0, path: Path = nvidia_smi.path) -> NvidiaSmiBackend:
        return NvidiaSmiBackend(children, (path,), {"PATH": "/usr/bin"}, timeout_secs)

    return build


async def reason(way: NvidiaSmiBackend) -> str:
    """Why a pass failed."""
    with pytest.raises(BackendError) as caught:
        await way.ask()
    return caught.value.reason


async def test_a_pass(make: MakeWay) -> None:
    """Every GPU with its values and its processes."""
    answer = await make().ask()
    assert answer.driver_version == "550.1"
    first, second = answer.gpus
    assert (first.index, first.uuid, first.name) == (0, "GPU-0", "NVIDIA H100")
    assert (first.pci_bus_id, first.temperature_celsius) == ("0000:00:00.0", 40)
    assert first.memory_free_bytes == (80 - 1) * 2**30 - 512 * 2**20
    assert first.processes == ()
    processes = [(p.pid, p.used_memory_bytes) for p in second.processes or ()]
    assert processes == [(4242, 2**30), (4243, None)]


async def test_it_is_run_without_a_shell_and_without_our_surroundings(
    nvidia_smi: NvidiaSmi, make: MakeWay
) -> None:
    """A fixed argument vector, the language of programs, and nothing on the loader's path."""
    await make().ask()
    gpus, apps = nvidia_smi.runs()
    assert gpus.arguments[2] == apps.arguments[2] == "--format=csv,noheader,nounits"
    assert gpus.arguments[1].startswith("--query-gpu=index,uuid,")
    assert gpus.arguments[1].endswith(",name")
    assert apps.arguments[1].startswith("--query-compute-apps=")
    assert gpus.environment == {"PATH": "/usr/bin", "LC_ALL": "C"}


async def test_fields_that_an_old_one_does_not_know(nvidia_smi: NvidiaSmi, make: MakeWay) -> None:
    """Dropped one by one and remembered; a column that has an older name is asked for by it."""
    unknown = "gsp.*,fabric.*,utilization.jpeg,clocks_event_reasons.*,gpu_recovery_action"
    said = (*CARDS, "clock_reasons = 4", f"smi.unknown_fields = {unknown}")
    nvidia_smi.say(*said)
    way = make()
    gpu = (await way.ask()).gpus[0]
    assert gpu.temperature_celsius == 40
    assert dict(gpu.throttle_active or ())["sw_power_cap"] == 1
    runs = len(nvidia_smi.runs())
    await way.ask()
    assert len(nvidia_smi.runs()) == runs + 2


async def test_one_that_knows_next_to_nothing(nvidia_smi: NvidiaSmi, make: MakeWay) -> None:
    """Its GPUs are there with the little that is known."""
    unknown = ",".join(column.query for column in COLUMNS if column.query != "temperature.gpu")
    nvidia_smi.say(*CARDS, f"smi.unknown_fields = {unknown},clocks_throttle_reasons.active")
    gpu = (await make().ask()).gpus[0]
    assert (gpu.name, gpu.temperature_celsius) == ("NVIDIA H100", 40)
    assert gpu.memory_total_bytes is None


INIT_ERRORS = {
    4: "no_permission",
    8: "insufficient_power",
    9: "driver_not_loaded",
    12: "no_library",
    18: "version_mismatch",
}


@pytest.mark.parametrize(("code", "word"), INIT_ERRORS.items())
async def test_failures_of_the_driver(
    nvidia_smi: NvidiaSmi, make: MakeWay, code: int, word: str
) -> None:
    """Each has the same word as under NVML, and the next pass may be well."""
    nvidia_smi.say(*CARDS, f"init = error {code}")
    way = make()
    assert await reason(way) == word
    nvidia_smi.say(*CARDS)
    assert len((await way.ask()).gpus) == 2


async def test_no_gpu_is_no_failure_to_read(nvidia_smi: NvidiaSmi, make: MakeWay) -> None:
    """A driver without a GPU says so."""
    nvidia_smi.say("count = 0")
    assert await reason(make()) == "no_devices"


async def test_a_lost_gpu_after_good_rows(nvidia_smi: NvidiaSmi, make: MakeWay) -> None:
    """The good rows are used, the lost one is named, and nothing is concluded of the others."""
    nvidia_smi.say("count = 4", *CARDS[1:], "device.2.any = error 15")
    answer = await make().ask()
    assert [gpu.index for gpu in answer.gpus] == [0, 1]
    assert [(p.index, p.pci_bus_id) for p in answer.problems] == [(2, "0000:02:00.0")]
    assert answer.is_partial


async def test_a_hang_ends_at_the_deadline(
    nvidia_smi: NvidiaSmi, make: MakeWay, children: Children
) -> None:
    """With nothing printed the reason is `timeout`, and no child is left."""
    nvidia_smi.say(*CARDS, "smi = hang")
    assert await reason(make(timeout_secs=0.5)) == "timeout"
    assert not children.pids


async def test_a_drip_does_not_extend_the_deadline(
    nvidia_smi: NvidiaSmi, make: MakeWay, children: Children
) -> None:
    """One byte now and then is no answer: it ends when a hang would."""
    nvidia_smi.say(*CARDS, "smi.drip = 50")
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert await reason(make(timeout_secs=1.0)) == "timeout"
    assert loop.time() - started < 5
    assert not children.pids


async def test_rows_before_a_hang_are_used(
    nvidia_smi: NvidiaSmi, make: MakeWay, tmp_path: Path
) -> None:
    """Whole rows are good however the run ended."""
    fields = make()._fields()
    cells = {"index": "0", "uuid": "GPU-0", "driver_version": "1", "temperature.gpu": "40"}
    row = ", ".join(cells.get(name, "[N/A]") for name in fields)
    (tmp_path / "rows").write_text(f"{row}\n1, GPU-1, 1")
    nvidia_smi.say(f"smi.1 = print_file {tmp_path / 'rows'}", "smi.2 = hang")
    answer = await make(timeout_secs=0.5).ask()
    assert [(gpu.uuid, gpu.temperature_celsius) for gpu in answer.gpus] == [("GPU-0", 40)]
    assert answer.is_partial


@pytest.mark.parametrize("fault", ["flood 1", "flood_line 1", "flood 2", "flood_line 2"])
async def test_a_flood_ends_at_the_limit(nvidia_smi: NvidiaSmi, make: MakeWay, fault: str) -> None:
    """Four MiB are enough: no more is kept, and the deadline is not waited for."""
    nvidia_smi.say(*CARDS, f"smi = {fault}")
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert await reason(make()) == "flood"
    assert loop.time() - started < 10


@pytest.mark.parametrize("fault", ["child 1000", "detached 1000"])
async def test_a_child_that_keeps_the_pipe_open_is_not_waited_for(
    nvidia_smi: NvidiaSmi, make: MakeWay, fault: str
) -> None:
    """The program has ended: what its own child holds open does not matter."""
    nvidia_smi.say(*CARDS, f"smi = {fault}")
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert len((await make(timeout_secs=8).ask()).gpus) == 2
    assert loop.time() - started < 10


@pytest.mark.parametrize("fault", ["child 1000", "detached 2"])
async def test_children_of_many_runs_do_not_pile_up(
    nvidia_smi: NvidiaSmi, make: MakeWay, fault: str
) -> None:
    """Run after run leaves a child behind: no zombie and no descriptor stays with us."""
    nvidia_smi.say(*CARDS, f"smi = {fault}")
    way = make()
    await way.ask()
    before = _descriptors()
    for _ in range(20):
        assert len((await way.ask()).gpus) == 2
    ended = asyncio.get_running_loop().time()
    assert _descriptors() <= before
    assert not [pid for pid in _our_children() if _state(pid) == "Z"]
    if fault.startswith("child"):
        assert not _our_children()
        while _running(nvidia_smi.path):  # what was killed is still being taken away
            assert asyncio.get_running_loop().time() < ended + 10
            await asyncio.sleep(0.01)


def _running(program: Path) -> list[str]:
    """The processes of this program, whoever their parent is."""
    files = Path("/proc").glob("[0-9]*/cmdline")
    return [file.parent.name for file in files if str(program) in _text(file)]


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # it has ended meanwhile
        return ""


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _our_children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""  # it has ended meanwhile


async def test_a_warning_after_all_rows(nvidia_smi: NvidiaSmi, make: MakeWay) -> None:
    """With status 14 the data is whole and is used; what it warns of is told."""
    nvidia_smi.say(*CARDS, "smi.trailer = WARNING: infoROM is corrupted", "smi.exit = 14")
    answer = await make().ask()
    assert [gpu.temperature_celsius for gpu in answer.gpus] == [40, 40]
    assert not answer.is_partial
    assert ("inforom", "corrupted_inforom") in {(m.field, m.reason) for m in answer.missing}


@pytest.mark.parametrize(
    "document",
    [
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>',
        '<!DOCTYPE nvidia_smi_log SYSTEM "http://192.0.2.1/evil.dtd"><nvidia_smi_log/>',
        "[" * 100_000,
    ],
)
async def test_another_language_is_garbage(
    nvidia_smi: NvidiaSmi, make: MakeWay, tmp_path: Path, document: str
) -> None:
    """What expands or fetches things elsewhere is text of no meaning here."""
    (tmp_path / "document").write_text(document)
    nvidia_smi.say(f"smi.1 = print_file {tmp_path / 'document'}", "smi.2 = exit 0")
    assert await reason(make()) == "garbage"


@pytest.mark.parametrize("fault", ["segv", "abort"])
async def test_a_crash(nvidia_smi: NvidiaSmi, make: MakeWay, fault: str) -> None:
    """A signal is told apart from an exit code."""
    nvidia_smi.say(*CARDS, f"smi = {fault}")
    assert await reason(make()) == "crashed"


async def test_garbage(nvidia_smi: NvidiaSmi, make: MakeWay, tmp_path: Path) -> None:
    """What is no row of a GPU gives no GPU."""
    (tmp_path / "garbage").write_bytes(os.urandom(65536) + b"\n, , , \n0, 1, 2\n")
    nvidia_smi.say(f"smi.1 = print_file {tmp_path / 'garbage'}", "smi.2 = exit 0")
    assert await reason(make()) == "garbage"


async def test_processes_that_cannot_be_asked_for_cost_only_themselves(
    nvidia_smi: NvidiaSmi, make: MakeWay
) -> None:
    """GPUs are there, their processes unknown: not none."""
    nvidia_smi.say(*CARDS, "compute_processes = error 4")
    first, second = (await make().ask()).gpus
    assert first.processes is None
    assert second.processes is None


async def test_names_and_lines_of_all_kinds(nvidia_smi: NvidiaSmi, make: MakeWay) -> None:
    """CR LF, commas in names, decimal commas and bytes that are no UTF-8."""
    nvidia_smi.say(
        *CARDS,
        "smi.crlf = 1",
        "device.0.name = hex 41ff2c2042",
        "smi.power.draw = 71,25 W",
        "smi.serial = [Unknown Error]",
    )
    gpu = (await make().ask()).gpus[0]
    assert (gpu.name, gpu.power_draw_watts, gpu.serial) == ("A\ufffd, B", 71.25, None)


async def test_a_program_that_is_not_there(make: MakeWay, tmp_path: Path) -> None:
    """No path of the list leads to it."""
    assert await reason(make(path=tmp_path / "nowhere")) == "no_program"


async def test_a_program_of_another_machine(make: MakeWay, tmp_path: Path) -> None:
    """A file that cannot be executed is as good as none."""
    program = tmp_path / "nvidia-smi"
    program.write_bytes(b"\x7fELF\xff")
    assert await reason(make(path=program)) == "no_program"
    program.chmod(0o755)
    assert await reason(make(path=program)) == "no_program"


def test_a_program_that_anybody_could_have_put_there_is_not_run(tmp_path: Path) -> None:
    """Neither one that all may write, nor one in a directory that all may write."""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert is_trustworthy(program)
    program.chmod(0o757)
    assert not is_trustworthy(program)
    program.chmod(0o755)
    tmp_path.chmod(0o777)
    assert not is_trustworthy(program)
