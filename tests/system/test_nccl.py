"""Jobs whose ranks meet through a stand-in for NCCL: one stops, one is late, others are well."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.probes.ebpf.requirements import not_met
from tests.fakes.fixtures import built
from tests.fakes.native import NCCL, build_nccl, build_ranks
from tests.program import Program, wait_for

REASON = not_met(Path("/proc"), Path("/sys"))
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"calls cannot be counted: {REASON}")

SETTINGS: dict[str, dict[str, Any]] = {"ebpf": {"enabled": True, "layers": ["nccl"]}}
PROMISED_SECS = 30.0
FLOATS_BYTES = 4000


class Job:
    """Ranks that are processes; they begin when they are told to."""

    def __init__(self, room: Path) -> None:
        self._program = built(build_ranks) / "ranks"
        self._library = built(build_nccl) / NCCL
        self._room = room
        self._ranks: list[subprocess.Popen[str]] = []

    def start(
        self,
        ranks: int,
        steps: int,
        compute_ms: int,
        jitter_ms: int = 0,
        late: tuple[int, int] = (-1, 0),
        *words: str,
        environment: dict[str, str] | None = None,
    ) -> None:
        """Start all ranks; rank late[0] takes late[1] ms longer in each step."""
        for rank in range(ranks):
            more = late[1] * 1000 if rank == late[0] else 0
            numbers = (ranks, rank, steps, compute_ms * 1000, jitter_ms * 1000, more)
            self._ranks.append(
                subprocess.Popen(
                    [self._program, self._library, self._room, *map(str, numbers), *words],
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, **(environment or {})},
                    text=True,
                )
            )

    def go(self) -> None:
        """Let them begin."""
        Path(f"{self._room}.go").touch()

    def pid(self, rank: int) -> int:
        """The process of a rank."""
        return self._ranks[rank].pid

    def wait(self, secs: float) -> None:
        """Wait until all ranks have ended well."""
        for rank in self._ranks:
            assert rank.wait(secs) == 0

    def end(self) -> None:
        """Kill what still runs."""
        for rank in self._ranks:
            rank.kill()
            rank.wait()


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[list[Job]]:
    """Four jobs that have not begun."""
    made = [Job(tmp_path / f"room{number}") for number in range(4)]
    yield made
    for job in made:
        job.end()
    for room in Path("/dev/shm").glob("stub-nccl-*"):
        room.unlink()


def faults_of(program: Program) -> dict[str, str]:
    """The active faults of communicators: rule and summary."""
    faults = program.get("/faults").document["faults"]
    return {
        fault["rule"]: fault["summary"]
        for fault in faults
        if fault["state"] == "active" and fault["rule"].startswith("nccl_")
    }


def attached(program: Program) -> None:
    """Wait until the library is attached to."""
    text = f'hw_call_libraries{{node="{os.uname().nodename}"}} 1\n'
    wait_for(lambda: text in program.get("/metrics").text or None, "the library attached", 40.0)


@pytest.mark.parametrize("environment", [{}, {"STUB_NCCL_ASYNC": "1"}], ids=["waiting", "queueing"])
def test_the_rank_that_hangs_is_named(
    environment: dict[str, str], jobs: list[Job], tmp_path: Path
) -> None:
    """A stopped rank is named with its state within 30 s; a job that ends and one with jitter not.

    Collections are 15 s apart, as by default. When the rank goes on the fault is over.
    """
    hanging, jittery, ending, _ = jobs
    hanging.start(4, 2000, 40, 10, environment=environment)
    jittery.start(2, 2000, 40, 25, environment=environment)
    ending.start(3, 60, 40, 5, (-1, 0), "leave", environment=environment)
    with Program(tmp_path / "exporter", SETTINGS) as program:
        attached(program)
        for job in (hanging, jittery, ending):
            job.go()
        ending.wait(30)
        os.kill(hanging.pid(2), signal.SIGSTOP)
        stopped = time.monotonic()
        found = wait_for(lambda: faults_of(program) or None, "a fault", PROMISED_SECS)
        assert time.monotonic() - stopped > 15
        assert list(found) == ["nccl_rank_missing"]
        assert f"rank 2 (pid {hanging.pid(2)}, stopped) is missing" in found["nccl_rank_missing"]
        assert found["nccl_rank_missing"].startswith("3 of 4 ranks of ranks")
        os.kill(hanging.pid(2), signal.SIGCONT)
        wait_for(lambda: not faults_of(program) or None, "the fault to end", 10.0)


def test_a_rank_that_computes_alone_is_only_remarked(jobs: list[Job], tmp_path: Path) -> None:
    """A rank that evaluates while the others wait is named as busy; the node has no warning."""
    job = jobs[0]
    job.start(3, 4000, 20)
    with Program(tmp_path / "exporter", SETTINGS) as program:
        attached(program)
        job.go()
        os.kill(job.pid(1), signal.SIGUSR1)
        found = wait_for(lambda: faults_of(program) or None, "a fault", PROMISED_SECS)
        assert f"rank 1 (pid {job.pid(1)}, busy) is missing" in found["nccl_rank_missing"]
        faults = program.get("/faults").document["faults"]
        (severity,) = {fault["severity"] for fault in faults if fault["rule"] in found}
        assert severity == "info"
        os.kill(job.pid(1), signal.SIGUSR1)
        wait_for(lambda: not faults_of(program) or None, "the fault to end", 10.0)


def test_a_straggler_is_named(jobs: list[Job], tmp_path: Path) -> None:
    """One that is late by a third of a step is named within 30 s; jitter of half a step is not."""
    straggling, jittery, *_ = jobs
    straggling.start(4, 2000, 40, 8, (3, 20))
    jittery.start(3, 2000, 40, 20)
    with Program(tmp_path / "exporter", SETTINGS) as program:
        attached(program)
        straggling.go()
        jittery.go()
        found = wait_for(lambda: faults_of(program) or None, "a fault", PROMISED_SECS)
        assert list(found) == ["nccl_straggler"]
        assert found["nccl_straggler"].startswith(f"rank 3 (pid {straggling.pid(3)})")


def test_bytes_and_calls_are_exact(jobs: list[Job], tmp_path: Path) -> None:
    """Each of 3 ranks reduces 1000 floats 200 times: so many calls and bytes, and no error."""
    job = jobs[0]
    job.start(3, 200, 2)
    settings = {**SETTINGS, "metrics": {"collect_interval_secs": 1}}
    with Program(tmp_path / "exporter", settings) as it:
        attached(it)
        job.go()
        job.wait(30)
        labels = 'call="ncclAllReduce",namespace="",pod="",container="ranks"}'
        it.page_with(f"{labels} {3 * 200 * FLOATS_BYTES}\n")
        page = it.get("/metrics").text
        assert f'_count{{node="{os.uname().nodename}",layer="nccl",{labels} 600\n' in page
        assert not faults_of(it)
