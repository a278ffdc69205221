"""One function for each thing that is measured; each gives figures."""

import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import pages
from bench.figures import Figure
from bench.load import Load, load
from bench.nodes import CAPTURED_GPUS, SERIES, BareNode, GpuNode
from bench.processes import MIB, Use, cpu_secs, use
from tests.program import Program, wait_for

NODE_EXPORTER = "prometheus-node-exporter"
NODE_EXPORTER_PORT = 19100
SETTLE_SECS = 3.0
QUICK_INTERVAL_SECS = 0.1
PASS_INTERVAL_SECS = 1.0  # GPUs are not asked more often: at this interval, once a collection
INTERVAL_SECS = 15.0
XID_LINE = "NVRM: Xid (PCI:0000:18:00): 79, pid=41000, name=python, GPU has fallen off the bus."


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure, in seconds and counts."""

    load_secs: float
    repeats: int
    passes: int
    collections: int
    scrapes: int


FULL = Effort(load_secs=10, repeats=3, passes=60, collections=1000, scrapes=100_000)
QUICK = Effort(load_secs=2, repeats=1, passes=15, collections=100, scrapes=5_000)


def compile_modules() -> None:
    """Start once on each kind of node, so that no figure contains the compiling of modules."""
    with tempfile.TemporaryDirectory(prefix="hw-bench-") as folder:
        for node, gpus in ((BareNode(Path(folder, "bare")), 0), (GpuNode(Path(folder, "gpus")), 8)):
            with node.start() as program:
                pages.complete_page(program, gpus)


def start_and_stop(folder: Path, effort: Effort) -> Iterator[Figure]:
    """From the start of the process to the first page with all GPUs, and how fast it ends."""
    starts, stops = [], []
    for number in range(2 * effort.repeats + 1):
        node = GpuNode(folder / f"start{number}")
        with node.start() as program:
            pages.complete_page(program, CAPTURED_GPUS)
            starts.append(time.monotonic() - program.started)
            stops.append(program.stop()[1])
    yield Figure("start to first complete page, 8 GPUs", statistics.median(starts), "s", 0.45)
    starts = []
    for number in range(2 * effort.repeats + 1):
        with BareNode(folder / f"bare{number}").start() as program:
            pages.complete_page(program, 0)
            starts.append(time.monotonic() - program.started)
    yield Figure("start to first complete page, CPU node", statistics.median(starts), "s", 0.4)
    yield Figure("stop, idle", statistics.median(stops), "s", 2)
    node = GpuNode(folder / "wedged-stop")
    with node.start(QUICK_INTERVAL_SECS) as program:
        pages.complete_page(program, CAPTURED_GPUS)
        node.wedge()
        _wait_until_wedged(program)
        yield Figure("stop, NVML and nvidia-smi hang", program.stop()[1], "s", 2)


def memory(folder: Path, _: Effort) -> Iterator[Figure]:
    """Memory of all our processes after some collections and scrapes, beside node_exporter's.

    PSS counts a share of what other programs map too, the rest as if no other program ran.
    """
    with _node_exporter() as other, BareNode(folder / "bare").start(QUICK_INTERVAL_SECS) as program:
        yield from _memory("CPU node", _settled(program, 0), 32, 40)
        yield _peak("CPU node", program)
        if other is not None:
            for gzip in (True, False):
                load(NODE_EXPORTER_PORT, 1, gzip=gzip, clients=1)
            yield from _memory("node_exporter", use(other))
    with GpuNode(folder / "gpus").start(QUICK_INTERVAL_SECS) as program:
        ours = _settled(program, CAPTURED_GPUS)
        yield from _memory("8 GPUs, 100 GPU processes", ours, 42, 50)
        yield _peak("8 GPUs", program)
        yield Figure("processes, 8 GPUs", ours.processes)
        yield Figure("threads, 8 GPUs", ours.threads)
        yield Figure("descriptors, 8 GPUs", ours.descriptors)


def _memory(
    what: str, used: Use, budget: float | None = None, alone: float | None = None
) -> Iterator[Figure]:
    yield Figure(f"PSS, {what}", used.pss_bytes / MIB, "MiB", budget)
    yield Figure(f"alone, {what}", used.alone_bytes / MIB, "MiB", alone)


def _peak(what: str, program: Program) -> Figure:
    """Compare the most memory the main process has had with what it has (proc_pid_status(5))."""
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    found = dict(re.findall(r"(VmHWM|VmRSS):\s+(\d+) kB", status))
    return Figure(f"peak over steady, {what}", int(found["VmHWM"]) / int(found["VmRSS"]), "×", 1.2)


def _settled(program: Program, gpus: int) -> Use:
    pages.complete_page(program, gpus)
    time.sleep(SETTLE_SECS)
    lasting = 2 if gpus else 1  # the program and its NVML probe; py-cpuinfo's process ends
    wait_for(lambda: use(program.process.pid).processes <= lasting, "py-cpuinfo to end", 60)
    for encoding in ("identity", "gzip"):
        program.get("/metrics", Accept_Encoding=encoding)
    return use(program.process.pid)


def throughput(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Measure requests per second with eight clients, in turn with node_exporter; then wedged."""
    node = GpuNode(folder / "load")
    with node.start() as plain:
        padding = SERIES - pages.series(pages.complete_page(plain, CAPTURED_GPUS))
    with _node_exporter() as other, node.start(series=padding) as program:
        page = pages.complete_page(program, CAPTURED_GPUS)
        yield Figure("series on the page", pages.series(page))
        yield Figure("page", len(page) / 1024, "KiB")
        packed = program.get("/metrics", Accept_Encoding="gzip").body
        yield Figure("page, gzip", len(packed) / 1024, "KiB")
        for gzip in (True, False):
            yield from _side_by_side(program.port, effort, gzip=gzip, beside=other is not None)
        node.wedge()
        _wait_until_wedged(program)
        for gzip in (True, False):
            wedged = load(program.port, effort.load_secs, gzip=gzip)
            yield Figure(f"p99, driver wedged, {_named(gzip=gzip)}", wedged.p99_ms, "ms", 20)


def _side_by_side(port: int, effort: Effort, *, gzip: bool, beside: bool) -> Iterator[Figure]:
    ours, theirs = [], []
    for _ in range(effort.repeats):
        ours.append(load(port, effort.load_secs, gzip=gzip))
        if beside:
            theirs.append(load(NODE_EXPORTER_PORT, effort.load_secs, gzip=gzip))
    how = _named(gzip=gzip)
    yield Figure(f"requests/s, {how}", _rate(ours))
    yield Figure(f"p50, {how}", statistics.median(run.p50_ms for run in ours), "ms")
    yield Figure(f"p99, {how}", statistics.median(run.p99_ms for run in ours), "ms", 10)
    yield Figure(f"errors, {how}", sum(run.errors for run in ours), budget=0)
    if theirs:
        yield Figure(f"node_exporter requests/s, {how}", _rate(theirs))
        p99 = statistics.median(run.p99_ms for run in theirs)
        yield Figure(f"node_exporter p99, {how}", p99, "ms")
        ratio = _rate(ours) / _rate(theirs)
        yield Figure(f"times node_exporter, {how}", ratio, "×", 50 if gzip else 30, at_least=True)


def _rate(runs: list[Load]) -> float:
    return statistics.median(run.requests_per_sec for run in runs)


def _named(*, gzip: bool) -> str:
    return "gzip" if gzip else "plain"


@contextmanager
def _node_exporter() -> Iterator[int | None]:
    """Run Debian's node_exporter and provide its process id; None where it is not installed."""
    command = [NODE_EXPORTER, f"--web.listen-address=127.0.0.1:{NODE_EXPORTER_PORT}"]
    try:
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        yield None
        return
    try:
        time.sleep(1)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _wait_until_wedged(program: Program) -> None:
    in_cache = 'backend="cache"'
    wait_for(lambda: in_cache in program.get("/metrics").text, "the driver to be given up", 60)


def processor(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Processor time of a collection and of a scrape, and what both make at an interval of 15 s."""
    costs = {}
    for gpus in (CAPTURED_GPUS, 2 * CAPTURED_GPUS):
        node = GpuNode(folder / f"cpu{gpus}", gpus)
        with node.start() as plain:
            padding = SERIES * gpus // CAPTURED_GPUS - pages.series(
                pages.complete_page(plain, gpus)
            )
        with node.start(PASS_INTERVAL_SECS, series=padding) as program:
            pages.complete_page(program, gpus)
            costs[gpus] = _collection_secs(program, effort.passes)
            if gpus == CAPTURED_GPUS:
                scrape = _scrape_secs(program, effort.scrapes // 20, costs[gpus])
                for name, secs in sorted(pages.by_source(program.get("/metrics").text).items()):
                    yield Figure(f"source {name}", secs * 1000, "ms")
    collection = costs[CAPTURED_GPUS]
    yield Figure("processor time of a collection, 8 GPUs", collection * 1000, "ms")
    yield Figure("processor time of a scrape, gzip", scrape * 1000, "ms")
    share = (collection + scrape) / INTERVAL_SECS * 100
    yield Figure("one core, 15 s interval, one scrape each", share, "%", 0.2)
    ratio = costs[2 * CAPTURED_GPUS] / collection
    yield Figure("16 GPUs over 8, processor time of a collection", ratio, "×", 2.2)


def _collection_secs(program: Program, count: int) -> float:
    """Processor seconds of one collection, with the page of its snapshot packed once."""
    time.sleep(SETTLE_SECS)
    first, began = program.collections(), cpu_secs(program.process.pid)
    while (seen := program.collections() - first) < count:
        time.sleep(PASS_INTERVAL_SECS / 2)
    return (cpu_secs(program.process.pid) - began) / seen


def _scrape_secs(program: Program, scrapes: int, collection_secs: float) -> float:
    """Processor seconds of one scrape by a client with a connection of its own each time."""
    before, began = program.collections(), cpu_secs(program.process.pid)
    for _ in range(scrapes):
        program.get("/metrics", Accept_Encoding="gzip")
    spent = cpu_secs(program.process.pid) - began
    spent -= (program.collections() - before) * collection_secs
    return max(0.0, spent) / scrapes


def many_processes(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Ten thousand processes on the node, none of them on a GPU, against a hundred."""
    costs = []
    for count in (100, 10_000):
        with BareNode(folder / f"with{count}", count).start(QUICK_INTERVAL_SECS) as program:
            pages.complete_page(program, 0)
            costs.append(_collection_secs(program, effort.collections // 4))
    yield Figure("10,000 processes over 100, processor time", costs[1] / costs[0], "×", 1.5)


def growth(folder: Path, effort: Effort) -> Iterator[Figure]:
    """Memory, threads, children and descriptors before and after many collections and scrapes.

    Before it is measured, twice as many collections fill most of the histories.
    """
    warm_up = 2 * effort.collections
    with GpuNode(folder / "growth").start(QUICK_INTERVAL_SECS) as program:
        pages.complete_page(program, CAPTURED_GPUS)
        _scrape_through(program, warm_up, effort.scrapes // 20)
        time.sleep(SETTLE_SECS)
        before = use(program.process.pid)
        _scrape_through(program, warm_up + effort.collections, effort.scrapes)
        time.sleep(SETTLE_SECS)
        after = use(program.process.pid)
    what = f"{effort.collections} collections, {effort.scrapes} scrapes"
    grown = (after.own_bytes - before.own_bytes) / MIB
    yield Figure(f"growth over {what}", grown, "MiB", 0.5)
    yield Figure("more threads", after.threads - before.threads, budget=0)
    yield Figure("more processes", after.processes - before.processes, budget=0)
    yield Figure("more descriptors", after.descriptors - before.descriptors, budget=0)


def _scrape_through(program: Program, until_collection: int, scrapes: int) -> None:
    """Scrape evenly, half of it packed, until there have been so many collections."""
    served = 0
    while served < scrapes or program.collections() < until_collection:
        if served >= scrapes:
            time.sleep(QUICK_INTERVAL_SECS)
            continue
        served += int(load(program.port, 1, gzip=served % 2 == 0).requests_per_sec)
        time.sleep(0.5)


def kernel_log(folder: Path, effort: Effort) -> Iterator[Figure]:
    """From a line of the kernel log to the fault it means, on the page."""
    node = GpuNode(folder / "xid")
    with node.start() as program:
        pages.complete_page(program, CAPTURED_GPUS)
        time.sleep(SETTLE_SECS)
        took = [_until_on_page(program, node, number) for number in range(2 * effort.repeats + 1)]
    yield Figure("kernel-log line to the page, median", statistics.median(took), "s", 1)
    yield Figure("kernel-log line to the page, longest", max(took), "s", 1)


def _until_on_page(program: Program, node: GpuNode, number: int) -> float:
    name = "hw_kernel_log_events_total"
    before = pages.total(program.get("/metrics").text, name)
    began = time.monotonic()
    node.say_in_kernel_log(number, XID_LINE)

    wait_for(
        lambda: pages.total(program.get("/metrics").text, name) > before,
        "the event on the page",
        10,
    )
    took = time.monotonic() - began
    time.sleep(1)
    return took
