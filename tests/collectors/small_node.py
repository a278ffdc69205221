"""Single pieces of a node, written into files with the values a test wants."""

from collections.abc import Mapping
from pathlib import Path

NET_DEV_HEAD = """Inter-|   Receive                  |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop
"""


class SmallNode:
    """A folder that stands for a node; every method writes or adds one piece of hardware."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.proc = root / "proc"
        self.sys = root / "sys"
        self._interfaces: list[str] = []
        self._disks: list[str] = []
        self._mounts: list[str] = []
        self.proc.mkdir(parents=True)
        self.sys.mkdir()

    def write(self, path: str, text: str | bytes) -> Path:
        """One file with this text, and the folders above it."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def write_all(self, folder: str, texts: Mapping[str, object]) -> None:
        """Files of one folder, each with its value and a line end, as sysfs has them."""
        for name, text in texts.items():
            self.write(f"{folder}/{name}", f"{text}\n")

    def link(self, path: str, target: str) -> None:
        """A link to another place of the tree."""
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        (self.root / target).mkdir(parents=True, exist_ok=True)
        link.symlink_to(self.root / target)

    def stand_in(self, path: str, file: Path) -> None:
        """This file is read in the place of one that is there."""
        (self.root / path).unlink()
        (self.root / path).symlink_to(file)

    def pressure(self, resource: str) -> None:
        """The pressure on one resource, in microseconds."""
        averages = "avg10=0.25 avg60=12.50 avg300=1.00"
        lines = f"some {averages} total=3500000\nfull {averages} total=1500000\n"
        self.write(f"proc/pressure/{resource}", lines)

    def interface(self, name: str, *, pci: str | None = None, **attributes: object) -> None:
        """A network interface; the numbers are bytes, packets, errors and drops."""
        self._interfaces.append(f"{name}: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n")
        self.write("proc/1/net/dev", NET_DEV_HEAD + "".join(self._interfaces))
        said = {
            "operstate": "up",
            "carrier": 1,
            "speed": 25000,
            "carrier_changes": 2,
            "mtu": 1500,
            "flags": "0x1003",
            **attributes,
        }
        self.write_all(f"sys/class/net/{name}", said)
        if pci is not None:
            device = f"sys/devices/pci0000:00/{pci}"
            self.write(f"{device}/numa_node", "1\n")
            self.link(f"{device}/driver", "sys/bus/pci/drivers/mlx5_core")
            self.link(f"sys/class/net/{name}/device", device)

    def disk(
        self, name: str, numbers: str = "100 1 2000 300 50 2 4000 600 1 700 900", **attributes: str
    ) -> None:
        """A whole disk; the numbers are those of diskstats, the attributes files in sysfs."""
        self._disks.append(f"   8       0 {name} {numbers}\n")
        self.write("proc/diskstats", "".join(self._disks))
        self.write_all(f"sys/block/{name}", {"size": 2048, "queue/rotational": 0, **attributes})

    def mount(
        self,
        mountpoint: str,
        *,
        fstype: str = "ext4",
        device: str = "/dev/sda1",
        number: str = "8:1",
    ) -> None:
        """A mount in the table of process 1."""
        line = f"22 27 {number} / {mountpoint} rw,relatime shared:1 - {fstype} {device} rw\n"
        self._mounts.append(line)
        self.write("proc/1/mountinfo", "".join(self._mounts))
