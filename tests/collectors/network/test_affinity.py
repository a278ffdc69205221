"""Which adapter is nearest to each GPU, from the files of boards as their buses are laid out."""

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.network.affinity import gpus_near, nearest_nics
from exporter.collectors.network.families import FAMILIES
from exporter.collectors.network.infiniband import InfinibandReader
from exporter.collectors.network.interfaces import NetworkReader
from exporter.collectors.pcie.devices import PcieReader
from exporter.config import Devices
from exporter.model.snapshot import Snapshot
from exporter.reading.source import SourceAbsent
from exporter.reports.node import hardware
from tests.collectors.small_node import SmallNode
from tests.web.serving import snapshot

EIGHT_PAIRS = """
0 gpu  15:01.0 16:00.0 17:00.0 1b:00.0
0 mlx5_0 15:01.0 16:00.0 17:02.0 18:00.0
0 gpu  37:01.0 38:00.0 39:00.0 43:00.0
0 mlx5_3 37:01.0 38:00.0 39:02.0 40:00.0
0 gpu  48:01.0 49:00.0 4a:00.0 52:00.0
0 mlx5_4 48:01.0 49:00.0 4a:02.0 4f:00.0
0 gpu  59:01.0 5a:00.0 5b:00.0 61:00.0
0 mlx5_5 59:01.0 5a:00.0 5b:02.0 5e:00.0
1 gpu  97:01.0 98:00.0 99:00.0 9d:00.0
1 mlx5_6 97:01.0 98:00.0 99:02.0 9a:00.0
1 gpu  b7:01.0 b8:00.0 b9:00.0 c3:00.0
1 mlx5_9 b7:01.0 b8:00.0 b9:02.0 c0:00.0
1 gpu  c7:01.0 c8:00.0 c9:00.0 d1:00.0
1 mlx5_10 c7:01.0 c8:00.0 c9:02.0 ce:00.0
1 gpu  d7:01.0 d8:00.0 d9:00.0 df:00.0
1 mlx5_11 d7:01.0 d8:00.0 d9:02.0 dc:00.0
0 mlx5_1:ens6f0 26:01.0 29:00.0
1 eno3 a8:05.0 0b:00.0
"""
"""Eight GPUs, each with its adapter behind one switch; an adapter for storage, and one of 10G."""

TWO_SOCKETS = """
0 gpu  17:01.0 19:00.0
0 gpu  17:03.0 1b:00.0
0 mlx5_0:ens3np0 31:01.0 32:00.0
1 gpu  ca:01.0 cb:00.0
"""
"""Two GPUs and the only adapter on the first socket, below different host bridges."""

CASCADE = """
0 gpu  15:01.0 16:00.0 17:00.0 18:00.0 19:00.0 1a:00.0
0 mlx5_0:ens1 15:01.0 16:00.0 17:01.0 1b:00.0
0 mlx5_1:ens2 15:02.0 1c:00.0
"""
"""A switch below a switch, and an adapter below another port of the host bridge."""


CLASSES = {"port": "0x060400", "gpu": "0x030200", "network": "0x020000"}

Board = Callable[[str], Snapshot]


def lay_out(node: SmallNode, layout: str) -> tuple[GpuState, ...]:
    """Write the devices of a layout as sysfs has them, folders in each other; return the GPUs.

    A line is the NUMA node, `gpu` or the names of an adapter, and the way down.
    """
    gpus: list[GpuState] = []
    for line in filter(None, layout.split("\n")):
        numa, name, *way = line.split()
        folder = f"sys/devices/pci0000:{way[0][:2]}"
        for part in way:
            folder = f"{folder}/0000:{part}"
            kind = "port" if part != way[-1] else "gpu" if name == "gpu" else "network"
            vendor = "0x10de" if kind == "gpu" else "0x15b3"
            node.write_all(folder, {"class": CLASSES[kind], "vendor": vendor, "numa_node": numa})
            link = f"sys/bus/pci/devices/0000:{part}"
            if not (node.root / link).exists():
                node.link(link, folder)
        if name == "gpu":
            gpu = Gpu(
                len(gpus), f"GPU-{len(gpus)}", "Example GPU", pci_bus_id=f"00000000:{way[-1]}"
            )
            gpus.append(GpuState(gpu, 0.0))
            continue
        rdma, _, interface = name.rpartition(":")
        if name.startswith("mlx5") and not rdma:
            rdma, interface = name, ""
        if rdma:
            node.write(f"sys/class/infiniband/{rdma}/ports/1/state", "4: ACTIVE\n")
            node.link(f"sys/class/infiniband/{rdma}/device", folder)
        if interface:
            node.interface(interface)
            node.link(f"sys/class/net/{interface}/device", folder)
    return tuple(gpus)


def read_board(folder: Path, layout: str) -> Snapshot:
    """Read a node that is laid out so in this folder; its GPUs are known from the layout."""
    node = SmallNode(folder)
    gpus = lay_out(node, layout)
    backend = GpuBackend("nvml", "ok", "550.1", "12.4", nvml_up=True)
    readings: dict[type, object] = {Gpus: Gpus(backend, gpus)}
    for reader in (
        PcieReader(node.sys),
        NetworkReader(node.proc, node.sys, Devices()),
        InfinibandReader(node.sys, 16),
    ):
        with suppress(SourceAbsent):
            value = reader.read().value
            readings[type(value)] = value
    return snapshot(readings=readings)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """Read boards, each in a folder of its own."""
    folders = (tmp_path / str(number) for number in count())
    return lambda layout: read_board(next(folders), layout)


def near(seen: Snapshot) -> list[tuple[int, str | None, str | None, str]]:
    """The GPU, interface, RDMA device and path of each nearest adapter."""
    return [(it.gpu.index, it.device, it.rdma_device, it.path) for it in nearest_nics(seen)]


def test_each_gpu_has_the_adapter_of_its_switch(board: Board) -> None:
    """Eight pairs; the adapters for storage and management are nearest to no GPU."""
    rdma = [f"mlx5_{number}" for number in (0, 3, 4, 5, 6, 9, 10, 11)]
    assert near(board(EIGHT_PAIRS)) == [(gpu, None, name, "PIX") for gpu, name in enumerate(rdma)]
    assert gpus_near(board(EIGHT_PAIRS))["0000:c0:00.0"] == "GPU 5"


def test_one_adapter_for_two_sockets_is_near_to_its_own(board: Board) -> None:
    """Under another host bridge of the same NUMA node it is NODE, across the sockets SYS."""
    adapter = ("ens3np0", "mlx5_0")
    assert near(board(TWO_SOCKETS)) == [
        (0, *adapter, "NODE"),
        (1, *adapter, "NODE"),
        (2, *adapter, "SYS"),
    ]
    assert gpus_near(board(TWO_SOCKETS)) == {"0000:32:00.0": "GPUs 0, 1, 2"}


def test_a_node_without_an_adapter_says_nothing(board: Board) -> None:
    """Neither in metrics nor in `/node`; nor does a node without a GPU."""
    gpus = "0 gpu  17:01.0 19:00.0"
    assert near(board(gpus)) == near(board("0 eno1 17:01.0 19:00.0")) == []
    assert hardware(board(gpus))["gpu_nic_affinity"] == []


def test_switches_in_a_row_are_nearer_than_the_host_bridge(board: Board) -> None:
    """PXB before PHB; without RDMA in the node the interfaces count."""
    assert near(board(CASCADE)) == [(0, "ens1", "mlx5_0", "PXB")]
    bridge = "0 gpu  15:01.0 16:00.0\n0 eno1 15:02.0 17:00.0"
    assert near(board(bridge)) == [(0, "eno1", None, "PHB")]


def test_a_distance_that_is_not_known_is_not_guessed(board: Board) -> None:
    """Below different host bridges, and the firmware has not said on which NUMA nodes."""
    assert near(board("-1 gpu  15:01.0 16:00.0\n-1 eno1 a5:02.0 a7:00.0")) == []


def test_the_page_names_gpu_interface_and_rdma_device(board: Board) -> None:
    """The label `device` is that of the counters of the interface, to join both."""
    (family,) = (each for each in FAMILIES if each.name == "hw_gpu_nic_affinity_info")
    assert family.labels[3:] == ("device", "rdma_device", "path")
    assert list(family.samples(board(CASCADE))) == [
        (("0", "Example GPU", "GPU-0", "ens1", "mlx5_0", "PXB"), 1)
    ]
    assert len(list(family.samples(board(EIGHT_PAIRS)))) == 8


def test_equally_near_adapters_are_all_named_up_to_four(board: Board) -> None:
    """Two GPUs share two adapters; a flat bus of a virtual machine does not fill the page."""
    flat = "\n".join(
        ["0 gpu  00:03.0", *(f"0 eno{number} 00:{number}0.0" for number in range(1, 8))]
    )
    assert [name for _, name, _, _ in near(board(flat))] == ["eno1", "eno2", "eno3", "eno4"]
    assert hardware(board(CASCADE))["gpu_nic_affinity"] == [
        {"gpu_uuid": "GPU-0", "device": "ens1", "rdma_device": "mlx5_0", "path": "PXB"}
    ]
