"""Calls counted in the kernel, for real: bpftrace, stand-ins for libraries, several processes."""

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.fakes.fixtures import built
from tests.fakes.native import CUDART, build_calls, build_cudart
from tests.program import Program, wait_for

FAST = {"metrics": {"collect_interval_secs": 1}}
ATTACHED_SECS = 120.0
"""Other tests attach at the same time: the kernel waits for all tasks at each function."""


class Jobs:
    """Programs that call a library when they are told to go."""

    def __init__(self, folder: Path) -> None:
        self._program = built(build_calls) / "calls"
        self.library = built(build_cudart) / CUDART
        self._go = folder / "go"
        self._running: list[subprocess.Popen[str]] = []

    def start(
        self,
        *steps: str,
        threads: int = 1,
        before: tuple[str, ...] = (),
        library: Path | None = None,
    ) -> None:
        """Start one that waits; `before` are words in front of the command."""
        path = str(library or self.library)
        words = [*before, str(self._program), path, str(threads), str(self._go)]
        self._running.append(subprocess.Popen([*words, *steps], stdout=subprocess.PIPE, text=True))

    def go(self) -> dict[str, tuple[int, float]]:
        """Let all run to their end: calls and their seconds by name, as the programs say."""
        self._go.touch()
        found: dict[str, tuple[int, float]] = {}
        for job in self._running:
            output, _ = job.communicate(timeout=60)
            assert job.returncode == 0
            for line in output.splitlines():
                step, calls, secs = line.split()
                before = found.get(step.split(":")[0], (0, 0.0))
                found[step.split(":")[0]] = before[0] + int(calls), before[1] + float(secs)
        return found

    def end(self) -> None:
        """End those that still run."""
        for job in self._running:
            job.kill()
            job.communicate()


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    """Programs that call CUDA."""
    made = Jobs(tmp_path)
    yield made
    made.end()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """How the program is started with the kernel counting calls."""
    programs: list[Program] = []

    def run(**settings: Any) -> Program:
        changes: dict[str, dict[str, Any]] = {**FAST, "ebpf": {"enabled": True, **settings}}
        programs.append(Program(tmp_path / f"exporter{len(programs)}", changes))
        return programs[-1].__enter__()

    yield run
    for program in programs:
        program.__exit__(None, None, None)


def calls_of(page: str, suffix: str = "_count") -> dict[str, float]:
    """The samples of the calls by function, all workloads together."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if sample.name in (f"hw_call_duration_seconds{suffix}", f"hw_call{suffix}"):
                call = sample.labels["call"]
                found[call] = found.get(call, 0.0) + sample.value
    return found


def tracers_of(program: Program) -> list[int]:
    """The bpftrace processes that it has started."""
    return [pid for pid in program.child_pids() if _name(pid) == "bpftrace"]


def attached(program: Program, count: int = 1) -> None:
    """Wait until so many libraries are attached to."""
    text = f'hw_call_libraries{{node="{os.uname().nodename}"}} {count}\n'
    wait_for(
        lambda: text in program.get("/metrics").text, f"{count} libraries attached", ATTACHED_SECS
    )


def _have_ended(tracers: list[int]) -> bool:
    return "bpftrace" not in map(_name, tracers)


def _name(pid: int) -> str:
    try:
        if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
            return ""  # it has ended, and waits for whoever adopted it
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def test_every_call_of_several_processes_and_threads_is_counted(
    jobs: Jobs, start: Callable[..., Program]
) -> None:
    """Counts and errors are exact, and sums within 5 % of the programs' own clock."""
    for _ in range(3):
        jobs.start("cudaMalloc:20000:1", "cudaMemcpy:100:3000", "cudaMalloc:7:13", threads=2)
    program = start()
    attached(program)
    own = jobs.go()

    def all_counted() -> str | None:
        page = program.get("/metrics").text
        return page if calls_of(page).get("cudaMalloc", 0) >= own["cudaMalloc"][0] else None

    page = wait_for(all_counted, "all calls to be counted", ATTACHED_SECS)
    assert calls_of(page) == {"cudaMalloc": 120042, "cudaMemcpy": 600}
    assert calls_of(page, "_errors_total")["cudaMalloc"] == 42
    took = calls_of(page, "_sum")["cudaMemcpy"]
    assert took == pytest.approx(own["cudaMemcpy"][1], rel=0.05)


def test_nothing_is_left_when_it_ends_or_is_killed(
    jobs: Jobs, start: Callable[..., Program]
) -> None:
    """Whether it ends or is killed by SIGKILL, bpftrace ends with it, and so do its probes."""
    jobs.start("cudaFree:1:0")
    for number in (15, 9):
        program = start()
        attached(program)
        tracers = tracers_of(program)
        assert tracers
        program.stop(number)
        wait_for(partial(_have_ended, tracers), "bpftrace to end", ATTACHED_SECS)
    events = Path("/sys/kernel/tracing/uprobe_events")
    assert not events.exists() or not events.read_text()


def test_processes_come_and_go_in_other_mount_namespaces(
    jobs: Jobs, start: Callable[..., Program], tmp_path: Path
) -> None:
    """A library that only its process can see is attached to, and let go when that has ended."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    mount = f'mount -t tmpfs none {hidden} && cp {jobs.library} {hidden}/ && exec "$@"'
    jobs.start("cudaMalloc:500:1")
    jobs.start(
        "cudaFree:700:0",
        before=("unshare", "-m", "sh", "-c", mount, "sh"),
        library=hidden / CUDART,
    )
    program = start()
    attached(program, 2)
    assert not list(hidden.iterdir())
    jobs.go()
    wait_for(
        lambda: calls_of(program.get("/metrics").text) == {"cudaMalloc": 500, "cudaFree": 700},
        "all calls to be counted",
        ATTACHED_SECS,
    )
    attached(program, 0)
    wait_for(lambda: not tracers_of(program), "bpftrace to end", ATTACHED_SECS)
    assert calls_of(program.get("/metrics").text) == {"cudaMalloc": 500, "cudaFree": 700}
