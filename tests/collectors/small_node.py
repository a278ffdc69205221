"""Single pieces of a node, written into files with the values a test wants."""

from collections.abc import Mapping
from pathlib import Path

STAT = """cpu  100 5 50 800 40 3 2 0 7 0
cpu0 50 2 25 400 20 2 1 0 3 0
cpu1 50 3 25 400 20 1 1 0 4 0
intr 123 0 0
ctxt 456
btime 1700000000
processes 789
procs_running 3
procs_blocked 1
softirq 5 1 2
"""

MEMINFO = """MemTotal:       16384 kB
MemFree:         1024 kB
MemAvailable:    4096 kB
Buffers:           64 kB
Cached:          2048 kB
SwapTotal:       8192 kB
SwapFree:        6144 kB
Dirty:             12 kB
Writeback:          4 kB
SUnreclaim:       256 kB
HugePages_Total:       3
HugePages_Free:        1
Hugepagesize:       2048 kB
"""

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

    def basics(self) -> "SmallNode":
        """Processors, memory, load, uptime: what every node has."""
        self.write("proc/stat", STAT)
        self.write("proc/meminfo", MEMINFO)
        self.write("proc/loadavg", "0.50 1.25 2.00 3/456 7890\n")
        self.write("proc/uptime", "12345.67 23456.78\n")
        self.write(
            "proc/vmstat", "nr_free_pages 9\npswpin 2\npswpout 3\npgmajfault 4\noom_kill 1\n"
        )
        self.write("proc/cpuinfo", "processor : 0\nmodel name : Fake CPU 9000\n")
        self.write("proc/sys/kernel/osrelease", "6.1.0-fake\n")
        for resource in ("cpu", "memory", "io"):
            self.pressure(resource)
        for cpu in range(2):
            folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
            self.write_all(
                folder, {"core_cpus_list": cpu, "physical_package_id": 0, "core_id": cpu}
            )
        return self

    def pressure(self, resource: str, some: int = 3_500_000, full: int = 1_500_000) -> None:
        """The pressure on one resource, in microseconds."""
        averages = "avg10=0.25 avg60=12.50 avg300=1.00"
        lines = f"some {averages} total={some}\nfull {averages} total={full}\n"
        self.write(f"proc/pressure/{resource}", lines)

    def interface(
        self,
        name: str,
        *,
        received: tuple[int, int, int, int] = (1000, 10, 1, 2),
        sent: tuple[int, int, int, int] = (2000, 20, 3, 4),
        pci: str | None = None,
        **attributes: object,
    ) -> None:
        """A network interface; the numbers are bytes, packets, errors and drops."""
        first, last = " ".join(map(str, received)), " ".join(map(str, sent))
        self._interfaces.append(f"{name}: {first} 0 0 0 0 {last} 0 0 0 0\n")
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
        root: str = "/",
        options: str = "rw,relatime",
    ) -> None:
        """A mount in the table of process 1."""
        line = f"22 27 {number} {root} {mountpoint} {options} shared:1 - {fstype} {device} rw\n"
        self._mounts.append(line)
        self.write("proc/1/mountinfo", "".join(self._mounts))
