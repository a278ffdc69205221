"""Nodes of the thirteenth batch: boxes of cards, a desk, guests, servers without cards."""

from tests.corpus.eighth.nodes import in_a_cloud
from tests.corpus.fifth.nodes import AMPERE_LACKS, links, with_cards
from tests.corpus.machines import processors_only
from tests.corpus.parts import Tree, disk, filesystem, ib_port, nic, pcie_device, sensor
from tests.corpus.seventh.nodes import (
    DESK_LACKS,
    GDDR_LACKS,
    PRO_LACKS,
    bus,
    clocks,
    memory,
    power,
)
from tests.corpus.tenth.nodes import holding

FIRST_FOUR = {"0f": "0e", "2d": "2c", "44": "43", "63": "62"}
EIGHT = {**FIRST_FOUR, "87": "86", "a8": "a7", "c4": "c3", "e1": "e0"}
SLOTS = {"2a": "29", "3d": "3c", "a2": "a1", "bd": "bc"}
RAILS = ("12", "30", "47", "66", "8a", "ab", "c7", "e4")


def _is(node: Tree, processor: str, kernel: str, system: str) -> Tree:
    """Say what processor, kernel and system a node has."""
    node["Host"] |= {"cpu_model": processor, "kernel_version": kernel, "os_version": system}
    return node


def _fabric(node: Tree, rate: float, *places: str) -> Tree:
    """Put adapters of InfiniBand at these places of the bus, instead of those of every board."""
    devices = node["Pcie"]["devices"]
    for gone in ("ca", "cb"):
        del devices[gone]
    ports = {}
    for number, place in enumerate(places):
        name, address = f"mlx5_{number}", f"0000:{place}:00.0"
        devices[f"rail {place}"] = pcie_device(address, "network", driver="mlx5_core")
        seen = {"link_was_up": True, "peers_up": len(places) - 1}
        ports[name] = ib_port(name, address, rate_bytes_per_second=rate, **seen)
    node["Infiniband"] = {"ports": ports}
    return node


def _supplies(node: Tree, number: int, watts: float) -> Tree:
    """Give a node so many power supplies."""
    for supply in range(1, number + 1):
        place = {"hw_id": f"psu-{supply}", "hw_name": "pmbus", "alarm": False}
        node["Sensors"]["sensors"][f"psu{supply}"] = sensor("power", "pin", watts, **place)
    return node


def old_h100() -> Tree:
    """Eight H100 SXM with driver 535, which tells less, and eight rails of NDR."""
    node = with_cards(
        EIGHT, "535.216.03", "12.2", ("recovery_action", "sram_threshold"), nvlink_up=links(18)
    )
    node = _supplies(_fabric(node, 50e9, *RAILS), 6, 1420.0)
    return holding(_is(node, "Xeon 8480+", "5.15.0-1061-nvidia", "22.04"), 68)


def new_h100() -> Tree:
    """Eight H100 SXM with driver 570 and eight rails of NDR."""
    node = with_cards(EIGHT, "570.158.01", "12.8", (), nvlink_up=links(18))
    node = _supplies(_fabric(node, 50e9, *RAILS), 6, 1455.0)
    return holding(_is(node, "AMD EPYC 9654", "5.14.0-503.40.1.el9_5", "9.5"), 74)


def some_h200() -> Tree:
    """Eight H200 SXM with driver 570 and eight rails of NDR."""
    node = with_cards(
        EIGHT,
        "570.172.08",
        "12.8",
        (),
        name="NVIDIA H200",
        **memory(141, 118),
        **power(700.0, 200.0, 590.0),
        nvlink_up=links(18),
    )
    node = _supplies(_fabric(node, 50e9, *RAILS), 6, 1580.0)
    return holding(_is(node, "Xeon 8568Y+", "6.8.0-71-generic", "22.04"), 118)


def some_b200() -> Tree:
    """Eight B200 with driver 570 and eight rails of NDR."""
    node = with_cards(
        EIGHT,
        "570.195.03",
        "12.8",
        (),
        name="NVIDIA B200",
        architecture="blackwell",
        **memory(179, 154),
        **power(1000.0, 200.0, 845.0),
        nvlink_up=links(18),
        temperature_celsius=58.0,
    )
    node = _supplies(_fabric(node, 50e9, *RAILS), 6, 2210.0)
    return holding(_is(node, "Xeon 6960P", "6.8.0-87-generic", "24.04"), 154)


def eight_a100() -> Tree:
    """Eight A100 SXM of 80 GiB behind NVSwitches, driver 550, four rails of HDR."""
    node = with_cards(
        EIGHT,
        "550.163.01",
        "12.4",
        AMPERE_LACKS,
        name="NVIDIA A100-SXM4-80GB",
        architecture="ampere",
        **memory(80, 63),
        **power(400.0, 100.0, 341.0),
        **clocks(1.38e9, 1.41e9, 1.593e9),
        **bus(4),
        nvlink_up=links(12),
        temperature_celsius=55.0,
        memory_temperature_celsius=66.0,
    )
    node = _supplies(_fabric(node, 25e9, *RAILS[::2]), 4, 1120.0)
    return holding(_is(node, "AMD EPYC 7742", "5.15.0-142-generic", "22.04"), 63)


def four_pro() -> Tree:
    """Four RTX PRO 6000 Blackwell in slots that serve models, driver 580."""
    node = with_cards(
        SLOTS,
        "580.82.09",
        "13.0",
        PRO_LACKS,
        name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
        architecture="blackwell",
        **memory(96, 77),
        **power(600.0, 300.0, 488.0),
        **clocks(2.295e9, 2.43e9, 1.2481e10),
        temperature_celsius=67.0,
        temperature_threshold_celsius={"shutdown": 95, "slowdown": 92, "max_operating": 90},
    )
    return holding(_supplies(_is(node, "AMD EPYC 9575F", "6.12.0-55.el10", "10.0"), 4, 730.0), 77)


def four_l4() -> Tree:
    """Four L4 boards that watch films for a living, driver 550."""
    node = with_cards(
        SLOTS,
        "550.144.03",
        "12.4",
        GDDR_LACKS,
        name="NVIDIA L4",
        architecture="ada",
        **memory(22, 9),
        **power(72.0, 40.0, 61.0),
        **clocks(1.62e9, 2.04e9, 6.251e9),
        **bus(4),
        temperature_celsius=61.0,
        temperature_threshold_celsius={"shutdown": 91, "slowdown": 88, "max_operating": 85},
    )
    return holding(
        _supplies(_is(node, "Xeon Gold 5420+", "5.15.0-134-generic", "22.04"), 2, 310.0), 9
    )


def desk_of_5090() -> Tree:
    """A desk with one GeForce RTX 5090 that also draws the screen, driver 575."""
    node = with_cards(
        {"01": "00"},
        "575.64.03",
        "12.9",
        DESK_LACKS,
        name="NVIDIA GeForce RTX 5090",
        architecture="blackwell",
        **memory(32, 24),
        **power(575.0, 400.0, 461.0),
        **clocks(2.535e9, 3.09e9, 1.4001e10),
        fan_speed_percent={"0": 52, "1": 52},
        temperature_celsius=64.0,
        temperature_threshold_celsius={"shutdown": 95, "slowdown": 92, "max_operating": 90},
        persistence_mode=False,
    )
    return holding(_is(node, "AMD Ryzen 9 9950X", "6.11.0-29-generic", "24.04"), 24)


def guest_of_a10() -> Tree:
    """A guest of a cloud with one A10G and volumes of its network, driver 535."""
    node = with_cards(
        {"1e": "00"},
        "535.230.02",
        "12.2",
        GDDR_LACKS,
        name="NVIDIA A10G",
        architecture="ampere",
        **memory(22, 15),
        **power(300.0, 100.0, 214.0),
        **clocks(1.71e9, 1.71e9, 6.251e9),
        **bus(4),
        temperature_celsius=52.0,
        temperature_threshold_celsius={"shutdown": 98, "slowdown": 95, "max_operating": 88},
    )
    return holding(_is(in_a_cloud(node), "AMD EPYC 7R32", "6.8.0-1029-aws", "22.04"), 15)


def batch_worker() -> Tree:
    """A worker of a batch system without cards: two EPYC, one port of HDR, Lustre."""
    node = _fabric(processors_only(), 12.5e9, "a1")
    node["Cpu"] |= {"usage_percent": 88.0, "used_cores": 112.0, "load1": 115.0, "load5": 114.0}
    work = filesystem("198.51.100.20@o2ib:/work", "/work", "lustre", size_bytes=9 * 10**15)
    work |= {"free_bytes": 3 * 10**15, "available_bytes": 3 * 10**15}
    node["Filesystems"]["filesystems"]["/work"] = work
    node = _is(node, "AMD EPYC 7763", "4.18.0-553.34.1.el8_10", "8.10")
    return _supplies(node, 2, 365.0)


def pod_worker() -> Tree:
    """A worker of a cluster without cards: a bond of two ports of i40e, images below /var."""
    node = _is(processors_only(), "Xeon Gold 6338", "5.15.0-139-generic", "22.04")
    ports = {
        f"eno{n}": nic(
            f"eno{n}",
            driver="i40e",
            mtu=1500,
            pci_bus_id=f"0000:5c:00.{n - 1}",
            speed_bytes_per_second=1.25e9,
            peers_up=1,
            link_was_up=True,
        )
        for n in (1, 2)
    }
    bond = nic("bond0", driver="bonding", pci_bus_id=None, speed_bytes_per_second=2.5e9)
    node["Network"]["interfaces"] = {"bond0": bond, **ports}
    node["Filesystems"]["filesystems"] = {
        "/": filesystem("/dev/nvme0n1p2", "/", "ext4"),
        "/var/lib/containerd": filesystem("/dev/nvme1n1", "/var/lib/containerd", "ext4"),
    }
    return _supplies(node, 2, 288.0)


def osd_server() -> Tree:
    """A server of Ceph: ten SAS disks behind an adapter without filesystems, ports of mlx5."""
    node = _is(processors_only(), "AMD EPYC 7543P", "6.1.0-31-amd64", "12")
    for target, letter in enumerate("abcdefghij"):
        node["Disks"]["disks"][f"sd{letter}"] = disk(
            f"sd{letter}",
            transport="sas",
            rotational=True,
            scsi_address=f"1:0:{target}:0",
            scsi_state="running",
            size_bytes=18_000_207_937_536,
        )
    node["Filesystems"]["filesystems"] = {"/": filesystem("/dev/nvme0n1p2", "/", "ext4")}
    node["Network"]["interfaces"] = {
        f"ens2f{n}np{n}": nic(
            f"ens2f{n}np{n}", pci_bus_id=f"0000:5c:00.{n}", peers_up=1, link_was_up=True
        )
        for n in (0, 1)
    }
    return _supplies(node, 2, 415.0)


def raid_server() -> Tree:
    """A file server: two volumes of a MegaRAID adapter, a port of tg3, homes of a group."""
    node = _is(processors_only(), "Xeon Silver 4216", "5.14.0-427.50.1.el9_4", "9.4")
    for target, letter in enumerate("ab"):
        node["Disks"]["disks"][f"sd{letter}"] = disk(
            f"sd{letter}",
            transport="scsi",
            rotational=True,
            scsi_address=f"0:2:{target}:0",
            scsi_state="running",
            size_bytes=(480 + 47_500 * target) * 10**9,
        )
    home = filesystem("/dev/sdb1", "/export/home", "ext4", size_bytes=47 * 10**12)
    home |= {"free_bytes": 16 * 10**12, "available_bytes": 16 * 10**12}
    node["Filesystems"]["filesystems"] = {
        "/": filesystem("/dev/sda2", "/", "xfs"),
        "/export/home": home,
    }
    node["Network"]["interfaces"] = {
        "eno1": nic(
            "eno1",
            driver="tg3",
            mtu=1500,
            pci_bus_id="0000:5c:00.0",
            speed_bytes_per_second=1.25e8,
            link_was_up=True,
        )
    }
    return _supplies(node, 2, 240.0)


def mirror_server() -> Tree:
    """A server of a database: its data on a mirror of two NVMe disks, two ports of ice."""
    node = _is(processors_only(), "AMD EPYC 9274F", "5.14.0-570.12.1.el9_6", "9.6")
    whole = {"failed_disks": 0, "spare_disks": 0, "missing_disks": 0}
    array = {"device": "md0", "state": "active", "level": "raid1", "active_disks": 2, **whole}
    node["MdArrays"] = {"arrays": {"md0": array}}
    node["Disks"]["disks"]["md0"] = disk("md0", transport="md", slaves=["nvme0n1", "nvme1n1"])
    node["Filesystems"]["filesystems"] = {"/": filesystem("/dev/md0", "/", "xfs")}
    node["Network"]["interfaces"] = {
        f"ens3f{n}": nic(
            f"ens3f{n}", driver="ice", pci_bus_id=f"0000:5c:00.{n}", peers_up=1, link_was_up=True
        )
        for n in (0, 1)
    }
    return _supplies(node, 2, 322.0)
