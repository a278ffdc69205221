"""The devices of an invented host, as sysfs shows them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

GPU_BUSES = (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB)
NVIDIA, MELLANOX, INTEL, SAMSUNG, BROADCOM = "0x10de", "0x15b3", "0x8086", "0x144d", "0x1000"

AER = """RxErr 0
BadTLP 0
BadDLLP 0
Rollover 0
Timeout 0
NonFatalErr 0
CorrIntErr 0
HeaderOF 0
TOTAL_ERR_COR {total}
"""
AER_SEVERE = """Undefined 0
DLP 0
SDES 0
TLP 0
CmpltTO 0
TOTAL_ERR_{kind} 0
"""


@dataclass(frozen=True, slots=True)
class Device:
    """Files and links by absolute path."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pci:
    """One PCI function; `path` is the chain of addresses from the root bus down to it."""

    path: tuple[str, ...]
    vendor: str
    device: str
    class_code: str
    driver: str | None = None
    speed: str = "32.0 GT/s PCIe"
    width: int = 16
    numa_node: int = 0

    @property
    def address(self) -> str:
        """Its own address."""
        return self.path[-1]

    @property
    def folder(self) -> str:
        """Its directory."""
        return "/sys/devices/" + "/".join((f"pci{self.path[0][:7]}", *self.path))

    def built(self) -> Device:
        """Its files, and the links of bus and driver to it."""
        files = {
            "vendor": self.vendor,
            "device": self.device,
            "class": self.class_code,
            "numa_node": str(self.numa_node),
            "current_link_speed": self.speed,
            "max_link_speed": self.speed,
            "current_link_width": str(self.width),
            "max_link_width": str(self.width),
            "power/runtime_status": "active",
        }
        contents = {f"{self.folder}/{name}": f"{text}\n" for name, text in files.items()}
        contents |= {
            f"{self.folder}/aer_dev_correctable": AER.format(total=0),
            f"{self.folder}/aer_dev_nonfatal": AER_SEVERE.format(kind="NONFATAL"),
            f"{self.folder}/aer_dev_fatal": AER_SEVERE.format(kind="FATAL"),
        }
        links = {f"/sys/bus/pci/devices/{self.address}": _up(self.folder, 3)}
        if self.driver:
            up = "../" * (len(self.path) + 2)
            links[f"{self.folder}/driver"] = f"{up}bus/pci/drivers/{self.driver}"
            contents[f"/sys/bus/pci/drivers/{self.driver}/uevent"] = ""
        return Device(contents, links)


def _up(folder: str, levels: int) -> str:
    """A relative link from so many levels below /sys to a directory under /sys."""
    return "../" * levels + folder.removeprefix("/sys/")


def _joined(devices: Iterator[Device]) -> Device:
    whole = Device()
    for device in devices:
        whole.files.update(device.files)
        whole.links.update(device.links)
    return whole


def _address(bus: int, device: int = 0) -> str:
    return f"0000:{bus:02x}:{device:02x}.0"


def _switch(bus: int, numa_node: int) -> Iterator[Pci]:
    """The ports above bus `bus`: the root port, and the switch with two ports downwards."""
    root, upstream = _address(bus - 3, 1), _address(bus - 2)
    yield Pci((root,), INTEL, "0x352a", "0x060400", "pcieport", numa_node=numa_node)
    yield Pci((root, upstream), BROADCOM, "0xc030", "0x060400", "pcieport", numa_node=numa_node)
    for device in (0, 1):
        path = (root, upstream, _address(bus - 1, device))
        yield Pci(path, BROADCOM, "0xc030", "0x060400", "pcieport", numa_node=numa_node)


def gpu_behind_switch(number: int, bus: int) -> Device:
    """The GPU at this bus and every port above it."""
    numa_node = number // 4
    *ports, downstream, _ = _switch(bus, numa_node)
    path = (*downstream.path, _address(bus))
    gpu = Pci(path, NVIDIA, "0x2330", "0x030200", "nvidia", numa_node=numa_node)
    driver = {
        f"/proc/driver/nvidia/gpus/{gpu.address}/information": (
            f"Model: \t\t NVIDIA H100 80GB HBM3\nDevice Minor: \t {number}\n"
        ),
        f"/dev/nvidia{number}": "",
    }
    devices = [pci.built() for pci in (*ports, downstream, gpu)]
    return _joined(iter((*devices, Device(driver))))


IB_COUNTERS = {
    "port_rcv_data": 81_203_400_112,
    "port_xmit_data": 79_120_330_021,
    "port_rcv_packets": 512_330_021,
    "port_xmit_packets": 498_112_003,
    "port_rcv_errors": 0,
    "port_xmit_discards": 0,
    "port_xmit_wait": 1200,
    "symbol_error": 0,
    "link_downed": 0,
    "link_error_recovery": 0,
    "local_link_integrity_errors": 0,
    "excessive_buffer_overrun_errors": 0,
    "VL15_dropped": 0,
    "port_rcv_remote_physical_errors": 0,
    "port_rcv_switch_relay_errors": 0,
    "port_rcv_constraint_errors": 0,
    "port_xmit_constraint_errors": 0,
}
IB_EVENTS = {
    "out_of_sequence": 3,
    "local_ack_timeout_err": 0,
    "packet_seq_err": 1,
    "np_ecn_marked_roce_packets": 0,
    "np_cnp_sent": 0,
    "rp_cnp_handled": 0,
    "rnr_nak_retry_err": 0,
    "roce_adp_retrans": 0,
}


def infiniband_card(number: int, bus: int) -> Device:
    """The InfiniBand card mlx5_NUMBER behind the same switch as the GPU at this bus."""
    *_, downstream = _switch(bus, number // 4)
    path = (*downstream.path, _address(bus + 1))
    card = Pci(path, MELLANOX, "0x1021", "0x020700", "mlx5_core", numa_node=number // 4)
    name = f"mlx5_{number}"
    folder = f"{card.folder}/infiniband/{name}"
    port = f"{folder}/ports/1"
    files = {
        f"{folder}/node_desc": f"gpu-node-1 {name}\n",
        f"{folder}/fw_ver": "28.39.1002\n",
        f"{folder}/hca_type": "MT4129\n",
        f"{port}/state": "4: ACTIVE\n",
        f"{port}/phys_state": "5: LinkUp\n",
        f"{port}/rate": "400 Gb/sec (4X NDR)\n",
        f"{port}/link_layer": "InfiniBand\n",
        **{f"{port}/counters/{key}": f"{value}\n" for key, value in IB_COUNTERS.items()},
        **{f"{port}/hw_counters/{key}": f"{value}\n" for key, value in IB_EVENTS.items()},
    }
    links = {
        f"/sys/class/infiniband/{name}": _up(folder, 2),
        f"{folder}/device": "../..",
    }
    return _joined(iter((downstream.built(), card.built(), Device(files, links))))


def network_card(name: str, bus: int) -> Device:
    """An Ethernet card of 25 Gbit/s, up."""
    port = Pci((_address(0, bus),), INTEL, "0x352a", "0x060400", "pcieport")
    path = (*port.path, _address(bus))
    card = Pci(path, INTEL, "0x159b", "0x020000", "ice", speed="16.0 GT/s PCIe", width=8)
    folder = f"{card.folder}/net/{name}"
    values = {
        "operstate": "up",
        "carrier": "1",
        "carrier_changes": "3",
        "speed": "25000",
        "duplex": "full",
        "mtu": "9000",
        "address": "02:00:00:00:00:01",
        "type": "1",
        "ifindex": "2",
    }
    files = {f"{folder}/{key}": f"{value}\n" for key, value in values.items()}
    links = {f"/sys/class/net/{name}": _up(folder, 2), f"{folder}/device": "../.."}
    return _joined(iter((port.built(), card.built(), Device(files, links))))


def virtual_interfaces(*names: str) -> dict[str, str]:
    """Interfaces without hardware behind them, as every host has."""
    values = {"operstate": "unknown", "carrier": "1", "mtu": "1500", "flags": "0x9"}
    return {
        f"/sys/class/net/{name}/{key}": f"{value}\n"
        for name in names
        for key, value in values.items()
    }


def nvme_disk(name: str, bus: int) -> Device:
    """An NVMe controller with one namespace of 3.84 TB and one partition."""
    port = Pci((_address(0, bus),), INTEL, "0x352a", "0x060400", "pcieport")
    path = (*port.path, _address(bus))
    card = Pci(path, SAMSUNG, "0xa80a", "0x010802", "nvme", speed="16.0 GT/s PCIe", width=4)
    controller = f"{card.folder}/nvme/{name}"
    block = f"{controller}/{name}n1"
    files = {
        f"{controller}/state": "live\n",
        f"{controller}/model": "SAMSUNG MZQL23T8HCLS-00A07              \n",
        f"{controller}/serial": "S64HNE0R000001      \n",
        f"{controller}/firmware_rev": "GDC5602Q\n",
        f"{controller}/transport": "pcie\n",
        f"{controller}/address": f"{card.address}\n",
        f"{block}/size": "7501476528\n",
        f"{block}/queue/rotational": "0\n",
        f"{block}/queue/logical_block_size": "512\n",
        f"{block}/{name}n1p1/partition": "1\n",
        f"{block}/{name}n1p1/size": "7501474480\n",
    }
    links = {
        f"/sys/class/nvme/{name}": _up(controller, 2),
        f"/sys/block/{name}n1": _up(block, 1),
        f"/sys/class/block/{name}n1": _up(block, 2),
        f"{controller}/device": "../..",
        f"{block}/device": "..",
    }
    return _joined(iter((port.built(), card.built(), Device(files, links))))


def processors(cpus: int, sockets: int) -> dict[str, str]:
    """Topology, frequencies and throttle counts; two threads share a core."""
    files = {"/sys/devices/system/cpu/online": f"0-{cpus - 1}\n"}
    for cpu in range(cpus):
        folder = f"/sys/devices/system/cpu/cpu{cpu}"
        pair = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}\n"
        files |= {
            f"{folder}/topology/core_cpus_list": pair,
            f"{folder}/topology/thread_siblings_list": pair,
            f"{folder}/topology/core_id": f"{cpu // 2}\n",
            f"{folder}/topology/physical_package_id": f"{cpu * sockets // cpus}\n",
            f"{folder}/cpufreq/scaling_cur_freq": f"{2_000_000 + cpu * 100_000}\n",
            f"{folder}/cpufreq/cpuinfo_max_freq": "3800000\n",
            f"{folder}/thermal_throttle/core_throttle_count": f"{cpu % 2}\n",
            f"{folder}/thermal_throttle/package_throttle_count": "2\n",
        }
    for node in range(sockets):
        first, last = node * cpus // sockets, (node + 1) * cpus // sockets - 1
        files |= {
            f"/sys/devices/system/node/node{node}/cpulist": f"{first}-{last}\n",
            f"/sys/devices/system/node/node{node}/meminfo": (
                f"Node {node} MemTotal:       8388608 kB\nNode {node} MemFree:        4194304 kB\n"
            ),
        }
    return files


def memory_controllers(count: int) -> dict[str, str]:
    """EDAC controllers with two modules each and no error."""
    files: dict[str, str] = {}
    for controller in range(count):
        folder = f"/sys/devices/system/edac/mc/mc{controller}"
        files |= {
            f"{folder}/mc_name": "Intel Sapphire Rapids\n",
            f"{folder}/ce_count": "0\n",
            f"{folder}/ue_count": "0\n",
            f"{folder}/ce_noinfo_count": "0\n",
            f"{folder}/ue_noinfo_count": "0\n",
        }
        for dimm in range(2):
            files |= {
                f"{folder}/dimm{dimm}/dimm_label": f"CPU{controller}_DIMM_{'AB'[dimm]}1\n",
                f"{folder}/dimm{dimm}/dimm_ce_count": "0\n",
                f"{folder}/dimm{dimm}/dimm_ue_count": "0\n",
                f"{folder}/dimm{dimm}/size": "65536\n",
            }
    return files
