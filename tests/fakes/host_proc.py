"""The texts of an invented /proc; those that are the same on each host are in `host.toml`."""

from pathlib import Path

from exporter.toml import tomllib


def file_texts(name: str) -> dict[str, dict[str, str]]:
    """The files in each table of a data file beside this one, by path; one line gets its end."""
    tables = tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))
    return {
        table: {path: text if text.endswith("\n") else f"{text}\n" for path, text in files.items()}
        for table, files in tables.items()
    }


SAME = file_texts("host.toml")["host"]
"""Files by their absolute path."""

NVIDIA_VERSION = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
    "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
)


def stat(cpus: int) -> str:
    """/proc/stat with the same ticks (1/100 s) on each of so many processors."""
    times = [10_000, 20, 3_000, 80_000, 1_000, 0, 200, 10, 0, 0]
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


def files(cpus: int, memory_kib: int) -> dict[str, str]:
    """Every file of /proc, and the sensors in /sys, by its absolute path."""
    network = {path.replace("/1/", "/"): text for path, text in SAME.items() if "/1/net/" in path}
    return {
        "/proc/stat": stat(cpus),
        "/proc/meminfo": meminfo(memory_kib),
        "/proc/cpuinfo": cpuinfo(cpus),
        "/proc/1/stat": process_stat(1, "systemd"),
        **SAME,
        **network,
    }


def process_stat(pid: int, name: str, state: str = "S") -> str:
    """/proc/PID/stat of a process in this state, started 100 ticks after boot."""
    before = f"{pid} ({name}) {state} 0 {pid} {pid} 0 -1 4194560 0 0 0 0 10 20 0 0 20 0 1 0"
    return f"{before} 100 10000000 2500 18446744073709551615" + " 0" * 27 + "\n"


def process(pid: int, name: str, cgroup: str, state: str = "S") -> dict[str, str]:
    """The world-readable files of a process: stat, comm, cgroup, cmdline."""
    return {
        f"/proc/{pid}/stat": process_stat(pid, name, state),
        f"/proc/{pid}/comm": f"{name}\n",
        f"/proc/{pid}/cgroup": f"0::{cgroup}\n",
        f"/proc/{pid}/cmdline": f"{name}\0--flag\0",
    }
