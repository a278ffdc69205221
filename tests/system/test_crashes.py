"""Programs that crash under names of the driver, on the log of the kernel that runs here."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.kernel_log.record import Record, join_lines, parse_syslog
from exporter.collectors.kernel_log.syslog import READ_ALL, SIZE_BUFFER, klogctl
from tests.collectors.kernel_log.feeding import pipeline
from tests.fakes.fixtures import built
from tests.fakes.native import build_crash
from tests.program import Program, wait_for

HARMLESS = b"harmless"
XID = b"Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."
NAMES = (
    # The name of the process, and that of its file; `harmless` is what a tenant would write.
    ("NVRM", "a\nNVRM: harmless"),
    ("NVRM:", "b\nNVRM: harmless"),
    ("NVRM: a", "NVRM: harmless\nNVRM: harmless"),
    ("a\nNVRM: b", "c\n\nNVRM: harmless"),
)
PRINT_SECS = 15.0
"""The kernel prints ten crashes in five seconds at most."""


class Log:
    """What the kernel printed about our crashes, by both ways, as it was read."""

    def __init__(self, records: list[bytes], syslog: bytes) -> None:
        self.records = records
        self.syslog = syslog

    def with_xids(self) -> "Log":
        """The same, with what a tenant would have written."""
        return Log(
            [record.replace(HARMLESS, XID) for record in self.records],
            self.syslog.replace(HARMLESS, XID),
        )


@pytest.fixture(scope="module")
def crashes(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Crash for real under each of the names; skipped where the kernel's log may not be read."""
    folder = tmp_path_factory.mktemp("crash")
    program = built(build_crash) / "crash"
    try:
        device = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        klogctl(SIZE_BUFFER, 0)
    except OSError as error:
        pytest.skip(f"the kernel's log may not be read: {error}")
    os.lseek(device, 0, os.SEEK_END)
    try:
        records = [_crash(program, folder / f"{n}", words, device) for n, words in enumerate(NAMES)]
    finally:
        os.close(device)
    ring = klogctl(READ_ALL, int(klogctl(SIZE_BUFFER, 0)))
    first = ring.find(_stamp(records[0]))
    assert first > 0, "syslog(2) does not show what /dev/kmsg does"
    return Log(records, ring[ring.rfind(b"\n", 0, first) + 1 :])


def _crash(program: Path, folder: Path, words: tuple[str, str], device: int) -> bytes:
    comm, name = words
    folder.mkdir()
    file = folder / name
    shutil.copy(program, file)
    until = time.monotonic() + PRINT_SECS
    while time.monotonic() < until:
        process = subprocess.Popen([file, comm])
        assert process.wait(10) == -signal.SIGSEGV
        for record in _read(device):
            if f"[{process.pid}]: segfault at".encode() in record:
                return record
        time.sleep(1)  # the kernel limits how often it prints crashes
    pytest.skip("this kernel does not print crashes")


def _read(device: int) -> Iterator[bytes]:
    time.sleep(0.05)
    with suppress(BlockingIOError):
        while True:
            yield os.read(device, 16384)


def _stamp(record: bytes) -> bytes:
    micros = int(record.split(b",")[2])
    return f"[{micros // 1_000_000:5d}.{micros % 1_000_000:06d}]".encode()


def kinds(records: list[Record]) -> set[str]:
    """The kinds of the events that these records make."""
    taker = pipeline()
    for record in records:
        taker.take(record)
    taker.settle()
    return set(taker.counters.kinds)


def test_a_crash_is_a_crash_by_syslog_too(crashes: Log) -> None:
    """By syslog(2), where a line feed in a name makes a line of its own."""
    for log in (crashes, crashes.with_xids()):
        assert b"NVRM: " + (XID if log is not crashes else HARMLESS) in log.syslog
        assert kinds(list(join_lines(parse_syslog(log.syslog)))) <= {"segfault"}


def test_the_program_finds_no_lost_gpu_in_it(crashes: Log, tmp_path: Path) -> None:
    """The whole chain: the log of the kernel in a pipe, the program, its page and its faults."""
    pipe = tmp_path / "kmsg"
    os.mkfifo(pipe)
    changes: dict[str, dict[str, Any]] = {
        "kernel_log": {"enabled": True, "path": str(pipe)},
        "metrics": {"collect_interval_secs": 0.5},
    }
    next_sequence = int(crashes.records[-1].split(b",")[1]) + 1
    last = b"4,%d,99000000,-;VFS: file-max limit 7 reached\n" % next_sequence
    with Program(tmp_path / "run", changes) as program:
        program.page_with("hw_kernel_log_source_info{")
        with pipe.open("wb", buffering=0) as log:
            for record in (*crashes.with_xids().records, last):
                log.write(record)
            page = wait_for(
                lambda: _page_with(program, 'kind="file_max"} 1'),
                "the last line",
            )
        assert re.findall(r'hw_kernel_log_events_total{.*kind="(\w+)"} (\d+)', page) == [
            ("file_max", "1"),
            ("segfault", str(len(NAMES))),
        ]
        assert "gpu_lost" not in program.get("/faults").text


def _page_with(program: Program, series: str) -> str | None:
    page = program.get("/metrics").text
    return page if series in page else None
