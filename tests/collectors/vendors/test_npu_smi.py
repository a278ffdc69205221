"""npu-smi as a child process: when it is run, how it may fail, and what that costs."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from exporter.collectors.gpu.values import Gpu, Gpus
from tests.collectors.vendors.vendor_node import VendorNode
from tests.fakes.npu_smi import A3, DUO, NpuNode, tables

pytestmark = pytest.mark.system


@pytest.fixture
def npu(tmp_path: Path) -> NpuNode:
    """A node with the driver of Ascend."""
    return NpuNode(tmp_path)


def looks(npu: NpuNode, *changes: Callable[[], object], timeout_secs: float = 20.0) -> list[Gpus]:
    """What is seen when the first run has ended, and again after each change."""

    async def scenario() -> list[Gpus]:
        node = VendorNode(npu.root / "sys", timeout_secs=timeout_secs, environment=npu.environment)
        seen = []
        for change in (lambda: None, *changes):
            change()
            await node.read()
            await node.settle()
            seen.append(await node.read(after_secs=0.1))
        await node.source.close()
        assert node.children.pids == ()
        return seen

    return asyncio.run(scenario())


def look(npu: NpuNode) -> Gpus:
    """What is seen when the first run has ended."""
    return looks(npu)[0]


def backend(gpus: Gpus) -> tuple[str, str, str | None]:
    """How the chips were read."""
    (only,) = gpus.backends
    return only.backend, only.reason, only.driver_version


def test_all_chips_are_read(npu: NpuNode) -> None:
    """One run gives all chips, under numbers of the node and the version of the driver."""
    npu.prints(tables(A3))
    gpus = look(npu)
    assert backend(gpus) == ("npu-smi", "ok", "25.2.1")
    assert [(state.gpu.index, state.up) for state in gpus.states] == [(0, True), (1, True)]
    assert npu.run_count == 1


def test_numbers_follow_other_vendors(npu: NpuNode) -> None:
    """Behind a GPU of NVIDIA on the bus the chips are counted on, two of them at one address."""
    for address, vendor in (("0000:81:00.0", "0x10de"), ("0000:01:00.0", "0x19e5")):
        folder = npu.root / "sys/bus/pci/devices" / address
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "class").write_text("0x120000\n")
    npu.prints(tables(DUO))
    assert [state.gpu.index for state in look(npu).states] == [1, 2, 3, 4]


def test_without_the_device_node_nothing_is_run(npu: NpuNode) -> None:
    """A program without a driver is not run, and nothing is said of it."""
    npu.prints(tables(A3))
    (npu.root / "dev/davinci_manager").unlink()
    assert look(npu).others == ()
    assert npu.run_count == 0


UNUSABLE = """
echo 'DrvMngGetConsoleLogLevel failed. (ret=4)'
echo 'dcmi module initialize failed. ret is -8005'
exit 1
"""


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (UNUSABLE, "driver_not_loaded"),
        ("exit 1", "no_devices"),
        ("echo nonsense; exit 3", "garbage"),
        ("echo nonsense", "garbage"),
        ("kill -SEGV $$", "no_devices"),
        ("yes | head -c 3000000", "flood"),
    ],
)
def test_a_failure_has_one_word(npu: NpuNode, script: str, reason: str) -> None:
    """No chip is made of an error; the reason says what failed."""
    npu.runs(script)
    gpus = look(npu)
    assert (backend(gpus)[1], gpus.states) == (reason, ())


def test_a_program_that_hangs_is_ended(npu: NpuNode) -> None:
    """It is killed at its deadline with what it started; chips seen before are stale."""
    npu.prints(tables(A3))
    hangs = partial(npu.runs, "trap '' TERM; sleep 600 & sleep 600")
    good, hung = looks(npu, hangs, timeout_secs=0.5)
    assert [state.stale for state in good.states] == [False, False]
    assert backend(hung)[1] == "timeout"
    assert [(state.stale, state.up) for state in hung.states] == [(True, True), (True, True)]


def test_a_program_that_anybody_may_write_is_not_run(npu: NpuNode) -> None:
    """Who can write the file or its folder could run anything as us."""
    npu.prints(tables(A3))
    (npu.bin / "npu-smi").chmod(0o777)
    assert backend(look(npu))[1] == "no_program"
    assert npu.run_count == 0


def test_a_failed_run_with_good_chips_says_nothing_of_the_others(npu: NpuNode) -> None:
    """Rows before an error are chips; one that is missing then is kept, and is not lost."""
    npu.prints(tables(A3))
    _, gpus = looks(npu, partial(npu.prints, tables(A3[:1]), code=1))
    assert [(state.up, state.stale) for state in gpus.states] == [(True, False), (True, True)]


async def test_a_late_answer_does_not_ask_nvidia_again(npu: NpuNode) -> None:
    """Chips that come after the collection are shown at once, without a pass over the others."""
    npu.prints(tables(A3))
    npu.runs(f'sleep 1.3; cat "{npu.bin}/output"')
    h100 = Gpu(index=0, uuid="GPU-n", name="H100")
    node = VendorNode(npu.root / "sys", nvidia=h100, timeout_secs=20.0, environment=npu.environment)
    first = await node.read()
    await node.settle()
    woken = await node.read(after_secs=2.0)
    await node.source.close()
    assert node.wakes > 0
    assert [state.gpu.vendor for state in first.states] == ["nvidia"]
    assert [state.gpu.vendor for state in woken.states] == ["nvidia", "ascend", "ascend"]
    assert node.nvml.passes == 1


def test_a_chip_that_is_printed_twice_is_one_chip(npu: NpuNode) -> None:
    """The second row of the same name never replaces the values of the first, and is reported."""
    npu.prints(tables((*A3, replace(A3[0], celsius=90))))
    gpus = look(npu)
    assert [(one.gpu.temperature_celsius, one.up, one.reason) for one in gpus.states] == [
        (36.0, True, None),
        (36.0, True, None),
    ]


def test_one_address_for_two_cards_of_ascend_is_a_problem(npu: NpuNode) -> None:
    """Chips that share their name are told apart by their number: one of them is a problem."""
    npu.prints(tables((A3[0], replace(A3[0], card=1, numbers="0     1", celsius=90))))
    gpus = look(npu)
    assert [(one.gpu.index, one.gpu.temperature_celsius, one.reason) for one in gpus.states] == [
        (0, 36.0, None),
        (1, None, "duplicate_uuid"),
    ]
