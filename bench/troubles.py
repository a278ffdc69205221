"""What goes wrong during a soak: one function for each trouble, in its full size."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench import pages
from bench.figures import Figure
from bench.nodes import CAPTURED_GPUS, GpuNode
from bench.processes import MIB, cpu_secs, use
from bench.watch import Watch
from tests.attacks import (
    HALF,
    at_once,
    connect,
    deaf_client,
    is_closed,
    is_of_one_moment,
    reset_in_the_middle,
    scrape,
    send_garbage,
)
from tests.collectors.gpu.trouble_schedules import HEALING_SECS, schedule
from tests.fakes.certificates import Authority
from tests.fakes.kmsg import kmsg_record
from tests.flood import flooding
from tests.hostile import FORGED, HostileNode
from tests.memory_group import MemoryGroup
from tests.program import Program, exchange, wait_for

HANDSHAKES_FAILED = "hw_exporter_http_tls_handshakes_failed_total"
XID = "NVRM: Xid (PCI:0000:18:00): 79, pid=41000, name=python, GPU has fallen off the bus."
NOISE = "eth0: renamed from veth12ab"
DRIVER_TROUBLES = (
    *("any = hang", "nvmlDeviceGetPowerUsage = hang", "nvmlDeviceGetPowerUsage = sleep 0.5"),
    *("any = sleep 0.05", "init = error 9", "init = error 18", "init = error 999"),
    *("device.1.any = error 15", "nvmlDeviceGetPowerUsage = segv", "init = abort"),
    *("nvmlDeviceGetPowerUsage = leak 1048576", "nvmlDeviceGetPowerUsage = print hello"),
    *("count = 1,2,1", "uuid = GPU-same", "power = 4294967295"),
)
NOTICE_SECS = 1.0
"""A call of the fake library goes on so late at most after it is well again."""

SMI_TROUBLES = ("smi = hang", "smi = flood 1", "smi = flood_line 2", "smi = child 1000")

ALL_AT_ONCE_MIB = 192
"""Three quarters of what the manifests allow."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of each: counts and seconds."""

    clients: int
    scrapes: int
    records_secs: int
    passes: int
    each_trouble_secs: float
    all_at_once_secs: float
    stops: int
    flood_secs: float
    schedules: int = 20
    schedule_share: float = 1.0
    crash_secs: tuple[float, ...] = (5, 14, 40)
    crash_intervals: tuple[float, ...] = (1, 15)


FULL = Size(10_000, 10_000, 60, 20_000, 15, 600, 20, 600)
SMALL = Size(
    *(500, 500, 5, 200, 3, 20, 4, 20),
    schedules=2,
    schedule_share=0.1,
    crash_secs=(5,),
    crash_intervals=(1,),
)


@contextmanager
def watched(program: Program) -> Iterator[Watch]:
    """Watch the program from its first complete page on."""
    pages.complete_page(program, CAPTURED_GPUS)
    time.sleep(5)  # the process that asks for the name of the processor has ended
    with Watch(program) as watch:
        yield watch


def attacks(folder: Path, size: Size) -> Iterator[Figure]:
    """Garbage, resets, slow clients and many scrapes, one after the other."""
    node = GpuNode(folder / "attacked")
    with node.start(0.2) as program, watched(program) as watch, attackers() as attack:
        time.sleep(2)
        before = program.descriptor_count()
        wrong = attack(_garbage, program.port, size.clients)
        yield Figure(f"{size.clients} malformed requests: answers 5xx", wrong, budget=0)
        attack(reset_in_the_middle, program.port, size.clients)
        wait_for(lambda: program.descriptor_count() <= before + 2, "descriptors", 60)
        yield Figure(f"{size.clients} resets: descriptors more", 0, budget=0)
        took = attack(_slow, program.port, program.process.pid)
        yield Figure("300 half, 50 silent, 200 deaf: until closed", took, "s", 20)
        torn = attack(_torn, program.port, size.scrapes)
        yield Figure(f"{size.scrapes} scrapes: pages of two moments", torn, budget=0)
    yield from watch.figures("attacks")


@contextmanager
def attackers() -> Iterator[Callable[..., Any]]:
    """Call functions in a process of their own: who watches is not to wait for who attacks."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield lambda function, *arguments: pool.submit(function, *arguments).result()


def _garbage(port: int, count: int) -> int:
    return asyncio.run(send_garbage(port, count))


def _slow(port: int, pid: int) -> float:
    """Seconds until the program has closed them all."""
    open_files = Path(f"/proc/{pid}/fd")
    before = sum(1 for _ in open_files.iterdir())
    began = time.monotonic()

    async def scenario() -> None:
        halves = await at_once(300, lambda: connect(port, HALF))
        silent = await at_once(50, lambda: connect(port))
        await asyncio.gather(*(is_closed(streams, 60) for streams in (*halves, *silent)))

    deaf = [deaf_client(port) for _ in range(200)]
    asyncio.run(scenario())
    wait_for(lambda: sum(1 for _ in open_files.iterdir()) <= before + 2, "descriptors", 60)
    took = time.monotonic() - began
    for sock in deaf:
        sock.close()
    return took


def _torn(port: int, count: int) -> int:
    """How many of so many pages are of two moments."""

    async def scenario() -> int:
        torn = 0
        for _ in range(count // 20):
            torn += sum(not is_of_one_moment(it) for it in await at_once(20, lambda: scrape(port)))
        return torn

    return asyncio.run(scenario())


def floods(folder: Path, size: Size) -> Iterator[Figure]:
    """Half requests by the thousand, and TLS handshakes in a pod's memory."""
    with Program(folder / "flooded", {"metrics": {"collect_interval_secs": 1.0}}) as program:
        program.first_page()
        with Watch(program) as watch, flooding("half", program.port, 11_000, 1e5, 3600):
            time.sleep(size.flood_secs / 10)
        worst = max(watch.seen.healths) * 1000
        yield Figure("11,000 half requests: longest /healthz", worst, "ms", 1000)
    yield from watch.figures("11,000 half requests")
    yield from _handshakes(folder, size)


def _handshakes(folder: Path, size: Size) -> Iterator[Figure]:
    (folder / "tls").mkdir(parents=True)
    pair = Authority(folder / "tls").sign("server")
    environment = {
        "APP__SERVER__TLS__CERT_FILE": str(pair.cert),
        "APP__SERVER__TLS__KEY_FILE": str(pair.key),
    }
    changes = {"metrics": {"collect_interval_secs": 1.0}}
    group = MemoryGroup(256 * MIB)
    with Program(folder / "greeted", changes, environment=environment) as program:
        group.take(program.process.pid)
        program.first_page()
        with Watch(program) as watch, flooding("greeting", program.port, 5000, 1000, 3600):
            time.sleep(size.flood_secs)
        time.sleep(size.flood_secs / 10)
        pss = use(program.process.pid).pss_bytes / MIB
        failed = pages.total(program.get("/metrics").text, HANDSHAKES_FAILED)
        yield Figure("TLS handshakes, 1,000 a second: failed", failed)
        yield Figure("TLS handshakes: PSS a minute later", pss, "MiB", 96)
        yield Figure("TLS handshakes in 256 MiB: killed", group.kills(), budget=0)
    yield from watch.figures("TLS handshakes")
    group.close()


def driver(folder: Path, size: Size) -> Iterator[Figure]:
    """Every trouble of library and nvidia-smi, one after the other, then none."""
    node = GpuNode(folder / "troubled")
    with node.start(1.0) as program, watched(program) as watch:
        for line in DRIVER_TROUBLES:
            node.say(nvml=line)
            time.sleep(size.each_trouble_secs)
        for line in SMI_TROUBLES:
            node.say(nvml="init = error 18", smi=line)
            time.sleep(size.each_trouble_secs)
        node.say()
        began = time.monotonic()
        wait_for(lambda: _warm_gpus(program) == CAPTURED_GPUS, "recovery", 120)
        yield Figure("all GPUs back after the last trouble", time.monotonic() - began, "s", 60)
        yield Figure("children left", len(program.child_pids()), budget=2)
    yield from watch.figures("driver troubles")


def schedules(folder: Path, size: Size) -> Iterator[Figure]:
    """Random hangs, crashes and slow calls of the driver, by seed; a seed is named if it fails."""
    late, not_back = [], []
    for seed in range(size.schedules):
        begun, is_back = live_schedule(folder / f"seed{seed}", seed, size.schedule_share)
        late += [f"seed {seed}: {rule}" for rule in begun]
        not_back += [] if is_back else [f"seed {seed}"]
    for line in (*late, *not_back):
        print(line)
    yield Figure(f"{size.schedules} schedules: critical faults after healing", len(late), budget=0)
    yield Figure(f"{size.schedules} schedules: not all back in 60 s", len(not_back), budget=0)


def live_schedule(folder: Path, seed: int, share: float) -> tuple[list[str], bool]:
    """Play a schedule in this share of its time.

    Gives the rules of the critical faults that began after it, and whether all GPUs were back.
    """
    plan = schedule(seed).shortened(share)
    node = GpuNode(folder, plan.gpus)
    node.has_smi = plan.has_smi
    with node.start(plan.interval_secs) as program:
        pages.complete_page(program, plan.gpus)
        began = time.monotonic()
        for moment, lines in plan.moments():
            time.sleep(max(0.0, began + moment - time.monotonic()))
            node.say(nvml="\n".join(lines))
        healed_at = time.time() + NOTICE_SECS
        until = time.monotonic() + HEALING_SECS
        while not (is_back := _warm_gpus(program) == plan.gpus) and time.monotonic() < until:
            time.sleep(0.5)
        rows = program.get("/faults").document["faults"]
    new = [row for row in rows if row["severity"] == "critical" and row["since"] > healed_at]
    return [row["rule"] for row in new], is_back


def _warm_gpus(program: Program) -> int:
    """GPUs that are read: one that had another name for a while stays known as lost."""
    page = program.get("/metrics").text
    stale = pages.total(page, "hw_gpu_data_stale")
    return page.count("\nhw_gpu_temperature_celsius{") - int(stale)


def kernel_log(folder: Path, size: Size) -> Iterator[Figure]:
    """Five thousand lines a second, with twenty Xids among them."""
    node = GpuNode(folder / "flooded")
    with node.start(1.0) as program, watched(program) as watch:
        time.sleep(3)
        memory, spent, began = use(program.process.pid), cpu_secs(program.process.pid), time.time()
        _flood(node, size.records_secs)
        took = time.time() - began
        share = (cpu_secs(program.process.pid) - spent) / took * 100
        found = 'hw_kernel_log_events_total{.*kind="xid"'
        wait_for(lambda: (_xids(program) or 0) >= 20, f"20 of {found}", 30)
        yield Figure("Xids found of 20 in the flood", _xids(program), budget=20, at_least=True)
        yield Figure("5,000 lines a second: processor", share, "%", 20)
        grown = (use(program.process.pid).own_bytes - memory.own_bytes) / MIB
        yield Figure("5,000 lines a second: more memory", grown, "MiB", 8)
    yield from watch.figures("flood of the kernel log")


def _xids(program: Program) -> float:
    page = program.get("/metrics").text
    return pages.total(page.replace('event="xid"', 'kind="xid"'), "hw_gpu_xid_errors_total")


def _flood(node: GpuNode, secs: int) -> None:
    began = time.monotonic()
    with (node.tree.folder / "kmsg").open("wb", buffering=0) as log:
        for number in range(secs * 5000):
            is_xid = number % (secs * 250) == secs * 125
            text, prefix = (XID, 2) if is_xid else (f"{NOISE} {number}", 6)
            now = time.monotonic()
            log.write(kmsg_record(text, sequence=number + 1, stamp=now, prefix=prefix))
            if number % 50 == 49:
                time.sleep(max(0.0, began + number / 5000 - time.monotonic()))


def stops(folder: Path, size: Size) -> Iterator[Figure]:
    """SIGTERM at many moments, half of them while the driver hangs."""
    took, bad = [], 0
    for number in range(size.stops):
        node = GpuNode(folder / f"stopped{number}")
        if number % 2:
            node.wedge()
        with node.start(0.1) as program:
            wait_for(lambda p=program: p.obeys(signal.SIGTERM), "the program")  # type: ignore[misc]  # bound at once
            time.sleep(number * 0.15)
            code, secs = program.stop()
            took.append(secs)
            bad += code != 0 or "Traceback" in program.log_file.read_text()
    yield Figure(f"stopped at {size.stops} moments: longest", max(took), "s", 2)
    yield Figure(f"stopped at {size.stops} moments: not well", bad, budget=0)


def passwords(folder: Path, size: Size) -> Iterator[Figure]:
    """Send a thousand different wrong passwords at once."""
    import bcrypt  # noqa: PLC0415 - an extra that only this trouble needs

    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(10)).decode()
    environment = {"APP__SERVER__AUTH__BASIC_USERS__PROMETHEUS": hashed}
    with Program(folder / "guessed", environment=environment) as program:
        port = program.port
        spent, began = cpu_secs(program.process.pid), time.monotonic()
        asyncio.run(_guess(port, size.clients // 10))
        share = (cpu_secs(program.process.pid) - spent) / (time.monotonic() - began) * 100
        yield Figure(f"{size.clients // 10} wrong passwords: processor", share, "%", 100)
        began = time.monotonic()
        exchange(port, b"GET /health HTTP/1.0\r\n\r\n")
        yield Figure("liveness after them", (time.monotonic() - began) * 1000, "ms", 100)


async def _guess(port: int, count: int) -> None:
    async def one() -> None:
        guess = base64.b64encode(b"prometheus:" + os.urandom(12).hex().encode())
        head = b"GET /node HTTP/1.0\r\nAuthorization: Basic " + guess + b"\r\n\r\n"
        reader, writer = await connect(port, head)
        await asyncio.wait_for(reader.read(), 60)
        writer.close()

    for _ in range(count // 20):
        await at_once(20, one)


def passes(folder: Path, size: Size) -> Iterator[Figure]:
    """Run collections with fifty new processes each.

    What is held after a tenth and at the end.
    """
    command = [sys.executable, "-m", "bench.passes", str(folder / "passes"), str(size.passes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    early, late = json.loads(done.stdout)
    grown = (late["resident"] - early["resident"]) / MIB
    yield Figure(f"{size.passes} collections, 50 new processes each: growth", grown, "MiB", 2)
    for name in ("threads", "descriptors"):
        yield Figure(f"{size.passes} collections: more {name}", late[name] - early[name], budget=0)


def all_at_once(folder: Path, size: Size) -> Iterator[Figure]:
    """Run a hostile tenant that does everything at once, for as long as it takes."""
    node = HostileNode(folder / "hostile")
    with node.start(5.0) as program:
        program.page_with("hw_gpu_processes{")
        time.sleep(10)
        with Watch(program) as watch:
            until = time.monotonic() + size.all_at_once_secs
            forging = threading.Thread(target=_forge, args=(node, until))
            forging.start()
            with attackers() as attack:
                while time.monotonic() < until:
                    attack(_garbage, program.port, 200)
                    attack(reset_in_the_middle, program.port, 100)
                    attack(_slow, program.port, program.process.pid)
            forging.join()
        faults = [fault["rule"] for fault in program.get("/faults").document["faults"]]
        yield Figure("forged lines that made a fault", faults.count("gpu_lost"), budget=0)
        yield Figure("page", len(program.get("/metrics").body) / 1024, "KiB", 1024)
        yield Figure("series", pages.series(program.get("/metrics").text))
    yield from watch.figures("everything at once", ALL_AT_ONCE_MIB)


def _forge(node: HostileNode, until: float) -> None:
    while time.monotonic() < until:
        node.say_in_kernel_log(FORGED)
        time.sleep(0.01)
