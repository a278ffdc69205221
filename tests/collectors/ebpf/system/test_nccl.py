"""Jobs whose ranks meet through a stand-in for NCCL: one stops, one is late, others are well."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.collectors.ebpf.system.test_ebpf import attached
from tests.fakes.fixtures import built
from tests.fakes.native import NCCL, build_nccl, build_ranks
from tests.program import Program, wait_for

SETTINGS: dict[str, dict[str, Any]] = {"ebpf": {"enabled": True, "layers": ["nccl"]}}
PROMISED_SECS = 30.0
FLOATS_BYTES = 4000
NODE = os.uname().nodename


class Job:
    """Ranks that are processes; they begin when they are told to."""

    def __init__(self, room: Path) -> None:
        self._program = room.with_name(room.name[:15])  # the container that calls are counted for
        shutil.copy(built(build_ranks) / "ranks", self._program)
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


@dataclass(frozen=True, slots=True)
class Fault:
    """An active fault of a communicator; `begin` is in seconds since all jobs were let go."""

    rule: str
    severity: str
    summary: str
    begin: float


class Node:
    """A program that follows seven jobs: of four one rank is ill, three are well."""

    def __init__(self, folder: Path, program: Program) -> None:
        self.program = program
        names = ("waiting", "queueing", "alone", "straggling", "jittery", "ending", "exact")
        self.jobs = {name: Job(folder / name) for name in names}
        self._began = 0.0

    def start(self) -> None:
        """Start all jobs, and let them begin when the library is attached to."""
        queueing = {"STUB_NCCL_ASYNC": "1"}
        self.jobs["waiting"].start(4, 4000, 40, 10)
        self.jobs["queueing"].start(4, 4000, 40, 10, environment=queueing)
        self.jobs["alone"].start(3, 8000, 20)
        self.jobs["straggling"].start(4, 4000, 40, 8, (3, 40))
        self.jobs["jittery"].start(3, 4000, 40, 20)
        self.jobs["ending"].start(3, 60, 40, 5, (-1, 0), "leave")
        self.jobs["exact"].start(3, 200, 2)
        attached(self.program)
        for job in self.jobs.values():
            job.go()
        for name in ("ending", "exact"):
            self.jobs[name].wait(60)
        self._began = time.time()
        for name in ("waiting", "queueing"):
            os.kill(self.jobs[name].pid(2), signal.SIGSTOP)
        os.kill(self.jobs["alone"].pid(1), signal.SIGUSR1)

    def recover(self) -> None:
        """Let those that do not come go on."""
        for name in ("waiting", "queueing"):
            os.kill(self.jobs[name].pid(2), signal.SIGCONT)
        os.kill(self.jobs["alone"].pid(1), signal.SIGUSR1)

    def faults(self) -> list[Fault]:
        """The active faults of communicators."""
        return [
            Fault(each["rule"], each["severity"], each["summary"], each["since"] - self._began)
            for each in self.program.get("/faults").document["faults"]
            if each["state"] == "active" and each["rule"].startswith("nccl_")
        ]

    def fault_of(self, name: str, rank: int) -> Fault:
        """The fault that names this rank, waited for."""
        words = f"rank {rank} (pid {self.jobs[name].pid(rank)}"
        look = lambda: next((one for one in self.faults() if words in one.summary), None)  # noqa: E731
        return wait_for(look, f"a fault of {words})", 2 * PROMISED_SECS)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Jobs whose ranks have been stopped, or compute alone; collections are 15 s apart."""
    folder = tmp_path_factory.mktemp("nccl")
    with Program(folder / "exporter", SETTINGS) as program:
        node = Node(folder, program)
        try:
            node.start()
            yield node
        finally:
            for job in node.jobs.values():
                job.end()
            for room in Path("/dev/shm").glob("stub-nccl-*"):
                room.unlink()


@pytest.mark.parametrize("name", ["waiting", "queueing"])
def test_the_rank_that_hangs_is_named(node: Node, name: str) -> None:
    """A stopped rank is named with its state within 30 s, whether the others wait or queue."""
    fault = node.fault_of(name, 2)
    assert fault.rule == "nccl_rank_missing"
    assert f"rank 2 (pid {node.jobs[name].pid(2)}, stopped) is missing" in fault.summary
    assert fault.summary.startswith(f"3 of 4 ranks of {name}")
    assert fault.severity == "warning"
    assert 15 < fault.begin < PROMISED_SECS


def test_a_rank_that_computes_alone_is_only_remarked(node: Node) -> None:
    """A rank that evaluates while the others wait is named as busy; the node has no warning."""
    fault = node.fault_of("alone", 1)
    assert f"rank 1 (pid {node.jobs['alone'].pid(1)}, busy) is missing" in fault.summary
    assert (fault.rule, fault.severity) == ("nccl_rank_missing", "info")
    assert fault.begin < PROMISED_SECS


def test_a_straggler_is_named(node: Node) -> None:
    """One that is late by half a step is named within 30 s."""
    fault = node.fault_of("straggling", 3)
    assert fault.rule == "nccl_straggler"
    assert fault.begin < PROMISED_SECS


def test_bytes_and_calls_are_exact(node: Node) -> None:
    """Each of 3 ranks has reduced 1000 floats 200 times: so many calls and bytes."""
    labels = 'call="ncclAllReduce",namespace="",pod="",container="exact"}'
    node.program.page_with(f"{labels} {3 * 200 * FLOATS_BYTES}\n")
    page = node.program.get("/metrics").text
    assert f'_count{{node="{NODE}",layer="nccl",{labels} 600\n' in page


def test_healthy_jobs_have_no_fault(node: Node) -> None:
    """Neither jitter of half a step nor an end is a fault; hangs are over when ranks go on."""
    for name, rank in (("waiting", 2), ("queueing", 2), ("alone", 1), ("straggling", 3)):
        node.fault_of(name, rank)
    assert len(node.faults()) == 4
    node.recover()
    straggling = f"pid {node.jobs['straggling'].pid(3)})"

    wait_for(
        lambda: all(straggling in fault.summary for fault in node.faults()),
        "the other faults to end",
    )
