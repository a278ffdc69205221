"""Nodes of the eighth batch, and what happens on many of them in the same way."""

from tests.corpus.fifth.nodes import links, with_cards
from tests.corpus.machines import processors_only
from tests.corpus.parts import Tree, disk, filesystem, nic
from tests.corpus.seventh.nodes import DESK_LACKS, EIGHT, GDDR_LACKS, bus, clocks, memory, power
from tests.corpus.story import Story

HOURS = 2 * 3600
REMAP = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."
LINK_AFTER = ("net_link_flap", "net_link_down", "tcp_retransmit_burst", "net_drop")
REBUILDS = ("disk_link_errors", "disk_offline", "disk_slow")


def b200_box() -> Tree:
    """Eight B200 with NVLink of the fifth generation, driver 570, on a Xeon board."""
    node = with_cards(
        EIGHT,
        "570.195.03",
        "12.8",
        (),
        name="NVIDIA B200",
        architecture="blackwell",
        **memory(179, 151),
        **power(1000.0, 200.0, 815.0),
        nvlink_up=links(18),
    )
    node["Host"] |= {"cpu_model": "Xeon 6960P", "kernel_version": "6.8.0-1026-nvidia"}
    return node


def in_a_cloud(node: Tree) -> Tree:
    """Take away what a guest cannot see: sensors, memory controllers, the ports of the bus."""
    for gone in ("Sensors", "MemoryErrors", "CpuHealth"):
        del node[gone]
    devices = node["Pcie"]["devices"]
    for name in [name for name, each in devices.items() if each["kind"] == "port"]:
        del devices[name]
    for device in devices.values():
        device["parent"] = None
    node["Network"]["interfaces"] = {
        "eth0": nic("eth0", driver="ena", mtu=9001, pci_bus_id="0000:00:05.0")
    }
    return node


def cloud_t4() -> Tree:
    """A guest of a cloud with one T4, driver 535."""
    return in_a_cloud(
        with_cards(
            {"1e": "00"},
            "535.230.02",
            "12.2",
            (*GDDR_LACKS, "remapped_rows", "row_remap"),
            name="Tesla T4",
            architecture="turing",
            **memory(15, 9),
            **power(70.0, 60.0, 58.0),
            **clocks(1.29e9, 1.59e9, 5.001e9),
            **bus(3),
            temperature_threshold_celsius={"shutdown": 96, "slowdown": 93, "max_operating": 85},
            retired_pages_total={"single_bit": 0, "double_bit": 0},
            retired_pages_pending=False,
        )
    )


def cloud_a100s() -> Tree:
    """A guest of a cloud with eight A100 of 40 GiB, driver 535."""
    return in_a_cloud(
        with_cards(
            EIGHT,
            "535.216.03",
            "12.2",
            ("fabric", "thermal_margin", "recovery_action", "sram_threshold"),
            name="NVIDIA A100-SXM4-40GB",
            architecture="ampere",
            **memory(40, 33),
            **power(400.0, 100.0, 310.0),
            **clocks(1.35e9, 1.41e9, 1.215e9),
            **bus(4),
            nvlink_up=links(12),
        )
    )


def rtx_4090s() -> Tree:
    """Four GeForce RTX 4090 in a rented server, driver 560."""
    return with_cards(
        {"01": "00", "25": "24", "41": "40", "61": "60"},
        "560.35.03",
        "12.6",
        DESK_LACKS,
        name="NVIDIA GeForce RTX 4090",
        architecture="ada",
        **memory(24, 18),
        **power(450.0, 150.0, 390.0),
        **clocks(2.52e9, 3.105e9, 1.0501e10),
        **bus(4),
        fan_speed_percent={"0": 62, "1": 62},
        temperature_celsius=69.0,
        temperature_threshold_celsius={"shutdown": 100, "slowdown": 97, "max_operating": 90},
    )


def kubelet_node() -> Tree:
    """A worker of a cluster without cards, with a bond of two legs and images on a disk."""
    node = processors_only()
    node["Host"] |= {"cpu_model": "AMD EPYC 9554", "kernel_version": "5.14.0-503.el9"}
    node["Network"]["interfaces"] = {
        "bond0": nic("bond0", driver="bonding", pci_bus_id=None),
        **{
            f"ens{n}f0": nic(f"ens{n}f0", driver="ice", pci_bus_id=f"0000:5c:00.{n}")
            for n in (1, 2)
        },
    }
    node["Filesystems"]["filesystems"]["/var/lib/containerd"] = filesystem(
        "/dev/nvme1n1", "/var/lib/containerd", "xfs"
    )
    return node


def cloud_volumes() -> Tree:
    """A guest of a cloud without cards, whose disks are volumes behind NVMe."""
    node = processors_only()
    for gone in ("Sensors", "MemoryErrors", "NvmeHealths", "CpuHealth"):
        del node[gone]
    node["Network"]["interfaces"] = {
        "ens5": nic("ens5", driver="ena", mtu=9001, pci_bus_id="0000:00:05.0")
    }
    node["Disks"]["disks"]["nvme1n1"] = disk("nvme1n1", size_bytes=536_870_912_000)
    return node


def flaps(node: Story, name: str, times: int, down: int, up: int, *lines: str) -> None:
    """A link goes down and up again some times; `lines` are the words for down and for up."""
    for number in range(times):
        if lines:
            node.log(lines[0])
        node.put("Network", "interfaces", name, up=False, operstate="down")
        node.put("Network", "interfaces", name, carrier_changes=3 + 2 * number)
        node.wait(down, 5)
        if lines:
            node.log(lines[1])
        node.put("Network", "interfaces", name, up=True, operstate="up")
        node.put("Network", "interfaces", name, carrier_changes=4 + 2 * number)
        node.wait(up, 15)


def rank_ends(node: Story, bus: str, pid: str) -> None:
    """One process is gone, and its card has nothing to do."""
    node.put("Workloads", "clients", **{pid: None})
    node.gpu(bus, processes=[], utilization_percent=0.0, memory_used_bytes=0)
    node.gpu(bus, power_draw_watts=70.0, power_average_watts=70.0, temperature_celsius=38.0)
