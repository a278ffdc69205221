"""What is measured at the limits: a thousand clients, ten thousand processes, steady failure."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from bench import pages
from bench.figures import Figure
from bench.load import load
from bench.measures import SETTLE_SECS, Effort
from bench.nodes import CAPTURED_GPUS, FIRST_PID, BareNode, GpuNode
from bench.processes import MIB, family, pss_bytes, use
from tests.fakes.fuse import NoFuse, StuckFiles
from tests.program import Program, wait_for

MANY = 1000
PROCESSES = 10_000
FAULTS_KNOWN_SECS = 90
"""After so long every fault that follows from a hanging driver is active, and was logged once."""
WALK = {"sources": {"enabled": ["process_states"]}}


def clients(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Measure a hundred and a thousand connections that ask as fast as they are answered."""
    node = GpuNode(folder / "clients")
    with node.start() as program:
        pages.complete_page(program, CAPTURED_GPUS)
        for count, most_ms in ((100, 25), (MANY, 250)):
            ran = load(program.port, effort.load_secs, gzip=True, clients=count)
            yield Figure(f"{count} connections, gzip, p99", ran.p99_ms, "ms", most_ms)
            yield Figure(f"{count} connections, gzip, errors", ran.errors, budget=0)


def walk(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Scrapes while a thread walks over ten thousand processes all the time."""
    node = BareNode(folder / "walk", PROCESSES)
    with node.start(0.1, WALK) as program:
        page = pages.complete_page(program, 0)
        ran = load(program.port, effort.load_secs, gzip=True, clients=5)
        yield Figure("p99 during a walk over 10,000 processes", ran.p99_ms, "ms", 10)
        page = program.get("/metrics").text
        took = pages.by_source(page).get("process_states", 0) * 1000
        yield Figure("walk over 10,000 processes", took, "ms", 300)


def attribution(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Ten thousand processes on GPUs are looked up in the files of the kernel."""
    node = GpuNode(folder / "attribution", processes=PROCESSES)
    pids = range(FIRST_PID, FIRST_PID + PROCESSES)
    cards = [" ".join(f"{pid}:1048576" for pid in pids[card::8]) for card in range(8)]
    node.nvml.say(
        *(f"device.{card}.compute_processes = {listed}" for card, listed in enumerate(cards)),
        capture="h100x8.scenario",
    )
    with node.start(1.0) as program:
        pages.complete_page(program, CAPTURED_GPUS)
        took = []
        for _ in range(2 * effort.repeats + 1):
            time.sleep(1.5)
            took.append(pages.by_source(program.get("/metrics").text)["workloads"] * 1000)
        held = use(program.process.pid).pss_bytes / MIB
    yield Figure("PSS, 10,000 processes on GPUs", held, "MiB", 80)
    yield Figure("10,000 processes on GPUs, attributed", statistics.median(took), "ms", 300)


def sizes(folder: Path, _: Effort) -> Iterator[Figure]:
    """Measure the page of eight GPUs with pods on them, and what the probe holds."""
    node = GpuNode(folder / "sizes")
    with node.start(1.0) as program:
        page = pages.complete_page(program, CAPTURED_GPUS)
        time.sleep(SETTLE_SECS)
        page = program.get("/metrics").text
        packed = program.get("/metrics", Accept_Encoding="gzip").body
        yield Figure("page, 8 GPUs, 100 processes in 50 pods", len(page) / 1024, "KiB", 600)
        yield Figure("page, 8 GPUs, 100 processes in 50 pods, gzip", len(packed) / 1024, "KiB", 60)
        children = [pid for pid in family(program.process.pid) if pid != program.process.pid]
        yield Figure("PSS of the NVML probe", max(map(pss_bytes, children)) / MIB, "MiB", 20)


def failing(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Lines in the log while the driver hangs; then stopping with a child stuck in the kernel."""
    node = GpuNode(folder / "failing")
    with node.start(1.0) as program:
        pages.complete_page(program, CAPTURED_GPUS)
        node.wedge()
        time.sleep(FAULTS_KNOWN_SECS)
        before, minutes = len(program.log_lines), effort.load_secs * 3 / 60
        time.sleep(minutes * 60)
        lines = (len(program.log_lines) - before) / minutes
    yield Figure("log lines a minute, driver wedged", lines, budget=1)
    try:
        (folder / "stuck").mkdir()
        stuck = StuckFiles(folder / "stuck")
    except NoFuse:
        return
    try:
        yield Figure("stop, NVML cannot be killed", _stop_beside_stuck(folder, stuck), "s", 2)
    finally:
        stuck.release("driver")
        stuck.close()


def _stop_beside_stuck(folder: Path, stuck: StuckFiles) -> float:
    node = GpuNode(folder / "unkillable")
    with node.start(1.0) as program:
        pages.complete_page(program, CAPTURED_GPUS)
        node.say(nvml=f"nvmlDeviceGetPowerUsage = hold {stuck.hang('driver')}")
        wait_for(lambda: _is_stuck(program), "a child that cannot be killed", 60)
        return program.stop()[1]


def _is_stuck(program: Program) -> bool:
    return 'reason="stuck"' in program.get("/metrics").text
