"""nvidia-smi as a real child process: what it prints, and everything it may do instead."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.gpu.backend import BackendError, GpuAnswer
from exporter.collectors.gpu.smi.output import failed_handles
from exporter.collectors.gpu.smi.program import Run
from exporter.collectors.gpu.smi.xml import SmiDocument
from exporter.probes.child import Children, Finished
from exporter.probes.trusted_program import is_trustworthy
from tests.collectors.gpu.backends import smi_backend
from tests.collectors.gpu.smi_documents import gpu_xml, log_xml
from tests.fakes.smi_program import NvidiaSmi

pytestmark = pytest.mark.system

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


class Asked:
    """nvidia-smi as the program asks it; two healthy cards to begin with."""

    def __init__(self, smi: NvidiaSmi, children: Children) -> None:
        self.smi = smi
        self.say = smi.say
        self._children = children
        self.within()
        self.say(*CARDS)

    def within(self, timeout_secs: float = 20.0, path: Path | None = None, **options: Any) -> None:
        """Ask this program from now on, under this deadline."""
        program = path or self.smi.path
        self.backend = smi_backend(self._children, program, timeout_secs, **options)

    async def ask(self) -> GpuAnswer:
        """One pass; `took_secs` is how long it took."""
        now = asyncio.get_running_loop().time
        started = now()
        try:
            return await self.backend.ask()
        finally:
            self.took_secs = now() - started

    async def reason(self) -> str:
        """Why a pass failed."""
        with pytest.raises(BackendError) as caught:
            await self.ask()
        return caught.value.reason


@pytest.fixture
def way(nvidia_smi: NvidiaSmi, children: Children) -> Asked:
    """The fake program, asked as the program asks the real one."""
    return Asked(nvidia_smi, children)


async def test_it_is_run_without_a_shell_and_without_our_surroundings(way: Asked) -> None:
    """A fixed argument vector, the language of programs, and nothing on the loader's path."""
    await way.ask()
    (run,) = way.smi.runs()
    assert run.arguments[1:] == ("-q", "-x")
    assert run.environment == {"PATH": "/usr/bin", "LC_ALL": "C"}


async def test_the_first_run_gives_everything(way: Asked) -> None:
    """A program that takes two seconds has been asked once when there is data."""
    way.say(*CARDS, "smi = sleep 2")
    way.within(10)
    assert len((await way.ask()).gpus) == 2
    assert len(way.smi.runs()) == 1
    assert way.took_secs < 6


async def test_a_slow_program_gets_more_time_as_far_as_the_interval_allows(way: Asked) -> None:
    """The deadline doubles when it is missed, and falls back when it is not needed."""
    way.say(*CARDS, "smi = sleep 0.9")
    way.within(0.5, longest_secs=1.6)
    assert await way.reason() == "timeout"
    assert len((await way.ask()).gpus) == 2
    way.say(*CARDS)
    await way.ask()
    assert way.backend._deadline.secs == 0.5
    way.say(*CARDS, "smi = hang")
    for _ in range(3):
        assert await way.reason() == "timeout"
    assert way.backend._deadline.secs == 1.6


INIT_ERRORS = {
    4: "no_permission",
    8: "insufficient_power",
    9: "driver_not_loaded",
    12: "no_library",
    18: "version_mismatch",
}


@pytest.mark.parametrize(("code", "word"), INIT_ERRORS.items())
async def test_failures_of_the_driver(way: Asked, code: int, word: str) -> None:
    """Each has the same word as under NVML, and the next pass may be well."""
    way.say(*CARDS, f"init = error {code}")
    assert await way.reason() == word
    way.say(*CARDS)
    assert len((await way.ask()).gpus) == 2


FOUR = ("count = 4", *CARDS[1:])
BOUND = tuple(f"0000:0{place}:00.0" for place in range(4))
HANDLE_ERRORS = {
    15: "gpu_lost",
    16: "reset_required",
    8: "insufficient_power",
    4: "no_permission",
    999: "unknown_error",
}


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(("code", "word"), HANDLE_ERRORS.items())
async def test_a_gpu_that_cannot_be_opened_costs_itself_only(
    way: Asked, code: int, word: str, *, is_known: bool
) -> None:
    """The others are asked for by address, from the first pass on; it has the driver's reason."""
    way.within(bound=BOUND)
    if is_known:
        way.say(*FOUR)
        await way.ask()
    way.say(*FOUR, f"device.2.handle = error {code}")
    for _ in range(2):
        answer = await way.ask()
        assert [(gpu.index, gpu.uuid) for gpu in answer.gpus] == [
            (0, "GPU-0"),
            (1, "GPU-1"),
            (3, "GPU-3"),
        ]
        told = [(p.index, p.pci_bus_id, p.reason) for p in answer.problems]
        assert told == [(2, "0000:02:00.0", word)]
        assert not answer.is_partial


async def test_several_gpus_that_cannot_be_opened(way: Asked) -> None:
    """One after the other is named and left out; with none left each has its problem."""
    lost = [f"device.{place}.handle = error 15" for place in range(4)]
    way.say(*FOUR, *lost[1:3])
    way.within(bound=BOUND)
    answer = await way.ask()
    assert [gpu.index for gpu in answer.gpus] == [0, 3]
    assert sorted(p.index for p in answer.problems if p.index is not None) == [1, 2]
    way.say(*FOUR, *lost)
    way.within(bound=BOUND)
    answer = await way.ask()
    assert (len(answer.gpus), len(answer.problems)) == (0, 4)


async def test_a_gpu_that_cannot_be_opened_where_no_other_is_known(way: Asked) -> None:
    """It is named, and nothing is concluded of the others."""
    way.say(*FOUR, "device.2.handle = error 15")
    answer = await way.ask()
    assert not answer.gpus
    assert [(p.index, p.reason) for p in answer.problems] == [(2, "gpu_lost")]
    assert answer.is_partial


async def test_mig_devices_are_named_once(way: Asked) -> None:
    """`nvidia-smi -L` is run when there is a MIG device that has no name yet."""
    way.say(capture="a100_mig.scenario")
    for _ in range(2):
        first, second = (await way.ask()).gpus
        told = [(m.profile, m.gpu_instance, m.mig_uuid[-1]) for m in first.mig_instances or ()]
        assert told == [("3g.20gb", 1, "1"), ("2g.10gb", 5, "2"), ("1g.5gb", 13, "3")]
        assert second.mig_instances == ()
        assert [(p.pid, p.gpu_instance) for p in first.processes or ()] == [(5151, 1)]
    assert [run.arguments[1] for run in way.smi.runs()] == ["-q", "-L", "-q"]


async def test_a_drip_does_not_extend_the_deadline(way: Asked, children: Children) -> None:
    """One byte now and then is no answer: it ends when a hang would."""
    way.say(*CARDS, "smi.drip = 50")
    way.within(1.0)
    assert await way.reason() == "timeout"
    assert way.took_secs < 5
    assert not children.pids


async def test_gpus_before_a_hang_are_used(way: Asked, tmp_path: Path) -> None:
    """Whole GPUs are good however the run ended."""
    text = log_xml(gpu_xml(0, temperature__gpu_temp="40 C"), gpu_xml(1))
    (tmp_path / "half").write_text(text[: text.index("GPU-1")])
    way.say(f"smi.1 = print_file {tmp_path / 'half'}", "smi.2 = hang")
    way.within(0.5)
    answer = await way.ask()
    assert [(gpu.uuid, gpu.temperature_celsius) for gpu in answer.gpus] == [("GPU-0", 40)]
    assert answer.is_partial


@pytest.mark.parametrize("fault", ["flood 1", "flood_line 1", "flood 2", "flood_line 2"])
async def test_a_flood_ends_at_the_limit(way: Asked, fault: str) -> None:
    """Four MiB are enough: nothing of them is kept, the deadline is not waited for."""
    way.say(*CARDS, f"smi = {fault}")
    assert await way.reason() == "flood"
    assert way.took_secs < 10


def test_of_a_flood_of_errors_the_beginning_is_read() -> None:
    """What the driver says first is found, and nobody waits for two million lines of noise."""
    lost = b"Unable to determine the device handle for GPU 0000:0A:00.0: GPU is lost.\n"
    run = Run(Finished(None, b"", lost + b"y\n" * 2**21, "flood"), SmiDocument())
    assert [found.reason for found in failed_handles(run.text)] == ["gpu_lost"]
    assert len(run.text) < 100_000


@pytest.mark.parametrize("fault", ["child 1000", "detached 1000"])
async def test_children_of_many_runs_do_not_pile_up(way: Asked, fault: str) -> None:
    """Run after run leaves a child, in a session of its own too: each is ended and reaped."""
    others = _our_children()
    way.say(*CARDS, f"smi = {fault}")
    await way.ask()
    before = _descriptors()
    for _ in range(20):
        assert len((await way.ask()).gpus) == 2
        assert len(_running(way.smi.path)) <= 3
    await way.backend.close()
    ended = asyncio.get_running_loop().time()
    assert _descriptors() <= before
    while _running(way.smi.path):  # what was killed is still being taken away
        assert asyncio.get_running_loop().time() < ended + 10
        await asyncio.sleep(0.01)
    way.backend._orphans.end("nvidia-smi")
    assert _our_children() <= others


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


def _our_children() -> set[int]:
    tasks = Path("/proc/self/task").iterdir()
    return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}


async def test_a_warning_after_the_document(way: Asked) -> None:
    """With status 14 the data is whole and is used; the GPU it warns of is marked."""
    warning = "WARNING: infoROM is corrupted at gpu 00000000:01:00.0"
    way.say(*CARDS, f"smi.trailer = {warning}", "smi.exit = 14")
    answer = await way.ask()
    assert [gpu.temperature_celsius for gpu in answer.gpus] == [40, 40]
    assert [gpu.inforom_valid for gpu in answer.gpus] == [None, False]
    assert not answer.is_partial
    assert ("inforom", "corrupted_inforom") in {(m.field, m.reason) for m in answer.missing}


@pytest.mark.parametrize("fault", ["segv", "abort"])
async def test_a_crash(way: Asked, fault: str) -> None:
    """A signal is told apart from an exit code."""
    way.say(*CARDS, f"smi = {fault}")
    assert await way.reason() == "crashed"


async def test_garbage(way: Asked, tmp_path: Path) -> None:
    """What is no document gives no GPU."""
    (tmp_path / "garbage").write_bytes(os.urandom(65536) + b"\n, , , \n<gpu>1</gpu>\n")
    way.say(f"smi.1 = print_file {tmp_path / 'garbage'}", "smi.2 = exit 0")
    assert await way.reason() == "garbage"


async def test_a_program_that_is_not_there(way: Asked, tmp_path: Path) -> None:
    """No path of the list leads to it."""
    way.within(path=tmp_path / "nowhere")
    assert await way.reason() == "no_program"


async def test_a_program_of_another_machine(way: Asked, tmp_path: Path) -> None:
    """A file that cannot be executed is as good as none."""
    program = tmp_path / "nvidia-smi"
    program.write_bytes(b"\x7fELF\xff")
    way.within(path=program)
    assert await way.reason() == "no_program"
    program.chmod(0o755)
    assert await way.reason() == "no_program"


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


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
@pytest.mark.parametrize("given", ["program", "link", "folder"])
def test_a_program_that_another_user_put_there_is_not_run(tmp_path: Path, given: str) -> None:
    """Nor one of root to which another user has made a link, or in a directory of that user."""
    program, link, folder = tmp_path / "true", tmp_path / "bin/nvidia-smi", tmp_path / "bin"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    folder.mkdir()
    link.symlink_to(program)
    assert is_trustworthy(link)
    changed = {"program": program, "link": link, "folder": folder}[given]
    os.chown(changed, 65534, 65534, follow_symlinks=False)
    assert not is_trustworthy(link)
