"""Nodes of the eleventh batch: cards, servers without cards, desks and guests."""

from tests.corpus.eighth.nodes import in_a_cloud
from tests.corpus.fifth.nodes import AMPERE_LACKS, links, with_cards
from tests.corpus.machines import processors_only
from tests.corpus.parts import (
    Tree,
    controller,
    disk,
    filesystem,
    ib_port,
    nic,
    nvme_health,
    pcie_device,
    sensor,
)
from tests.corpus.seventh.nodes import DESK_LACKS, GDDR_LACKS, bus, clocks, memory, power
from tests.corpus.tenth.nodes import holding

TRAY = {"15": "14", "25": "24", "39": "38", "4b": "4a", "93": "92", "a6": "a5", "bc": "b6"}
CHASSIS = {**TRAY, "d4": "d3"}
QUAD = {"23": "22", "44": "43", "a3": "a2", "c4": "c3"}
TWINS = {"2f": "2e", "af": "ae"}
ALONE = {"09": "08"}


def _named(node: Tree, processor: str, kernel: str, system: str = "22.04") -> Tree:
    """Say what processor, kernel and system a node has."""
    node["Host"] |= {"cpu_model": processor, "kernel_version": kernel, "os_version": system}
    return node


def _with_rails(node: Tree, rate: float, *places: str) -> Tree:
    """Put InfiniBand adapters at these places of the bus, instead of those of every board."""
    devices = node["Pcie"]["devices"]
    for gone in ("ca", "cb"):
        del devices[gone]
    ports = {}
    for number, place in enumerate(places):
        name, address = f"mlx5_{number}", f"0000:{place}:00.0"
        devices[f"rail {place}"] = pcie_device(address, "network", driver="mlx5_core")
        ports[name] = ib_port(
            name,
            address,
            rate_bytes_per_second=rate,
            link_was_up=True,
            peers_up=len(places) - 1,
        )
    node["Infiniband"] = {"ports": ports}
    return node


def _with_supplies(node: Tree, number: int, watts: float) -> Tree:
    """Give a node so many power supplies."""
    for supply in range(1, number + 1):
        place = {"hw_id": f"psu-{supply}", "hw_name": "pmbus", "alarm": False}
        node["Sensors"]["sensors"][f"psu{supply}"] = sensor("power", "pin", watts, **place)
    return node


def chassis_of_h100() -> Tree:
    """Eight H100 SXM with driver 535, eight rails of NDR, six supplies."""
    node = with_cards(CHASSIS, "535.216.01", "12.2", ("recovery_action",), nvlink_up=links(18))
    rails = ("16", "26", "3c", "4d", "94", "a8", "be", "d6")
    node = _with_supplies(_with_rails(node, 50e9, *rails), 6, 1530.0)
    return holding(_named(node, "Xeon 8462Y+", "5.15.0-122-generic"), 66)


def chassis_of_h200() -> Tree:
    """Eight H200 SXM with driver 570, four rails of NDR, workers of a cluster."""
    node = with_cards(
        CHASSIS,
        "570.148.08",
        "12.8",
        (),
        name="NVIDIA H200",
        **memory(141, 120),
        **power(700.0, 200.0, 590.0),
        nvlink_up=links(18),
    )
    rails = ("16", "3c", "94", "be")
    return holding(_named(_with_rails(node, 50e9, *rails), "Xeon 8592+", "6.8.0-57-generic"), 120)


def chassis_of_b200() -> Tree:
    """Eight B200 with driver 580 and links of the fifth generation, four rails of NDR."""
    node = with_cards(
        CHASSIS,
        "580.65.06",
        "13.0",
        (),
        name="NVIDIA B200",
        architecture="blackwell",
        **memory(179, 139),
        **power(1000.0, 200.0, 845.0),
        nvlink_up=links(18),
        temperature_celsius=58.0,
    )
    rails = ("16", "3c", "94", "be")
    return holding(_named(_with_rails(node, 50e9, *rails), "Xeon 6952P", "6.8.0-71-generic"), 139)


def quad_of_a100() -> Tree:
    """Four A100 SXM of 40 GiB with driver 525 of a university, HDR, a filesystem of Lustre."""
    node = with_cards(
        QUAD,
        "525.147.05",
        "12.0",
        (*AMPERE_LACKS, "gsp_enabled"),
        name="NVIDIA A100-SXM4-40GB",
        architecture="ampere",
        **memory(40, 33),
        **power(400.0, 100.0, 305.0),
        **clocks(1.35e9, 1.41e9, 1.215e9),
        **bus(4),
        nvlink_up=links(12),
        temperature_celsius=52.0,
        memory_temperature_celsius=60.0,
    )
    node = _with_rails(node, 25e9, "52", "d2")
    work = filesystem("198.51.100.4@o2ib:/work", "/work", "lustre", size_bytes=9 * 10**15)
    work |= {"free_bytes": 3 * 10**15, "available_bytes": 3 * 10**15}
    node["Filesystems"]["filesystems"]["/work"] = work
    return holding(_named(node, "AMD EPYC 7543", "4.18.0-553.el8_10", "8.10"), 33)


def pair_of_a100() -> Tree:
    """Two A100 boards of 80 GiB in slots, driver 550, without links between them."""
    node = with_cards(
        TWINS,
        "550.144.03",
        "12.4",
        (*AMPERE_LACKS, "nvlink"),
        name="NVIDIA A100 80GB PCIe",
        architecture="ampere",
        **memory(80, 52),
        **power(300.0, 150.0, 248.0),
        **clocks(1.275e9, 1.41e9, 1.512e9),
        **bus(4),
        temperature_celsius=59.0,
        memory_temperature_celsius=72.0,
    )
    return holding(_named(node, "AMD EPYC 7453", "5.15.0-134-generic"), 52)


def quad_of_l4() -> Tree:
    """Four L4 boards that transcode and serve small models, driver 550."""
    node = with_cards(
        QUAD,
        "550.127.08",
        "12.4",
        GDDR_LACKS,
        name="NVIDIA L4",
        architecture="ada",
        **memory(22, 13),
        **power(72.0, 40.0, 61.0),
        **clocks(1.59e9, 2.04e9, 6.251e9),
        **bus(4),
        temperature_celsius=63.0,
        temperature_threshold_celsius={"shutdown": 91, "slowdown": 88, "max_operating": 85},
        utilization_percent=64.0,
        memory_controller_utilization_percent=33.0,
    )
    return holding(_named(node, "Xeon Gold 6426Y", "6.1.0-31-amd64", "12"), 13)


def tower_of_a6000() -> Tree:
    """A tower with two RTX A6000 that have fans and ECC, driver 535."""
    node = with_cards(
        TWINS,
        "535.230.02",
        "12.2",
        GDDR_LACKS,
        name="NVIDIA RTX A6000",
        architecture="ampere",
        **memory(48, 31),
        **power(300.0, 100.0, 276.0),
        **clocks(1.71e9, 2.1e9, 8.001e9),
        **bus(4),
        fan_speed_percent={"0": 66},
        temperature_celsius=78.0,
        temperature_threshold_celsius={"shutdown": 98, "slowdown": 95, "max_operating": 93},
    )
    return holding(_named(node, "AMD Threadripper PRO 5975WX", "6.8.0-52-generic", "24.04"), 31)


def desk_of_5080() -> Tree:
    """A desk with one GeForce RTX 5080 that also draws the screen, open driver 580."""
    node = with_cards(
        ALONE,
        "580.82.07",
        "13.0",
        DESK_LACKS,
        name="NVIDIA GeForce RTX 5080",
        architecture="blackwell",
        **memory(16, 11),
        **power(360.0, 300.0, 301.0),
        **clocks(2.64e9, 3.09e9, 1.5001e10),
        fan_speed_percent={"0": 47, "1": 47},
        temperature_celsius=64.0,
        temperature_threshold_celsius={"shutdown": 95, "slowdown": 92, "max_operating": 90},
        persistence_mode=False,
    )
    return holding(_named(node, "AMD Ryzen 9 9950X", "6.14.0-29-generic", "24.04"), 11)


def cloud_of_a10() -> Tree:
    """A guest of a cloud with one A10 and volumes of its network, driver 570."""
    node = with_cards(
        {"1f": "00"},
        "570.172.08",
        "12.8",
        GDDR_LACKS,
        name="NVIDIA A10G",
        architecture="ampere",
        **memory(22, 17),
        **power(300.0, 100.0, 182.0),
        **clocks(1.695e9, 1.71e9, 6.251e9),
        **bus(4),
        temperature_celsius=55.0,
        temperature_threshold_celsius={"shutdown": 98, "slowdown": 95, "max_operating": 88},
    )
    return holding(_named(in_a_cloud(node), "AMD EPYC 7R32", "6.8.0-1024-aws"), 17)


def cluster_worker() -> Tree:
    """A worker of a cluster without cards: an EPYC, a ConnectX of two ports, images on NVMe."""
    node = _named(processors_only(), "AMD EPYC 9454P", "6.6.58-talos", "1.8.3")
    node["Network"]["interfaces"] = {
        "bond0": nic("bond0", driver="bonding", pci_bus_id=None, speed_bytes_per_second=6.25e9),
        **{
            f"enp92s0f{n}np{n}": nic(
                f"enp92s0f{n}np{n}",
                pci_bus_id=f"0000:5c:00.{n}",
                speed_bytes_per_second=3.125e9,
                peers_up=1,
                link_was_up=True,
            )
            for n in (0, 1)
        },
    }
    node["Filesystems"]["filesystems"] = {
        "/": filesystem("/dev/nvme0n1p4", "/", "xfs"),
        "/var": filesystem("/dev/nvme1n1p1", "/var", "xfs"),
    }
    return _with_supplies(node, 2, 285.0)


def disk_server() -> Tree:
    """A server of an object store: sixteen SAS disks behind an adapter, two ports of ice."""
    node = _named(processors_only(), "Xeon Gold 5318Y", "5.15.0-130-generic")
    for target, letter in enumerate("abcdefghijklmnop"):
        node["Disks"]["disks"][f"sd{letter}"] = disk(
            f"sd{letter}",
            transport="sas",
            rotational=True,
            scsi_address=f"6:0:{target}:0",
            scsi_state="running",
            size_bytes=18_000_207_937_536,
        )
        mount = f"/srv/disk{target:02}"
        filesystem_of_it = filesystem(f"/dev/sd{letter}", mount, "xfs", size_bytes=18 * 10**12)
        filesystem_of_it |= {"free_bytes": 6 * 10**12, "available_bytes": 6 * 10**12}
        node["Filesystems"]["filesystems"][mount] = filesystem_of_it
    node["Network"]["interfaces"] = {
        f"ens2f{n}": nic(f"ens2f{n}", driver="ice", pci_bus_id=f"0000:5c:00.{n}") for n in (0, 1)
    }
    return _with_supplies(node, 2, 520.0)


def mirrored_server() -> Tree:
    """A server of mail: two NVMe disks as a mirror for the system, X710 ports."""
    node = _named(processors_only(), "Xeon Gold 6338N", "5.10.0-33-amd64", "11")
    node["MdArrays"] = {
        "arrays": {
            "md0": {
                "device": "md0",
                "state": "active",
                "level": "raid1",
                "active_disks": 2,
                "failed_disks": 0,
                "spare_disks": 0,
                "missing_disks": 0,
            }
        }
    }
    node["Disks"]["disks"]["md0"] = disk("md0", transport="md", slaves=["nvme0n1", "nvme1n1"])
    node["Filesystems"]["filesystems"] = {"/": filesystem("/dev/md0", "/", "ext4")}
    node["Network"]["interfaces"] = {
        f"eno{n + 1}": nic(
            f"eno{n + 1}",
            driver="i40e",
            mtu=1500,
            pci_bus_id=f"0000:5c:00.{n}",
            speed_bytes_per_second=1.25e9,
            peers_up=1,
            link_was_up=True,
        )
        for n in (0, 1)
    }
    return _with_supplies(node, 2, 245.0)


def volume_server() -> Tree:
    """An older server: one volume of a MegaRAID for all data, a port of ixgbe."""
    node = _named(processors_only(), "Xeon E5-2690 v4", "5.15.0-119-generic")
    del node["NvmeControllers"], node["NvmeHealths"]
    for gone in ("5e", "5f"):
        del node["Pcie"]["devices"][gone]
    node["Disks"]["disks"] = {
        name: disk(
            name,
            transport="sas",
            rotational=True,
            scsi_address=f"0:2:{number}:0",
            scsi_state="running",
            model="PERC H740P Mini",
            size_bytes=24_000_000_000_000,
        )
        for number, name in enumerate(("sda", "sdb"))
    }
    node["Filesystems"]["filesystems"] = {
        "/": filesystem("/dev/sda2", "/", "ext4"),
        "/srv": filesystem("/dev/sdb1", "/srv", "xfs"),
    }
    node["Network"]["interfaces"] = {
        "eno1": nic("eno1", driver="ixgbe", mtu=1500, pci_bus_id="0000:5c:00.0")
    }
    return _with_supplies(node, 2, 310.0)


def third_disk(node: Tree) -> Tree:
    """Add an NVMe disk for scratch to a node, with a filesystem of its own."""
    node["Disks"]["disks"]["nvme2n1"] = disk("nvme2n1", size_bytes=7_681_501_126_656)
    node["NvmeControllers"]["controllers"]["nvme2"] = controller(2, "0000:60:00.0")
    node["NvmeHealths"]["controllers"]["nvme2"] = nvme_health(2)
    four = {"width": 4, "width_max": 4, "width_reachable": 4}
    node["Pcie"]["devices"]["60"] = pcie_device("0000:60:00.0", "nvme", "0000:5b:00.0", **four)
    node["Filesystems"]["filesystems"]["/scratch"] = filesystem("/dev/nvme2n1", "/scratch", "xfs")
    return node


def h200_with_scratch() -> Tree:
    """The eight H200 with a third NVMe disk for scratch."""
    return third_disk(chassis_of_h200())
