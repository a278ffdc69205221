"""Nodes of the twelfth batch: cards, servers without cards, a desk and guests."""

from tests.corpus.eighth.nodes import in_a_cloud
from tests.corpus.fifth.nodes import AMPERE_LACKS, links, with_cards
from tests.corpus.machines import processors_only
from tests.corpus.parts import Tree, disk, filesystem, ib_port, nic, pcie_device, sensor
from tests.corpus.seventh.nodes import DESK_LACKS, GDDR_LACKS, bus, clocks, memory, power
from tests.corpus.tenth.nodes import holding

BOX = {"1b": "1a", "43": "42", "52": "51", "61": "60", "9d": "9c", "c3": "c2", "d1": "d0"}
EIGHT = {**BOX, "df": "de"}
FOUR = {"26": "25", "48": "47", "8a": "89", "ad": "ac"}
TWO = {"41": "40", "e2": "e1"}
ONE = {"02": "01"}
RAILS = ("18", "40", "4f", "64", "9a", "c0", "cc", "d5")


def _named(node: Tree, processor: str, kernel: str, system: str = "22.04") -> Tree:
    """Say what processor, kernel and system a node has."""
    node["Host"] |= {"cpu_model": processor, "kernel_version": kernel, "os_version": system}
    return node


def _railed(node: Tree, rate: float, *places: str, layer: str = "InfiniBand") -> Tree:
    """Put adapters for the fabric at these places of the bus, instead of those of every board."""
    devices = node["Pcie"]["devices"]
    for gone in ("ca", "cb"):
        del devices[gone]
    ports = {}
    for number, place in enumerate(places):
        name, address = f"mlx5_{number}", f"0000:{place}:00.0"
        devices[f"rail {place}"] = pcie_device(address, "network", driver="mlx5_core")
        seen = {"link_was_up": True, "peers_up": len(places) - 1, "link_layer": layer}
        ports[name] = ib_port(name, address, rate_bytes_per_second=rate, **seen)
    node["Infiniband"] = {"ports": ports}
    return node


def _supplied(node: Tree, number: int, watts: float) -> Tree:
    """Give a node so many power supplies."""
    for supply in range(1, number + 1):
        place = {"hw_id": f"psu-{supply}", "hw_name": "pmbus", "alarm": False}
        node["Sensors"]["sensors"][f"psu{supply}"] = sensor("power", "pin", watts, **place)
    return node


def box_of_h100() -> Tree:
    """Eight H100 SXM with driver 550, eight rails of NDR, six supplies, two EPYC."""
    node = with_cards(EIGHT, "550.90.12", "12.4", (), nvlink_up=links(18))
    node = _supplied(_railed(node, 50e9, *RAILS), 6, 1490.0)
    return holding(_named(node, "AMD EPYC 9534", "5.15.0-126-generic"), 71)


def box_of_h200() -> Tree:
    """Eight H200 SXM with driver 575, four rails of NDR, two Xeons."""
    node = with_cards(
        EIGHT,
        "575.51.03",
        "12.9",
        (),
        name="NVIDIA H200",
        **memory(141, 126),
        **power(700.0, 200.0, 615.0),
        nvlink_up=links(18),
    )
    node = _supplied(_railed(node, 50e9, *RAILS[::2]), 6, 1610.0)
    return holding(_named(node, "Xeon 8570", "6.8.0-64-generic", "24.04"), 126)


def box_of_b200() -> Tree:
    """Eight B200 with links of the fifth generation and driver 580, eight rails of NDR."""
    node = with_cards(
        EIGHT,
        "580.95.05",
        "13.0",
        (),
        name="NVIDIA B200",
        architecture="blackwell",
        **memory(179, 160),
        **power(1000.0, 200.0, 872.0),
        nvlink_up=links(18),
        temperature_celsius=60.0,
    )
    return holding(_named(_railed(node, 50e9, *RAILS), "Xeon 6767P", "6.8.0-85-generic"), 160)


def four_a100() -> Tree:
    """Four A100 SXM of 80 GiB with driver 550, two rails of HDR, Lustre of a computing centre."""
    node = with_cards(
        FOUR,
        "550.54.15",
        "12.4",
        AMPERE_LACKS,
        name="NVIDIA A100-SXM4-80GB",
        architecture="ampere",
        **memory(80, 58),
        **power(400.0, 100.0, 322.0),
        **clocks(1.395e9, 1.41e9, 1.593e9),
        **bus(4),
        nvlink_up=links(12),
        temperature_celsius=49.0,
        memory_temperature_celsius=62.0,
    )
    node = _railed(node, 25e9, "21", "a1")
    home = filesystem("203.0.113.9@o2ib:/proj", "/proj", "lustre", size_bytes=12 * 10**15)
    home |= {"free_bytes": 4 * 10**15, "available_bytes": 4 * 10**15}
    node["Filesystems"]["filesystems"]["/proj"] = home
    return holding(_named(node, "AMD EPYC 7713", "4.18.0-513.24.1.el8_9", "8.9"), 58)


def four_l40s() -> Tree:
    """Four L40S boards in slots that serve models, driver 570."""
    node = with_cards(
        FOUR,
        "570.124.06",
        "12.8",
        ("fabric", "nvlink", "memory_temperature"),
        name="NVIDIA L40S",
        architecture="ada",
        **memory(45, 34),
        **power(350.0, 100.0, 274.0),
        **clocks(2.31e9, 2.52e9, 9.001e9),
        **bus(4),
        temperature_celsius=66.0,
        temperature_threshold_celsius={"shutdown": 93, "slowdown": 90, "max_operating": 87},
    )
    return holding(
        _supplied(_named(node, "Xeon Gold 6448Y", "5.14.0-503.el9", "9.5"), 4, 540.0), 34
    )


def two_h100() -> Tree:
    """Two H100 NVL in slots with three bridges between them, driver 560."""
    node = with_cards(
        TWO,
        "560.35.03",
        "12.6",
        ("fabric",),
        name="NVIDIA H100 NVL",
        **memory(94, 77),
        **power(400.0, 200.0, 351.0),
        **clocks(1.71e9, 1.785e9, 2.619e9),
        nvlink_up=links(12),
        temperature_celsius=58.0,
    )
    return holding(_named(node, "AMD EPYC 9374F", "6.1.0-30-amd64", "12"), 77)


def desk_of_4080() -> Tree:
    """A desk with one GeForce RTX 4080 that also draws the screen, driver 565."""
    node = with_cards(
        ONE,
        "565.77",
        "12.7",
        DESK_LACKS,
        name="NVIDIA GeForce RTX 4080 SUPER",
        architecture="ada",
        **memory(16, 12),
        **power(320.0, 150.0, 262.0),
        **clocks(2.655e9, 3.105e9, 1.1501e10),
        **bus(4),
        fan_speed_percent={"0": 44, "1": 44},
        temperature_celsius=62.0,
        temperature_threshold_celsius={"shutdown": 100, "slowdown": 97, "max_operating": 90},
        persistence_mode=False,
    )
    return holding(_named(node, "Intel Core i9-14900K", "6.12.10-arch1-1", "rolling"), 12)


def guest_of_l4() -> Tree:
    """A guest of a cloud with one L4 and volumes of its network, driver 550."""
    node = with_cards(
        {"03": "00"},
        "550.90.07",
        "12.4",
        GDDR_LACKS,
        name="NVIDIA L4",
        architecture="ada",
        **memory(22, 16),
        **power(72.0, 40.0, 57.0),
        **clocks(1.56e9, 2.04e9, 6.251e9),
        **bus(4),
        temperature_celsius=58.0,
        temperature_threshold_celsius={"shutdown": 91, "slowdown": 88, "max_operating": 85},
    )
    node = in_a_cloud(node)
    node["Network"]["interfaces"] = {
        "ens4": nic("ens4", driver="gve", mtu=1460, pci_bus_id="0000:00:04.0")
    }
    return holding(_named(node, "Intel Xeon 2.20GHz", "6.1.0-29-cloud-amd64", "12"), 16)


def web_worker() -> Tree:
    """A worker of a cluster without cards: a bond of two bnxt ports, pods on an NVMe disk."""
    node = _named(processors_only(), "AMD EPYC 9454", "5.14.0-427.42.1.el9_4", "9.4")
    ports = {
        f"ens1f{n}np{n}": nic(
            f"ens1f{n}np{n}",
            driver="bnxt_en",
            pci_bus_id=f"0000:5c:00.{n}",
            speed_bytes_per_second=3.125e9,
            peers_up=1,
            link_was_up=True,
        )
        for n in (0, 1)
    }
    bond = nic("bond0", driver="bonding", pci_bus_id=None, speed_bytes_per_second=6.25e9)
    node["Network"]["interfaces"] = {"bond0": bond, **ports}
    node["Filesystems"]["filesystems"] = {
        "/": filesystem("/dev/nvme0n1p3", "/", "xfs"),
        "/var/lib/containers": filesystem("/dev/nvme1n1", "/var/lib/containers", "xfs"),
    }
    return _supplied(node, 2, 262.0)


def backup_server() -> Tree:
    """A server of backups: eight SAS disks as one RAID 6 behind an adapter, ports of ixgbe."""
    node = _named(processors_only(), "Xeon Silver 4309Y", "6.1.0-27-amd64", "12")
    letters = "abcdefgh"
    for target, letter in enumerate(letters):
        node["Disks"]["disks"][f"sd{letter}"] = disk(
            f"sd{letter}",
            transport="sas",
            rotational=True,
            scsi_address=f"0:0:{target}:0",
            scsi_state="running",
            size_bytes=12_000_138_625_024,
        )
    slaves = [f"sd{letter}" for letter in letters]
    node["Disks"]["disks"]["md5"] = disk("md5", transport="md", slaves=slaves)
    whole = {"failed_disks": 0, "spare_disks": 0, "missing_disks": 0}
    array = {"device": "md5", "state": "active", "level": "raid6", "active_disks": 8, **whole}
    node["MdArrays"] = {"arrays": {"md5": array}}
    store = filesystem("/dev/md5", "/backup", "xfs", size_bytes=72 * 10**12)
    store |= {"free_bytes": 21 * 10**12, "available_bytes": 21 * 10**12}
    node["Filesystems"]["filesystems"]["/backup"] = store
    port = nic("eno1", driver="ixgbe", mtu=1500, pci_bus_id="0000:5c:00.0")
    node["Network"]["interfaces"] = {"eno1": {**port, "speed_bytes_per_second": 1.25e9}}
    return _supplied(node, 2, 340.0)


def database_server() -> Tree:
    """A server of a database: ext4 on one NVMe disk, its journal on another, two ports of ice."""
    node = _named(processors_only(), "Xeon Gold 6544Y", "6.8.0-51-generic", "24.04")
    node["Network"]["interfaces"] = {
        f"enp92s0f{n}": nic(
            f"enp92s0f{n}",
            driver="ice",
            pci_bus_id=f"0000:5c:00.{n}",
            peers_up=1,
            link_was_up=True,
        )
        for n in (0, 1)
    }
    node["Filesystems"]["filesystems"] = {
        "/": filesystem("/dev/nvme0n1p2", "/", "ext4"),
        "/srv/pg": filesystem("/dev/nvme1n1p1", "/srv/pg", "ext4"),
    }
    return _supplied(node, 2, 385.0)


def boot_server() -> Tree:
    """A server of builds: its system on a SATA disk, its work on an NVMe disk."""
    node = _named(processors_only(), "AMD EPYC 7302P", "5.15.0-131-generic")
    node["Disks"]["disks"]["sda"] = disk(
        "sda",
        transport="sata",
        scsi_address="3:0:0:0",
        scsi_state="running",
        size_bytes=480_103_981_056,
    )
    node["Filesystems"]["filesystems"] = {
        "/": filesystem("/dev/sda2", "/", "ext4"),
        "/build": filesystem("/dev/nvme1n1", "/build", "btrfs", files=None, files_free=None),
    }
    return _supplied(node, 2, 205.0)
