"""The files of the simulated host around the GPUs: processors, memory, disks, network."""

import math
from collections.abc import Iterator

from exporter.collectors.demo.node import DemoNode
from exporter.collectors.demo.script import SLOW_DISK, SLOW_DISK_NAME

THREADS = 64
TICKS_PER_SEC = 100
MEMORY_KIB = 1024 * 2**20
SYSTEM_DISK = "nvme0n1"
DISKS = (SYSTEM_DISK, SLOW_DISK_NAME)
DISK_SECTORS = 7_501_476_528
NETWORKS = ("eth0", "ib0")
BYTES_PER_SECOND = {"eth0": 2.1e8, "ib0": 1.9e10}
SPEED_MEGABITS = {"eth0": 25_000, "ib0": 400_000}
OS_RELEASE = 'NAME="Demo Linux"\nVERSION_ID="1"\n'
MOUNTS = (
    "25 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "40 25 259:5 / /data rw,relatime shared:20 - xfs /dev/nvme1n1 rw\n"
)


class HostFiles:
    """Everything that grows on the host, from its start at this boot time in seconds."""

    def __init__(self, boottime: float) -> None:
        self._before = boottime
        self._busy_secs = 0.0
        self._idle_secs = 0.0
        self._slow_secs = 0.0
        self._awake_secs = 0.0
        self._transferred = dict.fromkeys(NETWORKS, 0.0)

    def at(self, node: DemoNode, boottime: float) -> Iterator[tuple[str, str]]:
        """Name and text of every file at this boot time in seconds."""
        self._grow(node, boottime)
        yield "proc/stat", self._stat()
        yield "proc/uptime", f"{boottime:.2f} {boottime * THREADS * 0.7:.2f}\n"
        yield "proc/loadavg", "21.40 20.90 19.70 22/4123 81244\n"
        yield "proc/meminfo", self._meminfo()
        yield "proc/vmstat", "pswpin 0\npswpout 0\npgmajfault 1200\noom_kill 0\n"
        yield "proc/diskstats", self._diskstats(node)
        yield "proc/net/dev", self._net_dev()
        yield "proc/1/net/dev", self._net_dev()
        yield from self._pressure()
        yield from _unchanging()

    def _grow(self, node: DemoNode, boottime: float) -> None:
        passed = max(0.0, boottime - self._before)
        self._before = boottime
        share = sum(card.percent for card in node.cards) / (100 * len(node.cards))
        is_slow = node.now.of_node(SLOW_DISK) is not None
        busy = THREADS * (0.05 + 0.35 * share)
        self._busy_secs += busy * passed
        self._idle_secs += (THREADS - busy) * passed
        self._awake_secs += passed
        if is_slow:
            self._slow_secs += passed
        for name in NETWORKS:
            self._transferred[name] += BYTES_PER_SECOND[name] * share * passed

    def _stat(self) -> str:
        busy = int(self._busy_secs * TICKS_PER_SEC)
        idle = int(self._idle_secs * TICKS_PER_SEC)
        waited = int(self._slow_secs * TICKS_PER_SEC)
        lines = [f"cpu  {busy} 0 {busy // 9} {idle} {waited} 0 0 0 0 0"]
        each = (busy // THREADS, busy // 9 // THREADS, idle // THREADS, waited // THREADS)
        lines += [f"cpu{n} {each[0]} 0 {each[1]} {each[2]} {each[3]} 0 0 0" for n in range(THREADS)]
        blocked = int(self._slow_secs > 0)
        lines += ["ctxt 1000000", "btime 1700000000", "processes 90000"]
        return "\n".join([*lines, "procs_running 22", f"procs_blocked {blocked}", ""])

    def _meminfo(self) -> str:
        available = MEMORY_KIB * (0.55 + 0.05 * math.sin(self._awake_secs / 300))
        fields = {
            "MemTotal": MEMORY_KIB,
            "MemFree": available * 0.4,
            "MemAvailable": available,
            "Buffers": 2**20,
            "Cached": available * 0.5,
            "SwapTotal": 0,
            "SwapFree": 0,
            "Dirty": 40_000,
            "Writeback": 0,
            "SUnreclaim": 2**20,
        }
        return "".join(f"{name}: {int(kib)} kB\n" for name, kib in fields.items())

    def _diskstats(self, node: DemoNode) -> str:
        is_slow = node.now.of_node(SLOW_DISK) is not None
        lines = []
        for place, name in enumerate(DISKS):
            slow_secs = self._slow_secs if name == SLOW_DISK_NAME else 0.0
            good_secs = self._awake_secs - slow_secs
            reads, writes = int(900 * good_secs), int(400 * good_secs)
            read_ms = int(0.2 * 900 * good_secs)
            io_ms = int(120 * good_secs + 1000 * slow_secs)
            in_flight = 31 if is_slow and slow_secs else 0
            numbers = (reads, 0, reads * 256, read_ms, writes, 0, writes * 128, read_ms // 2)
            tail = (in_flight, io_ms, read_ms + read_ms // 2)
            words = " ".join(str(number) for number in (*numbers, *tail))
            lines.append(f"259 {place} {name} {words}\n")
        return "".join(lines)

    def _net_dev(self) -> str:
        lines = ["Inter-|   Receive  |  Transmit\n", " face |bytes packets errs drop\n"]
        for name in NETWORKS:
            size = int(self._transferred[name])
            half = f"{size} {size // 4096} 0 0 0 0 0 0"
            lines.append(f"{name}: {half} {half}\n")
        return "".join(lines)

    def _pressure(self) -> Iterator[tuple[str, str]]:
        waited = {"cpu": 0.01 * self._busy_secs, "memory": 0.0, "io": self._slow_secs}
        for resource, secs in waited.items():
            micros = int(secs * 1e6)
            text = "".join(
                f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={micros}\n"
                for kind in ("some", "full")
            )
            yield f"proc/pressure/{resource}", text


def _unchanging() -> Iterator[tuple[str, str]]:
    yield "root/etc/os-release", OS_RELEASE
    yield "root/etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n"
    yield "root/data/.keep", ""
    yield "proc/1/mountinfo", MOUNTS
    yield "proc/cpuinfo", "processor: 0\nmodel name: Demo 64-thread processor\n"
    yield "proc/sys/kernel/osrelease", "6.8.0-demo\n"
    yield "proc/sys/kernel/random/boot_id", "d3a0d3a0-0000-4000-8000-000000000001\n"
    for thread in range(THREADS):
        core = thread % (THREADS // 2)
        text = f"{core},{core + THREADS // 2}\n"
        yield f"sys/devices/system/cpu/cpu{thread}/topology/core_cpus_list", text
    for name in DISKS:
        yield f"sys/block/{name}/size", f"{DISK_SECTORS}\n"
        yield f"sys/block/{name}/queue/rotational", "0\n"
        yield f"sys/block/{name}/device/model", "DEMO NVME 3.84TB\n"
    for name in NETWORKS:
        yield f"sys/class/net/{name}/operstate", "up\n"
        yield f"sys/class/net/{name}/speed", f"{SPEED_MEGABITS[name]}\n"
        yield f"sys/class/net/{name}/mtu", "9000\n"
        yield f"sys/class/net/{name}/carrier_changes", "2\n"
        yield f"sys/class/net/{name}/flags", "0x1003\n"
