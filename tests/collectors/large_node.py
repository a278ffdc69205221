"""A large server without GPUs: two sockets, 256 threads, sixteen modules, eleven cards."""

from pathlib import Path

from tests.fakes import host_devices, host_proc
from tests.fakes.host_tree import HostTree, cpu_node

INTERFACES = ("eth0", "eth1", "eth2", "eth3")
DISKS = ("nvme0", "nvme1", "nvme2", "nvme3", "nvme4", "nvme5")
MOUNTPOINTS = ("/", "/boot", "/boot/efi", "/var", "/home", "/data0", "/data1", "/data2")
SENSORS_OF_A_CARD = 3


def large_node(folder: Path) -> HostTree:
    """The server; two of its network cards have never been used."""
    tree = cpu_node(folder)
    tree.write(host_devices.processors(256, sockets=2))
    tree.write(host_devices.memory_controllers(8))
    kernel_threads = host_proc.process_stat(2, "kthreadd")
    tree.write({"/proc/stat": host_proc.stat(256), "/proc/2/stat": kernel_threads})
    _cards(tree)
    _sensors(tree)
    _mounts(tree)
    return tree


def _cards(tree: HostTree) -> None:
    dev = host_proc.SAME["/proc/1/net/dev"].splitlines(keepends=True)
    stats = []
    for number, name in enumerate(INTERFACES):
        if number:
            device = host_devices.network_card(name, bus=0x40 + number)
            tree.write(device.files)
            tree.link(device.links)
            used = "1 " * 16 if number < 2 else "0 " * 16
            dev.append(f"  {name}: {used}\n")
        if number >= 2:
            tree.write({f"/sys/class/net/{name}/operstate": "down\n"})
    for number, name in enumerate(DISKS):
        if number:
            device = host_devices.nvme_disk(name, bus=0x60 + number)
            tree.write(device.files)
            tree.link(device.links)
        stats.append(f" 259 0 {name}n1 120034 33 9120334 40123 98120 44021 12120334 88123 2 7 8\n")
    tree.write({"/proc/1/net/dev": "".join(dev), "/proc/diskstats": "".join(stats)})


def _sensors(tree: HostTree) -> None:
    """Two processors with 64 cores each, and three temperatures on each card."""
    files: dict[str, str] = {}
    for socket in range(2):
        chip = f"/sys/class/hwmon/hwmon{10 + socket}"
        files |= {f"{chip}/name": "coretemp\n"}
        for core in range(65):
            label = f"Core {core}" if core else f"Package id {socket}"
            files |= _temperature(f"{chip}/temp{core + 1}", label)
    for number in range(len(DISKS) + len(INTERFACES)):
        chip = f"/sys/class/hwmon/hwmon{20 + number}"
        files |= {f"{chip}/name": "nvme\n"}
        for sensor in range(SENSORS_OF_A_CARD):
            files |= _temperature(f"{chip}/temp{sensor + 1}", f"Sensor {sensor}")
    for socket in range(2):
        for part, name in (("", f"package-{socket}"), (":0", "dram")):
            zone = f"/sys/class/powercap/intel-rapl:{socket}{part}"
            files |= {f"{zone}/name": f"{name}\n", f"{zone}/energy_uj": "5\n"}
    tree.write(files)


def _temperature(path: str, label: str) -> dict[str, str]:
    return {
        f"{path}_input": "45000\n",
        f"{path}_label": f"{label}\n",
        f"{path}_max": "85000\n",
        f"{path}_crit": "95000\n",
    }


def _mounts(tree: HostTree) -> None:
    lines = []
    for number, mountpoint in enumerate(MOUNTPOINTS):
        (tree.host / mountpoint.removeprefix("/")).mkdir(parents=True, exist_ok=True)
        lines.append(
            f"2{number} 1 259:{number} / {mountpoint} rw - ext4 /dev/nvme0n1p{number} rw\n"
        )
    tree.write({"/proc/1/mountinfo": "".join(lines)})
