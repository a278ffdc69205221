"""Expected hardware: one root, labels, replaced hardware, and what must not page."""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.expect.wanted import NAME, configured_parts, with_labels
from exporter.config.expect import Expect
from exporter.config.file import ConfigError, Layer, load
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Fault
from tests.fakes import host_devices
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.scenes.scene import Change, Scene
from tests.scenes.stage import GPUS, Stage

LAST_GPU = "0000:5d:00.0"
DIMM = "/sys/devices/system/edac/mc/mc0/dimm1"
LOOKS = 8


@pytest.fixture
def stage(short_path: Path, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi) -> Iterator[Stage]:
    """A node that is well."""
    found = Stage(short_path, nvml, nvidia_smi)
    yield found
    found.close()


def scene(*, has_gpus: bool = False, **expect: Any) -> Scene:
    """A node with this in `[expect]`."""
    return Scene("expected", Change(), gpus=has_gpus, settings={"expect": expect})


@asynccontextmanager
async def playing(stage: Stage, scene: Scene) -> AsyncIterator[None]:
    """The exporter runs."""
    await stage.start(scene)
    try:
        yield
    finally:
        await stage.stop()


async def looks(stage: Stage, count: int = LOOKS) -> Snapshot:
    """Look so often; return the last snapshot."""
    for _ in range(count):
        snapshot = await stage.look()
    return snapshot


def active(snapshot: Snapshot) -> tuple[Fault, ...]:
    """The active faults."""
    assert snapshot.conclusions is not None
    return snapshot.conclusions.active


def faults(snapshot: Snapshot) -> dict[str, bool]:
    """The rules of the active faults, and whether each is a root."""
    return {fault.rule: fault.is_root for fault in active(snapshot)}


def unplug(stage: Stage, address: str) -> None:
    """Take a GPU off the bus, as it is when it does not answer at boot."""
    stage.tree.at(f"/sys/bus/pci/devices/{address}").unlink()
    shutil.rmtree(stage.tree.at(f"/proc/driver/nvidia/gpus/{address}"))


@pytest.mark.system
@pytest.mark.parametrize("root", ["gpu_count_low", "expected_gpu_missing"])
async def test_a_gpu_missing_since_the_start_is_one_root(stage: Stage, root: str) -> None:
    """Another rule is the root where the bus still shows the GPU, else this one."""
    if root == "expected_gpu_missing":
        unplug(stage, LAST_GPU)
    async with playing(stage, scene(has_gpus=True, gpus=GPUS)):
        await stage.change(Change(nvml=(f"count = {GPUS - 1}",)))
        found = faults(await looks(stage))
        assert "expected_gpu_missing" in found
        assert [rule for rule, is_root in found.items() if is_root] == [root]


@pytest.mark.system
@pytest.mark.parametrize(
    ("label", "there", "kind"),
    [
        ("gpus", GPUS, "gpu"),
        ("nvlinks", 18, "nvlink"),
        ("ports", 2, "port"),
        ("disks", 1, "disk"),
        ("dimms", 4, "memory"),
        ("memory-gib", 2000, "memory"),
    ],
)
async def test_labels_of_the_node_say_what_is_expected(
    stage: Stage, tmp_path: Path, label: str, there: int, kind: str
) -> None:
    """A label as the downward API writes it makes the fault, and a corrected one ends it."""
    file = tmp_path / "labels"
    file.write_text(f'zone="a"\nexpect.hw-exporter/{label}="{there * 2}"\n')
    async with playing(stage, scene(has_gpus=kind in ("gpu", "nvlink"), labels_file=str(file))):
        assert set(faults(await looks(stage))) == {f"expected_{kind}_missing"}
        file.write_text(f'expect.hw-exporter/{label}="{there}"\n')
        assert faults(await looks(stage)) == {}


def test_a_bad_label_is_one_sentence_and_costs_only_itself(tmp_path: Path) -> None:
    """Each names the label, what it is, and what is allowed."""
    file = tmp_path / "labels"
    file.write_text(
        'expect.hw-exporter/gpus="eight"\nexpect.hw-exporter/gpsu="8"\n'
        'expect.hw-exporter/disks="4"\nexpect.hw-exporter/dimms="9999"\n'
    )
    config, wrong = with_labels(Expect(labels_file=str(file)))
    assert (config.gpus, config.disks, config.dimms) == (0, 4, 0)
    assert [f"{each.field} {each.reason}" for each in wrong] == [
        'expect.hw-exporter/gpus is "eight", but must be a number from 0 to 1000',
        "expect.hw-exporter/gpsu is no label of expected hardware",
        'expect.hw-exporter/dimms is "9999", but must be a number from 0 to 1000',
    ]


def test_a_labels_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    """The rest of the configuration is still expected."""
    config, wrong = with_labels(Expect(gpus=8, labels_file=str(tmp_path / "none")))
    assert config.gpus == 8
    assert [each.reason for each in wrong] == [f"{tmp_path}/none is not there"]


@pytest.mark.parametrize(
    "table", [{"gpus": -1}, {"gpus": "eight"}, {"slots": ["0000:18:00.0"]}, {"memory_gib": -1.0}]
)
def test_a_wrong_expectation_is_one_sentence(table: dict[str, Any]) -> None:
    """It names the key and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        load([Layer("file", {"expect": table})])
    assert str(caught.value).count("\n") == 0
    assert f"expect.{next(iter(table))}" in str(caught.value)


@pytest.mark.parametrize(
    ("written", "slot"),
    [
        ("gpu 00000000:DB:00.0", "0000:db:00.0"),
        ("gpu db:00.0", "0000:db:00.0"),
        ("nvlink 00000000:DB:00.0/3", "0000:db:00.0/3"),
        ("disk /dev/nvme0n1", "nvme0n1"),
        ("dimm mc0/CPU_SrcID#0_MC#0_Chan#0_DIMM#0", "mc0/CPU_SrcID#0_MC#0_Chan#0_DIMM#0"),
    ],
)
def test_a_part_is_named_as_tools_print_it(written: str, slot: str) -> None:
    """nvidia-smi prints addresses longer and in capitals, and disks have paths."""
    ((part,),) = configured_parts(Expect(slots=(written,))).values()
    assert part.slot == slot


@pytest.mark.system
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("gpu", Change(nvml=(f"count = {GPUS - 1}",))),
        ("nvlink", Change(nvml=("device.0.nvlink.2.state = 0",))),
        ("port", Change(files={"/sys/class/infiniband/mlx5_1": None})),
        ("disk", Change(files={"/sys/block/nvme0n1": None})),
        ("memory", Change(files={f"{DIMM}/dimm_label": "CPU0_DIMM_C1\n"})),
    ],
)
async def test_what_was_learned_is_kept_and_accepted_anew(
    stage: Stage, short_path: Path, kind: str, change: Change
) -> None:
    """After a restart the missing part is still expected, and no more once it is forgotten."""
    learning = scene(has_gpus=kind in ("gpu", "nvlink"), learn=True)
    missing = f"expected_{kind}_missing"
    async with playing(stage, learning):
        await looks(stage, 3)
        await stage.stop()
        await stage.change(change)
        await stage.start(learning)
        assert missing in faults(await looks(stage))
        (short_path / "state" / NAME).unlink()
        assert missing not in faults(await looks(stage))


async def test_a_state_directory_that_is_gone_is_no_acceptance(
    stage: Stage, short_path: Path
) -> None:
    """Its filesystem was unmounted: a missing port is as before, also when it is back."""
    state, elsewhere = short_path / "state", short_path / "elsewhere"
    async with playing(stage, scene(learn=True)):
        await looks(stage, 3)
        await stage.change(Change(files={"/sys/class/infiniband/mlx5_1": None}))
        assert faults(await looks(stage)) == {"expected_port_missing": True}
        state.rename(elsewhere)
        state.mkdir()
        assert faults(await looks(stage)) == {"expected_port_missing": True}
        shutil.rmtree(state)
        elsewhere.rename(state)
        assert faults(await looks(stage)) == {"expected_port_missing": True}
        (state / NAME).unlink()
        assert faults(await looks(stage)) == {}


async def test_a_dead_disk_is_missing_where_names_have_moved_up(stage: Stage) -> None:
    """After a boot the second disk has the name of the first: nothing else is there instead."""
    serial, stats = "/sys/block/nvme0n1/device/serial", "/proc/diskstats"
    before = stage.tree.at(stats).read_text()
    second = host_devices.nvme_disk("nvme1", bus=0x07)
    stage.tree.write(second.files)
    stage.tree.link(second.links)
    stage.tree.write({"/sys/block/nvme1n1/device/serial": "S64HNE0R000002\n"})
    stage.tree.at(stats).write_text(f"{before} 259       2 nvme1n1 1 0 8 1 1 0 8 1 0 1 1\n")
    async with playing(stage, scene(learn=True)):
        assert faults(await looks(stage, 3)) == {}
        await stage.stop()
        gone = dict.fromkeys(f"/sys/{kind}1" for kind in ("block/nvme1n", "class/nvme/nvme"))
        await stage.change(Change(files={serial: "S64HNE0R000002\n", stats: before, **gone}))
        await stage.start(scene(learn=True))
        snapshot = await looks(stage)
        assert faults(snapshot) == {"expected_disk_missing": True}
        (fault,) = active(snapshot)
        assert fault.severity == "critical"
        assert fault.summary.endswith(" S64HNE0R000001 is missing")


@pytest.mark.system
@pytest.mark.parametrize(
    ("line", "roots"),
    [
        ("device.3.temperature = error 999", {"gpu_unreadable": "GPU 3 cannot be read"}),
        ("device.3.nvlink.state = error 999", {}),
        (
            "device.3.nvlink_links = 0",
            {
                "expected_nvlink_missing": "18 of 18 unmet expectations: NVLink 0 of GPU "
                "0000:5d:00.0 is missing or NVLink 1 of GPU 0000:5d:00.0 is missing or "
            },
        ),
    ],
)
async def test_links_of_a_gpu_that_cannot_be_read_are_not_missing(
    stage: Stage, line: str, roots: dict[str, str]
) -> None:
    """Nor is it another GPU whose name nobody can tell; a GPU that has no link lacks all."""
    learning = scene(has_gpus=True, learn=True)
    async with playing(stage, learning):
        assert faults(await looks(stage, 3)) == {}
        await stage.stop()
        await stage.change(Change(nvml=(line,)))
        await stage.start(learning)
        found = {it.rule: it.summary for it in active(await looks(stage)) if it.is_root}
        assert found.keys() == roots.keys()
        assert all(found[rule].startswith(text) for rule, text in roots.items()), found


async def test_a_damaged_file_is_learned_anew(stage: Stage, short_path: Path) -> None:
    """It is set aside, and nothing pages."""
    (short_path / "state" / NAME).write_text('{"version": 1, "boot_id": "any", "parts": [[1]]}')
    async with playing(stage, scene(learn=True)):
        assert faults(await looks(stage)) == {}
    assert (short_path / "state" / f"{NAME}.bad").exists()


async def test_what_comes_and_goes_by_request_is_not_learned(stage: Stage) -> None:
    """A USB disk that is pulled out is no fault."""
    stats = stage.tree.at("/proc/diskstats")
    before = stats.read_text()
    usb = "../devices/pci0000:00/0000:00:14.0/usb1/1-1/host6/target6:0:0/6:0:0:0/block/sdz"
    stats.write_text(f"{before}   8       0 sdz 1 0 8 1 1 0 8 1 0 1 1\n")
    stage.tree.at("/sys/block").mkdir(exist_ok=True)
    stage.tree.at(f"/sys/block/{usb}").resolve().mkdir(parents=True)
    stage.tree.link({"/sys/block/sdz": usb})
    async with playing(stage, scene(learn=True)):
        await looks(stage, 3)
        stage.tree.at("/sys/block/sdz").unlink()
        stats.write_text(before)
        assert faults(await looks(stage)) == {}
