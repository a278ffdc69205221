"""Sources without their hardware: absent, with a sentence that says what was looked for."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from exporter.reading.source import SourceAbsent
from tests.collectors.whole_node import source_of, sources
from tests.fakes.host_tree import HostTree

NOWHERE = HostTree(Path("/nowhere"))
ASKS_THE_KERNEL = "clock"
NAMES = [source.name for source in sources(NOWHERE) if source.name != ASKS_THE_KERNEL]
HALF: list[tuple[str, Mapping[str, str], str]] = [
    ("cpu_health", {"/sys/devices/system/cpu/cpu0/topology/core_id": "0\n"}, "neither frequencies"),
    ("disk", {"/proc/diskstats": "", "/sys/block/sda/size": "1\n"}, "lists no disk that is shown"),
    (
        "disk",
        {"/proc/diskstats": "7 0 loop0 1 1 1 1 1 1 1 1 1 1 1\n", "/sys/block/loop0/size": "1\n"},
        "lists no disk that is shown",
    ),
    ("dmi", {"/sys/class/dmi/id/sys_vendor": "To Be Filled By O.E.M.\n"}, "names no hardware"),
    ("edac", {"/sys/devices/system/edac/mc/power/control": "auto\n"}, "holds no memory controller"),
    ("hwmon", {"/sys/class/hwmon/hwmon0/name": "hidpp_battery\n"}, "holds no sensor"),
    ("infiniband", {"/sys/class/infiniband/mlx5_0/fw_ver": "28\n"}, "holds no port"),
    ("md", {"/proc/mdstat": "Personalities : \nunused devices: <none>\n"}, "lists no array"),
    ("numa", {"/sys/devices/system/node/online": "0\n"}, "holds no NUMA node"),
    ("nvme", {"/sys/class/nvme/nvme0c0n1/state": "live\n"}, "holds no NVMe controller"),
    ("pcie", {"/sys/bus/pci/devices/0000:00:01.0/class": "0x060400\n"}, "neither GPU, network"),
    ("rapl", {"/sys/class/powercap/intel-rapl:0/name": "core\n"}, "it holds no energy meter"),
]
"""Files that are there without what they are read for, and the reason."""


def read(name: str, tree: HostTree) -> None:
    """Read this source over the tree."""
    asyncio.run(source_of(tree, name).read())


@pytest.mark.parametrize("name", NAMES)
def test_a_source_without_any_of_its_files_is_absent(name: str) -> None:
    """No file at all is no hardware, neither a crash nor a failure."""
    with pytest.raises(SourceAbsent):
        read(name, NOWHERE)


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("cpu_health", "devices/system/cpu"),
        ("edac", "devices/system/edac/mc"),
        ("hwmon", "class/hwmon"),
        ("infiniband", "class/infiniband"),
        ("numa", "devices/system/node"),
        ("nvme", "class/nvme"),
        ("pcie", "bus/pci/devices"),
        ("rapl", "class/powercap"),
    ],
)
def test_an_empty_folder_is_no_hardware(name: str, folder: str, tmp_path: Path) -> None:
    """A driver that is loaded without its device leaves its folder empty."""
    tree = HostTree(tmp_path)
    (tree.sys / folder).mkdir(parents=True)
    with pytest.raises(SourceAbsent, match="is empty"):
        read(name, tree)


@pytest.mark.parametrize(("name", "files", "reason"), HALF)
def test_a_source_says_what_it_did_not_find(
    name: str, files: Mapping[str, str], reason: str, tmp_path: Path
) -> None:
    """Folders with other things in them, and tables without a row, are no hardware either."""
    tree = HostTree(tmp_path)
    tree.write(files)
    with pytest.raises(SourceAbsent, match=reason):
        read(name, tree)
