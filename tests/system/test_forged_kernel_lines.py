"""What this very kernel prints when users of the node choose names and prefixes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.collectors.kernel_log.kmsg import READ_BYTES, KmsgReader
from tests.collectors.kernel_log.feeding import pipeline

LOG_ALL = Path("/proc/sys/net/netfilter/nf_log_all_netns")
MEMORY = Path("/sys/fs/cgroup/memory")
CPUSET = Path("/sys/fs/cgroup/cpuset")
GROUP = "shutting down filesystem"
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the kernel log is read by root only")

PACKETS = f"""
ip link set lo up
nft -f - <<END
table inet t {{
 chain sent {{ type filter hook output priority 0; log prefix "{XID}"
 }}
 chain received {{ type filter hook input priority 0; log prefix "{XID}" flags all
 }}
}}
END
"$0" -c 'import socket
for kind, host in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"):
    socket.socket(kind, socket.SOCK_DGRAM).sendto(b"x", (host, 9))'
"""
OUT_OF_MEMORY = """
import os, sys
for folder in sys.argv[1:]:
    open(folder + "/cgroup.procs", "w").write(str(os.getpid()))
open("/proc/self/comm", "w").write("XFS (sda1): A")
bytearray(200 << 20)
"""


@pytest.fixture
def log() -> Iterator[int]:
    """The device, behind all that it holds."""
    device = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(device, 0, os.SEEK_END)
    yield device
    os.close(device)


def kinds_of(log: int) -> tuple[dict[str, int], int]:
    """The events of what was printed since, and how many records were told from a driver's."""
    taker = pipeline()
    KmsgReader(lambda: os.read(log, READ_BYTES), taker).pump(10_000)
    taker.settle()
    return dict(taker.counters.kinds), taker.counters.rejected["foreign"]


@pytest.fixture
def _all_networks_are_logged() -> Iterator[None]:
    if not LOG_ALL.exists() or not all(map(shutil.which, ("nft", "ip", "unshare"))):
        pytest.skip("nftables, iproute2 or nf_log_syslog is not there")
    before = LOG_ALL.read_text()
    LOG_ALL.write_text("1")
    yield
    LOG_ALL.write_text(before)


@pytest.mark.usefixtures("_all_networks_are_logged")
def test_a_prefix_of_netfilter_is_no_xid(log: int) -> None:
    """Packets of IPv4 and IPv6, sent and received, with an Xid as the prefix of their rule."""
    command = ["unshare", "-n", "bash", "-ec", PACKETS, sys.executable]
    subprocess.run(command, check=True, timeout=30)
    kinds, foreign = kinds_of(log)
    assert "xid" not in kinds
    assert foreign >= 4


@pytest.fixture
def groups() -> Iterator[list[Path]]:
    """Groups with a hostile name: one with little memory, one of processors."""
    folders = [MEMORY / GROUP, CPUSET / GROUP]
    limit = folders[0] / "memory.limit_in_bytes"
    if not MEMORY.exists() or not CPUSET.exists():
        pytest.skip("memory and cpuset are no hierarchies of cgroup v1")
    for folder in folders:
        folder.mkdir()
    limit.write_text(str(32 << 20))
    for name in ("cpuset.cpus", "cpuset.mems"):
        (folders[1] / name).write_text((CPUSET / name).read_text())
    yield folders
    for folder in folders:
        folder.rmdir()


def test_a_kill_in_a_group_with_a_hostile_name_is_a_kill(log: int, groups: list[Path]) -> None:
    """The name of a process and that of a group make no fault of a filesystem."""
    command = [sys.executable, "-c", OUT_OF_MEMORY, *map(str, groups)]
    ended = subprocess.run(command, check=False, timeout=60)
    assert ended.returncode == -9
    kinds, _ = kinds_of(log)
    assert kinds == {"oom_invoked": 1, "oom_kill": 1}
