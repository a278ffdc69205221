"""Small /proc, /sys and / trees of invented hosts, to read in the place of the real ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fakes import host_devices, host_proc


@dataclass(frozen=True, slots=True)
class HostTree:
    """The roots of one host under a scratch folder; `proc`, `sys` and `host` are its roots."""

    folder: Path

    @property
    def proc(self) -> Path:
        """In the place of /proc."""
        return self.folder / "proc"

    @property
    def sys(self) -> Path:
        """In the place of /sys."""
        return self.folder / "sys"

    @property
    def host(self) -> Path:
        """In the place of /."""
        return self.folder / "root"

    @property
    def roots(self) -> dict[str, str]:
        """The keys of the section `sources` by which a program reads this tree."""
        return {
            "proc_root": str(self.proc),
            "sys_root": str(self.sys),
            "host_root": str(self.host),
        }

    def write(self, files: Mapping[str, str]) -> None:
        """Write files by their real absolute path, as `/proc/uptime`."""
        for path, text in files.items():
            target = self.at(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def link(self, links: Mapping[str, str]) -> None:
        """Make symbolic links by their real absolute path to the given (relative) targets."""
        for path, target in links.items():
            place = self.at(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)

    def at(self, path: str) -> Path:
        """Where in the tree the file of this real absolute path is."""
        first, _, rest = path.removeprefix("/").partition("/")
        if first in ("proc", "sys"):
            return self.folder / first / rest
        return self.host / path.removeprefix("/")

    def remove(self, path: str) -> None:
        """Take one file away."""
        self.at(path).unlink()


OS_RELEASE = """NAME="Ubuntu"
VERSION_ID="22.04"
VERSION="22.04.5 LTS (Jammy Jellyfish)"
ID=ubuntu
ID_LIKE=debian
PRETTY_NAME="Ubuntu 22.04.5 LTS"
"""


def cpu_node(folder: Path, cpus: int = 4) -> HostTree:
    """A host without a GPU: one disk, one network card, one memory controller, `cpus` threads.

    Two threads share a core; all cores are in one socket and one NUMA node.
    """
    tree = HostTree(folder)
    tree.write(host_proc.files(cpus=cpus, memory_kib=16 * 1024 * 1024))
    tree.write(
        {
            "/etc/os-release": OS_RELEASE,
            "/etc/hostname": "node-1\n",
            "/etc/machine-id": "5a0c0ffee5a0c0ffee5a0c0ffee5a0c0\n",
        }
    )
    tree.write(host_devices.processors(cpus, sockets=1))
    tree.write(host_devices.memory_controllers(1))
    _plug(tree, host_devices.network_card("eth0", bus=0x04))
    tree.write(host_devices.virtual_interfaces("lo", "veth12"))
    _plug(tree, host_devices.nvme_disk("nvme0", bus=0x06))
    return tree


SERVICES = ("containerd", "kubelet", "nvidia-fabricmanager", "nvidia-persistenced")
"""Services that run on a GPU node, as `tests.fakes.system_bus` tells of them."""


def gpu_node(folder: Path, gpus: int = 8, ports: int = 8) -> HostTree:
    """A host with two sockets and up to eight GPUs, each behind a switch.

    So many of the switches have an InfiniBand port too. The GPUs are at the bus ids of the capture
    `h100x8`.
    """
    tree = HostTree(folder)
    tree.write(host_proc.files(cpus=16, memory_kib=2 * 1024**3))
    tree.write(
        {
            "/etc/os-release": OS_RELEASE,
            "/etc/hostname": "gpu-node-1\n",
            "/etc/machine-id": "6b0c0ffee6b0c0ffee6b0c0ffee6b0c0\n",
            "/proc/driver/nvidia/version": host_proc.NVIDIA_VERSION,
            "/dev/nvidiactl": "",
            **{f"/run/units/{name}": "active running enabled" for name in SERVICES},
        }
    )
    tree.write(host_devices.processors(16, sockets=2))
    tree.write(host_devices.memory_controllers(2))
    _plug(tree, host_devices.network_card("eth0", bus=0x04))
    tree.write(host_devices.virtual_interfaces("lo", "veth12"))
    _plug(tree, host_devices.nvme_disk("nvme0", bus=0x06))
    for number, bus in enumerate(host_devices.GPU_BUSES[:gpus]):
        _plug(tree, host_devices.gpu_behind_switch(number, bus))
        if number < ports:
            _plug(tree, host_devices.infiniband_card(number, bus))
    return tree


def minimal(folder: Path) -> HostTree:
    """The least that a kernel shows: stat, meminfo and uptime."""
    tree = HostTree(folder)
    everything = host_proc.files(cpus=2, memory_kib=1024 * 1024)
    tree.write({path: everything[path] for path in ("/proc/stat", "/proc/meminfo", "/proc/uptime")})
    (tree.sys / "devices").mkdir(parents=True)
    tree.host.mkdir(parents=True)
    return tree


def _plug(tree: HostTree, device: host_devices.Device) -> None:
    tree.write(device.files)
    tree.link(device.links)
