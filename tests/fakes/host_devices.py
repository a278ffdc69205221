"""The devices of an invented host, as sysfs shows them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.fakes.host_proc import file_texts

GPU_BUSES = (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB)
NVIDIA, MELLANOX, INTEL, SAMSUNG, BROADCOM = "0x10de", "0x15b3", "0x8086", "0x144d", "0x1000"

TABLES = file_texts("host.toml")


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
        }
        contents = {f"{self.folder}/{name}": f"{text}\n" for name, text in files.items()}
        contents |= _files(self.folder, "pci")
        links = {f"/sys/bus/pci/devices/{self.address}": _up(self.folder, 3)}
        if self.driver:
            up = "../" * (len(self.path) + 2)
            links[f"{self.folder}/driver"] = f"{up}bus/pci/drivers/{self.driver}"
            contents[f"/sys/bus/pci/drivers/{self.driver}/uevent"] = ""
        return Device(contents, links)


def _files(folder: str, table: str) -> dict[str, str]:
    """The files of a table of `host.toml` in this folder."""
    return {f"{folder}/{name}": text for name, text in TABLES[table].items()}


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


def infiniband_card(number: int, bus: int) -> Device:
    """The InfiniBand card mlx5_NUMBER behind the same switch as the GPU at this bus."""
    *_, downstream = _switch(bus, number // 4)
    path = (*downstream.path, _address(bus + 1))
    card = Pci(path, MELLANOX, "0x1021", "0x020700", "mlx5_core", numa_node=number // 4)
    name = f"mlx5_{number}"
    folder = f"{card.folder}/infiniband/{name}"
    files = {
        f"{folder}/node_desc": f"gpu-node-1 {name}\n",
        f"{folder}/fw_ver": "28.39.1002\n",
        f"{folder}/hca_type": "MT4129\n",
        **_files(f"{folder}/ports/1", "infiniband_port"),
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
    links = {f"/sys/class/net/{name}": _up(folder, 2), f"{folder}/device": "../.."}
    device = Device(_files(folder, "interface"), links)
    return _joined(iter((port.built(), card.built(), device)))


def virtual_interfaces(*names: str) -> dict[str, str]:
    """Interfaces without hardware behind them, as every host has."""
    folders = (_files(f"/sys/class/net/{name}", "virtual_interface") for name in names)
    return {path: text for files in folders for path, text in files.items()}


def nvme_disk(name: str, bus: int) -> Device:
    """An NVMe controller with one namespace of 3.84 TB and one partition."""
    port = Pci((_address(0, bus),), INTEL, "0x352a", "0x060400", "pcieport")
    path = (*port.path, _address(bus))
    card = Pci(path, SAMSUNG, "0xa80a", "0x010802", "nvme", speed="16.0 GT/s PCIe", width=4)
    controller = f"{card.folder}/nvme/{name}"
    block = f"{controller}/{name}n1"
    files = {
        **_files(controller, "nvme_controller"),
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
