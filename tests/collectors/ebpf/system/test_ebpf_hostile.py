"""Libraries of a tenant that are made to cost: health is answered, others are still counted."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.ebpf.elf import MAX_TABLE_BYTES
from exporter.collectors.ebpf.libraries import MAX_OF_PROCESS
from tests.fakes.fixtures import built
from tests.fakes.fuse import StuckFiles, released
from tests.fakes.hostile_library import hostile_library
from tests.fakes.native import CUDART, build_calls, build_cudart
from tests.program import Program, wait_for

LIBRARIES = 48
WATCHED_SECS = 25.0
SLOWEST_SECS = 0.25
COUNTING: dict[str, dict[str, Any]] = {
    "ebpf": {"enabled": True},
    "metrics": {"collect_interval_secs": 1},
}
MAP_ALL = """
import mmap, os, sys
rights = mmap.PROT_READ | mmap.PROT_EXEC
held = [
    mmap.mmap(os.open(name, os.O_RDONLY), 4096, mmap.MAP_SHARED, rights) for name in sys.argv[1:]
]
print("mapped", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def tenant(tmp_path: Path) -> Iterator[None]:
    """A process that maps as many libraries as can be attached to, each with full tables."""
    half = LIBRARIES // 2
    readable = hostile_library(tmp_path / "readable", MAX_TABLE_BYTES, b"ncclOther")
    too_large = hostile_library(tmp_path / "too-large", 8 * 1024 * 1024)
    names = []
    for number in range(LIBRARIES):
        folder = tmp_path / f"library{number}"
        folder.mkdir()
        names.append(
            str(shutil.copy((readable, too_large)[number < half], folder / "libnccl.so.2"))
        )
    with ExitStack() as processes:
        for first in range(0, LIBRARIES, MAX_OF_PROCESS):
            command = [sys.executable, "-c", MAP_ALL, *names[first : first + MAX_OF_PROCESS]]
            process = processes.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            processes.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == b"mapped\n"
        yield


@pytest.fixture
def tenant_of_a_dead_server(stuck_files: StuckFiles) -> Iterator[None]:
    """A process that maps a library of a filesystem of its own, which then answers no more."""
    file = stuck_files.hold("libnccl.so.2", "x" * 4096)
    with subprocess.Popen(
        [sys.executable, "-c", MAP_ALL.replace("MAP_SHARED", "MAP_PRIVATE"), str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"mapped\n"
        stuck_files.hang("libnccl.so.2", "open")
        yield
        process.kill()


@pytest.mark.usefixtures("tenant_of_a_dead_server", "job")
def test_a_library_that_cannot_be_opened_hides_no_other(
    tmp_path: Path, stuck_files: StuckFiles
) -> None:
    """Its filesystem is left out; the calls of the others are counted."""
    with (
        Program(tmp_path / "exporter", COUNTING) as program,
        released(stuck_files, "libnccl.so.2"),
    ):
        program.first_page()
        wait_for(lambda: program.value("hw_call_libraries") == 1, "the other library", 30.0)
        assert 'source="ebpf"} 1\n' in program.get("/metrics").text


@pytest.fixture
def job(tmp_path: Path) -> Iterator[None]:
    """A process with a library whose calls can be counted."""
    command = [str(built(build_calls) / "calls"), str(built(build_cudart) / CUDART), "1"]
    with subprocess.Popen([*command, str(tmp_path / "go"), "cudaMalloc:1:1"]) as process:
        yield
        process.kill()


@pytest.mark.usefixtures("tenant", "job")
def test_health_is_answered_while_a_tenant_has_hostile_libraries(tmp_path: Path) -> None:
    """Each answer comes within a quarter of a second, and the source does not fail for it."""
    with Program(tmp_path / "exporter", COUNTING) as program:
        assert program.get("/health").status == 200  # it has started
        slowest = _slowest_health(program)
        sys.stderr.write(f"slowest /health: {slowest * 1000:.0f} ms\n")
        wait_for(
            lambda: program.value("hw_call_refused_libraries") == LIBRARIES,
            "all of them refused",
            20.0,
        )
        assert 'source="ebpf"} 1\n' in program.get("/metrics").text
    assert slowest <= SLOWEST_SECS


def _slowest_health(program: Program) -> float:
    """Ask again and again; return the seconds of the slowest answer."""
    slowest, until = 0.0, time.monotonic() + WATCHED_SECS
    while time.monotonic() < until:
        began = time.monotonic()
        assert program.get("/health").status == 200
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.02)
    return slowest
