"""Events of the kernel, for real: a wire that loses packets, a disk that is read and written."""

import mmap
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.ebpf.traced_events import TracedEventsSource
from exporter.collectors.workloads.cgroup_ids import ROOTS
from exporter.config import Config
from exporter.config.ebpf import Ebpf
from exporter.reading.source import SourceAbsent
from tests.fakes.source_context import source_context
from tests.program import Program, wait_for

LOSES = """table inet lossy {
  chain input {
    type filter hook input priority 0
    tcp dport 5201 numgen random mod 100 < 3 drop
  }
}
"""
RECEIVE = """
import socket
server = socket.create_server(("10.213.77.2", 5201))
print("ready", flush=True)
for _ in range(8):
    connection, _ = server.accept()
    while connection.recv(1 << 20):
        pass
"""
SEND = """
import socket, sys, time
for _ in range(8):
    connection = socket.create_connection(("10.213.77.2", 5201))
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        connection.send(b"x" * 65536)
    connection.close()
sys.stdin.read()
"""
"""It lives until its name has been read, however late that is; the kernel may skip an opening."""

RETRANSMITS = re.compile(
    r'^hw_tcp_retransmits_total\{.*container="hw-test-sender.service",process="([^"]*)"\} (\d+)$',
    re.MULTILINE,
)
REQUESTS = re.compile(
    r'^hw_disk_latency_seconds_count\{.*device="([^"]+)",operation="(read|write)"\} (\d+)$',
    re.MULTILINE,
)
PRINTED_SECS = 7.0
"""What has happened is on the page after so long: two ticks, a look, a collection, and spare."""

PLACE = {"read": 0, "write": 4}
"""Where completed requests are in /sys/block/*/stat."""


class Wire:
    """Two network namespaces, joined by a wire on which one of 33 packets to the second is lost."""

    def __init__(self) -> None:
        self.sender, self.receiver = (f"hwtest{os.getpid()}{side}" for side in "ab")
        self._running: list[subprocess.Popen[str]] = []

    def lay(self) -> None:
        """Make it; needs root, iproute2 and nftables."""
        near, far = f"hwa{os.getpid()}", f"hwb{os.getpid()}"
        for name in (self.sender, self.receiver):
            _run("ip", "netns", "add", name)
        _run("ip", "link", "add", near, "netns", self.sender, "type", "veth", "peer", "name", far,
             "netns", self.receiver)  # fmt: skip
        for name, link, host in ((self.sender, near, 1), (self.receiver, far, 2)):
            _run("ip", "-n", name, "addr", "add", f"10.213.77.{host}/24", "dev", link)
            _run("ip", "-n", name, "link", "set", link, "up")
        _run("ip", "netns", "exec", self.receiver, "nft", "-f", "-", given=LOSES)

    def take_away(self) -> None:
        """Undo it, and end what runs at its ends."""
        for program in self._running:
            program.kill()
            program.communicate()
        for name in (self.sender, self.receiver):
            subprocess.run(["ip", "netns", "del", name], check=False)

    def start(self, place: str, script: str, unit: Path | None = None) -> "subprocess.Popen[str]":
        """Start a Python program at one end, in a cgroup."""
        command = ["ip", "netns", "exec", place, sys.executable, "-c", script]
        if unit is not None:  # now: `ip netns exec` hides cgroups
            command = ["sh", "-c", f'echo $$ > {unit}/cgroup.procs; exec "$@"', "sh", *command]
        self._running.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        return self._running[-1]

    def retransmitted(self) -> int:
        """What the kernel of the sender says: RetransSegs."""
        text = _run("ip", "netns", "exec", self.sender, "cat", "/proc/net/snmp")
        names, numbers = (line.split() for line in text.splitlines() if line.startswith("Tcp:"))
        return int(numbers[names.index("RetransSegs")])


def _run(*words: str, given: str | None = None) -> str:
    return subprocess.run(words, input=given, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def wire() -> Iterator[Wire]:
    """A wire that loses packets."""
    if not (shutil.which("ip") and shutil.which("nft")):
        pytest.skip("iproute2 and nftables are not installed")
    wire = Wire()
    try:
        wire.lay()
        yield wire
    finally:
        wire.take_away()


@pytest.fixture
def unit() -> Iterator[Path]:
    """A cgroup v2 as systemd makes it for a unit."""
    mounts = [Path("/sys") / root for root in ROOTS]
    mounted = next((root for root in mounts if (root / "cgroup.procs").exists()), None)
    if mounted is None:
        pytest.skip("cgroup v2 is not mounted")
    folder = mounted / "hw-test-sender.service"
    folder.mkdir()
    yield folder
    wait_for(lambda: not (folder / "cgroup.procs").read_text(), "the sender to end")
    folder.rmdir()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """The program, counting events of the kernel."""
    wanted = {"enabled": True, "layers": [], "kernel_events": ["tcp_retransmits", "disk_latency"]}
    changes: dict[str, dict[str, Any]] = {"metrics": {"collect_interval_secs": 1}, "ebpf": wanted}
    with Program(tmp_path / "exporter", changes) as program:
        yield program


def _counting(program: Program) -> str | None:
    """A page with requests to disks: both kinds are attached to at once."""
    page = program.get("/metrics").text
    (Path("/var/tmp") / f"hwtest{os.getpid()}").write_text("x")
    os.sync()
    return page if REQUESTS.search(page) else None


def test_retransmits_are_those_of_the_sender(unit: Path, wire: Wire, program: Program) -> None:
    """By cgroup as many segments as the kernel itself counts, within 5 %; by process most."""
    wait_for(lambda: _counting(program), "the program to be attached", 60)
    receiver = wire.start(wire.receiver, RECEIVE)
    assert receiver.stdout is not None
    receiver.stdout.readline()
    wire.start(wire.sender, SEND, unit)
    receiver.communicate(timeout=60)
    own = wire.retransmitted()
    assert own > 100

    def all_counted() -> dict[str, int] | None:
        found = {name: int(n) for name, n in RETRANSMITS.findall(program.get("/metrics").text)}
        return found if sum(found.values()) >= own * 0.95 else None

    found = wait_for(all_counted, "the retransmits to be counted")
    assert sum(found.values()) == pytest.approx(own, rel=0.05)
    assert set(found) <= {Path(sys.executable).name, ""}
    assert found[Path(sys.executable).name] > own / 2


def _requests(program: Program) -> dict[tuple[str, str], int]:
    found = REQUESTS.findall(program.get("/metrics").text)
    return {(device, operation): int(count) for device, operation, count in found}


def _own_counts(disks: set[str]) -> dict[tuple[str, str], int]:
    """Completed requests, as the kernel counts them."""
    found = {}
    for disk in disks:
        numbers = (Path("/sys/block") / disk / "stat").read_text().split()
        found.update({(disk, operation): int(numbers[at]) for operation, at in PLACE.items()})
    return found


def test_requests_to_disks_are_counted(program: Program) -> None:
    """As many as /sys/block says have completed, and each took some time."""
    wait_for(lambda: _counting(program), "the program to be attached", 60)
    place = Path("/var/tmp") / f"hwtest{os.getpid()}"
    disks = {device for device, _ in _requests(program)}
    long_before = _own_counts(disks)
    time.sleep(PRINTED_SECS)
    before = _requests(program)
    own_before = _own_counts(disks)  # after the page: what is counted began before
    block = mmap.mmap(-1, 65536)  # O_DIRECT wants whole pages
    file = os.open(place, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    try:
        for number in range(500):
            os.pwrite(file, block, number * 65536)
        for number in range(500):
            os.preadv(file, [block], number * 65536)
    finally:
        os.close(file)
        place.unlink()
    own = _own_counts(disks)
    assert max(own[key] - own_before[key] for key in own) >= 500

    def counted() -> dict[tuple[str, str], float]:
        found = _requests(program)
        return {key: found.get(key, 0) - before.get(key, 0) for key in own}

    def are_all_counted() -> bool:
        return all(counted()[key] >= (own[key] - own_before[key]) * 0.98 - 5 for key in own)

    wait_for(are_all_counted, "all requests to be counted", 60)
    found, own_after = counted(), _own_counts(disks)
    for key in own:
        assert found[key] <= (own_after[key] - long_before[key]) * 1.02 + 5


async def test_what_the_kernel_cannot_count_is_absent_with_the_reason(tmp_path: Path) -> None:
    """The tracepoint that is missing is named."""
    settings = Ebpf(enabled=True, kernel_events=("disk_latency",))
    ctx = source_context(replace(Config(), ebpf=settings))
    source = TracedEventsSource(ctx, tmp_path)
    with pytest.raises(SourceAbsent, match="no tracepoint block:block_rq_issue"):
        await source.read()
    await source.close()
