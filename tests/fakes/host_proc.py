"""The texts of an invented /proc."""

NVIDIA_VERSION = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
    "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
)


def stat(cpus: int, user: int = 10_000, idle: int = 80_000, iowait: int = 1_000) -> str:
    """/proc/stat with these ticks (1/100 s) on each of the processors."""
    times = [user, 20, 3_000, idle, iowait, 0, 200, 10, 0, 0]
    lines = ["cpu  " + " ".join(str(ticks * cpus) for ticks in times)]
    lines += [f"cpu{cpu} " + " ".join(map(str, times)) for cpu in range(cpus)]
    return "\n".join(
        [
            *lines,
            "intr 123456789 0 9 0",
            "ctxt 987654321",
            "btime 1700000000",
            "processes 40321",
            "procs_running 3",
            "procs_blocked 1",
            "softirq 4000 1 2 3 4 5 6 7 8 9 10",
            "",
        ]
    )


def meminfo(total_kib: int) -> str:
    """/proc/meminfo of a host that uses half of its memory."""
    rows = {
        "MemTotal": total_kib,
        "MemFree": total_kib // 4,
        "MemAvailable": total_kib // 2,
        "Buffers": 20_480,
        "Cached": total_kib // 5,
        "SwapCached": 0,
        "Active": total_kib // 3,
        "Inactive": total_kib // 6,
        "SwapTotal": 2_097_148,
        "SwapFree": 2_000_000,
        "Dirty": 512,
        "Writeback": 64,
        "AnonPages": total_kib // 4,
        "Mapped": 102_400,
        "Shmem": 4_096,
        "Slab": 204_800,
        "SReclaimable": 153_600,
        "SUnreclaim": 51_200,
    }
    lines = [f"{name + ':':<16}{value:>10} kB" for name, value in rows.items()]
    lines += ["HugePages_Total:      16", "HugePages_Free:        8", "Hugepagesize:       2048 kB"]
    return "\n".join(lines) + "\n"


def cpuinfo(cpus: int) -> str:
    """/proc/cpuinfo of an x86 server."""
    return "".join(
        f"processor\t: {cpu}\n"
        "vendor_id\t: GenuineIntel\n"
        "model name\t: Intel(R) Xeon(R) Platinum 8480C\n"
        "cpu MHz\t\t: 2000.000\n"
        f"physical id\t: 0\ncore id\t\t: {cpu // 2}\n\n"
        for cpu in range(cpus)
    )


NET_DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 8400000    9000    0    0    0     0          0         0  8400000    9000    0    0    0     0       0          0
  eth0: 913240021 8120334  2    5    0     1          0     40213 512340012 6120991    1    3    0     0       2          0
veth12: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0
"""  # noqa: E501 - the kernel writes these lines so long

NET_SNMP = """Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 4021 3011 120 33 41 8123001 9212001 4123 0 911 0
"""  # noqa: E501 - as above

NET_NETSTAT = """TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts
TcpExt: 0 7 9 120
"""

SOFTNET = """00012d5c 00000003 00000011 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
0000f321 00000000 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
"""  # noqa: E501 - as above

DISKSTATS = """ 259       0 nvme0n1 120034 33 9120334 40123 98120 44021 12120334 88123 2 71234 128246 0 0 0 0 1200 900
 259       1 nvme0n1p1 120000 33 9120000 40100 98100 44000 12120000 88100 0 71200 128200 0 0 0 0 0 0
   7       0 loop0 50 0 1000 10 0 0 0 0 0 20 10 0 0 0 0 0 0
"""  # noqa: E501 - as above

MDSTAT = """Personalities : [raid1]
md0 : active raid1 nvme1n1p2[1] nvme0n1p2[0](F)
      976630464 blocks super 1.2 [2/1] [_U]

unused devices: <none>
"""

VMSTAT = """nr_free_pages 1048576
pswpin 120
pswpout 240
pgmajfault 4321
oom_kill 2
"""

MOUNTINFO = """22 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
28 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw
31 28 0:26 / /run rw,nosuid,nodev shared:5 - tmpfs tmpfs rw,size=1638400k
40 28 0:40 / /data rw,relatime shared:20 - nfs4 storage:/export rw,vers=4.2
"""

PRESSURE_SOME = "some avg10=0.12 avg60=0.30 avg300=0.21 total=9120334\n"
PRESSURE_FULL = "full avg10=0.02 avg60=0.10 avg300=0.05 total=1200012\n"

INTERRUPTS = """            CPU0       CPU1
   1:          9          0  IR-IO-APIC    1-edge      i8042
 MCE:          0          0   Machine check exceptions
 MCP:        120        121   Machine check polls
 TRM:          3          1   Thermal event interrupts
"""


def files(cpus: int, memory_kib: int) -> dict[str, str]:
    """Every file of the tree by its absolute path."""
    return {
        "/proc/stat": stat(cpus),
        "/proc/meminfo": meminfo(memory_kib),
        "/proc/cpuinfo": cpuinfo(cpus),
        "/proc/uptime": "86400.52 300000.10\n",
        "/proc/loadavg": "1.25 0.98 0.76 3/812 40321\n",
        "/proc/version": "Linux version 5.15.0-185-generic (buildd@host) #195 SMP\n",
        "/proc/interrupts": INTERRUPTS,
        "/proc/vmstat": VMSTAT,
        "/proc/diskstats": DISKSTATS,
        "/proc/mdstat": MDSTAT,
        "/proc/pressure/cpu": PRESSURE_SOME,
        "/proc/pressure/memory": PRESSURE_SOME + PRESSURE_FULL,
        "/proc/pressure/io": PRESSURE_SOME + PRESSURE_FULL,
        "/proc/pressure/irq": PRESSURE_FULL,
        "/proc/sys/kernel/hostname": "node-1\n",
        "/proc/sys/kernel/osrelease": "5.15.0-185-generic\n",
        "/proc/sys/kernel/ostype": "Linux\n",
        "/proc/sys/kernel/pid_max": "4194304\n",
        "/proc/sys/kernel/threads-max": "127012\n",
        "/proc/sys/kernel/random/boot_id": "0f1e2d3c-0000-4000-8000-0123456789ab\n",
        "/proc/sys/fs/file-nr": "3104\t0\t9223372036854775807\n",
        "/proc/sys/net/netfilter/nf_conntrack_count": "212\n",
        "/proc/sys/net/netfilter/nf_conntrack_max": "262144\n",
        **_first_process(),
    }


def _first_process() -> dict[str, str]:
    """What belongs to pid 1: its name, its mounts, and the network namespace it is in."""
    network = {
        "dev": NET_DEV,
        "snmp": NET_SNMP,
        "netstat": NET_NETSTAT,
        "softnet_stat": SOFTNET,
    }
    return {
        "/proc/1/comm": "systemd\n",
        "/proc/1/cgroup": "0::/init.scope\n",
        "/proc/1/stat": process_stat(1, "systemd"),
        "/proc/1/mountinfo": MOUNTINFO,
        **{f"/proc/1/net/{name}": text for name, text in network.items()},
        **{f"/proc/net/{name}": text for name, text in network.items()},
    }


def process_stat(pid: int, name: str, state: str = "S", started_ticks: int = 100) -> str:
    """/proc/PID/stat of a process in this state, started so many ticks after boot."""
    before = f"{pid} ({name}) {state} 0 {pid} {pid} 0 -1 4194560 0 0 0 0 10 20 0 0 20 0 1 0"
    return f"{before} {started_ticks} 10000000 2500 18446744073709551615" + " 0" * 27 + "\n"


def process(pid: int, name: str, cgroup: str, state: str = "S") -> dict[str, str]:
    """The world-readable files of a process: stat, comm, cgroup, cmdline."""
    return {
        f"/proc/{pid}/stat": process_stat(pid, name, state),
        f"/proc/{pid}/comm": f"{name}\n",
        f"/proc/{pid}/cgroup": f"0::{cgroup}\n",
        f"/proc/{pid}/cmdline": f"{name}\0--flag\0",
    }
