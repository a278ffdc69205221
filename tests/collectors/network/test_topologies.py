"""Nearest adapters on three boards, from the files of sysfs by the real readers."""

import pytest

from exporter.collectors.gpu.values import Gpus
from exporter.collectors.network.affinity import nearest_nics
from exporter.collectors.network.infiniband import InfinibandReader
from exporter.collectors.network.interfaces import NetworkReader, OwnRoots
from exporter.collectors.network.values import Infiniband, Network
from exporter.collectors.pcie.devices import PcieReader
from exporter.collectors.pcie.values import Pcie
from exporter.config import Devices
from exporter.model.snapshot import Snapshot
from tests.collectors.network.test_affinity import CASCADE, EIGHT_PAIRS, TWO_SOCKETS, board, near
from tests.collectors.small_node import SmallNode
from tests.web.serving import snapshot

CLASSES = {"port": "0x060400", "gpu": "0x030200", "network": "0x020000"}


def lay_out(node: SmallNode, layout: str) -> None:
    """Write the devices of a layout as sysfs has them: folders in each other, and links there."""
    for line in filter(None, layout.split("\n")):
        numa, name, *way = line.split()
        folder = f"sys/devices/pci0000:{way[0][:2]}"
        for address in (f"0000:{part}" for part in way):
            folder = f"{folder}/{address}"
            if (node.root / folder).exists():
                continue
            is_last = address == f"0000:{way[-1]}"
            kind = "port" if not is_last else "gpu" if name == "gpu" else "network"
            vendor = "0x10de" if kind == "gpu" else "0x15b3"
            files = {"class": CLASSES[kind], "vendor": vendor, "numa_node": numa}
            node.write_all(folder, files)
            node.link(f"sys/bus/pci/devices/{address}", folder)
        rdma, _, interface = name.rpartition(":") if ":" in name else ("", "", name)
        if name.startswith("mlx5"):
            node.write(f"sys/class/infiniband/{rdma or name}/ports/1/state", "4: ACTIVE\n")
            node.link(f"sys/class/infiniband/{rdma or name}/device", folder)
        if name != "gpu" and (rdma or not name.startswith("mlx5")):
            node.interface(interface)
            node.link(f"sys/class/net/{interface}/device", folder)


def read(node: SmallNode, layout: str) -> Snapshot:
    """Read the files; what NVML says of the GPUs is that of the layout."""
    own = OwnRoots(node.proc, node.sys)
    return snapshot(
        readings={
            Gpus: board(layout).reading(Gpus),
            Pcie: PcieReader(node.sys).read().value,
            Network: NetworkReader(node.proc, node.sys, Devices(), own=own).read().value,
            Infiniband: InfinibandReader(node.sys, 16).read().value,
        }
    )


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> SmallNode:
    """A node without anything."""
    return SmallNode(tmp_path_factory.mktemp("node") / "root")


@pytest.mark.parametrize(
    ("layout", "paths"),
    [
        (EIGHT_PAIRS, ["PIX"] * 8),
        (TWO_SOCKETS, ["NODE", "NODE", "SYS"]),
        (CASCADE, ["PXB"]),
    ],
    ids=["eight pairs", "two sockets", "cascade"],
)
def test_files_of_a_board_tell_the_nearest_adapters(
    node: SmallNode, layout: str, paths: list[str]
) -> None:
    """Links of sysfs, NUMA nodes and names lead to the same adapters as the layout itself."""
    lay_out(node, layout)
    found = nearest_nics(read(node, layout))
    named = [(each.gpu.index, each.device, each.rdma_device, each.path) for each in found]
    assert named == near(layout)
    assert [each.path for each in found] == paths
