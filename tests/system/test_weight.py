"""The exporter does not get heavier unseen: its weight beside node_exporter on the same machine."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import tomli

from bench.measures import NODE_EXPORTER
from bench.nodes import CAPTURED_GPUS, BareNode, GpuNode
from bench.pages import complete_page
from bench.processes import cpu_secs, own_cpu_secs, use
from tests.fakes.prometheus import free_port, needs
from tests.program import Program, wait_for

BUDGET: Mapping[str, float] = tomli.loads(Path(__file__).with_name("weight.toml").read_text())
COLLECTIONS = 12
INTERVAL_SECS = 1.0
SCRAPES = 40
PATIENCE_SECS = 120.0

pytestmark = needs(NODE_EXPORTER)


@dataclass(frozen=True, slots=True)
class Weight:
    """Memory as if no other program ran, and processor time of one scrape, with its collection."""

    alone_bytes: int
    round_secs: float


@pytest.fixture(scope="module")
def node_exporter() -> Iterator[Weight]:
    """What node_exporter takes on this machine."""
    port = free_port()
    command = (NODE_EXPORTER, f"--web.listen-address=127.0.0.1:{port}")
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: _answers(port), "node_exporter to listen")
        before = cpu_secs(process.pid)
        for _ in range(SCRAPES):
            _scrape(port)
        spent = cpu_secs(process.pid) - before
        yield Weight(use(process.pid).alone_bytes, spent / SCRAPES)
    finally:
        process.kill()
        process.wait()


def test_a_cpu_node_does_not_get_heavier(tmp_path: Path, node_exporter: Weight) -> None:
    """Memory, processor time and start stay within the budget, without GPUs."""
    with BareNode(tmp_path / "compiling").start() as program:
        complete_page(program, 0)
    with BareNode(tmp_path / "node").start(INTERVAL_SECS) as program:
        complete_page(program, 0)
        start_secs = own_cpu_secs(program.process.pid)
        ours = _weight(program, processes=1)
    times = {"start_cpu_node": start_secs / _bare_start_secs()}
    _check(times | _times(ours, node_exporter, "cpu_node"))


def test_a_gpu_node_does_not_get_heavier(tmp_path: Path, node_exporter: Weight) -> None:
    """Memory and processor time stay within the budget with 8 GPUs and 100 processes on them."""
    with GpuNode(tmp_path / "node").start(INTERVAL_SECS) as program:
        complete_page(program, CAPTURED_GPUS)
        ours = _weight(program, processes=2)
    _check(_times(ours, node_exporter, "8_gpus"))


def _times(ours: Weight, theirs: Weight, node: str) -> dict[str, float]:
    return {
        f"memory_{node}": ours.alone_bytes / theirs.alone_bytes,
        f"processor_{node}": ours.round_secs / theirs.round_secs,
    }


def _check(times: Mapping[str, float]) -> None:
    print({name: round(value, 2) for name, value in times.items()})  # noqa: T201 - figures to read
    assert {name: value for name, value in times.items() if value > BUDGET[name]} == {}


def _weight(program: Program, processes: int) -> Weight:
    """Return the weight after some collections, each scraped once, by so many processes."""
    pid = program.process.pid
    wait_for(lambda: len(program.child_pids()) < processes, "py-cpuinfo to end", PATIENCE_SECS)
    first, before = program.collections(), cpu_secs(pid)
    while (seen := program.collections() - first) < COLLECTIONS:
        time.sleep(INTERVAL_SECS)  # one scrape for each collection, as Prometheus does
    return Weight(use(pid).alone_bytes, (cpu_secs(pid) - before) / seen)


def _scrape(port: int) -> bytes:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/metrics", headers={"Accept-Encoding": "gzip"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - same
        page: bytes = answer.read()
        return page


def _answers(port: int) -> bool:
    try:
        return bool(_scrape(port))
    except urllib.error.URLError:
        return False


def _bare_start_secs() -> float:
    """Return the processor time of a Python that imports asyncio and ends."""
    code = "import asyncio, time; print(time.process_time())"
    command = (sys.executable, "-c", code)
    ended = [subprocess.run(command, capture_output=True, check=True) for _ in range(3)]
    return min(float(one.stdout) for one in ended)
