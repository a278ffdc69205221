"""The calls that everything needs crash: what the program says meanwhile, and when it is over."""

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path

from bench.figures import Figure
from bench.troubles import Size
from tests.collectors.gpu.trouble_schedules import HEALING_SECS, SCENARIO_KEYS
from tests.fakes.native import build_nvml, build_smi
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.gpu_node import CAPTURE, GpuNode
from tests.program import Program

GPUS = 8
AT_ONCE = 4
"""Programs that run beside each other: they mostly wait."""

WINDOW_SECS = 20.0
MOST_STARTS = 3
"""Of a probe in any window after the first."""

FAULT_SECS = 30.0
LONGEST_SECS = 120.0
CRASHES: tuple[tuple[str, tuple[int | None, ...]], ...] = (
    *((call, (None,)) for call in ("nvmlInit", "nvmlDeviceGetCount")),
    *product(("nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID"), ((2,), tuple(range(GPUS)))),
)
SMI_LOSSES = {
    "sentence": ("device.3.handle = error 15",),
    "row": ("device.3.uuid = error 15", "device.3.name = error 15"),
    "missing": ("count = 7", "order = 0,1,2,4,5,6,7"),
}
"""How nvidia-smi says that GPU 3 is lost."""

NVML_WITHOUT_GPU_3 = {
    "NVML cannot start": ("init = error 18",),
    "NVML answers, crashes on the UUID": ("device.3.nvmlDeviceGetUUID = segv",),
    "NVML answers, calls the GPU lost": ("device.3.any = error 15",),
}


@dataclass(frozen=True, slots=True)
class Crash:
    """One call crashes on these GPUs, or in the library (None), for so many seconds."""

    call: str
    places: tuple[int | None, ...]
    secs: float
    interval_secs: float
    has_smi: bool

    @property
    def lines(self) -> tuple[str, ...]:
        """The crash in the words of the fake library's scenario."""
        word = f"{SCENARIO_KEYS[self.call]} = segv"
        return tuple(word if at is None else f"device.{at}.{word}" for at in self.places)

    def __str__(self) -> str:
        where = "library" if None in self.places else f"{len(self.places)} GPUs"
        smi = "with" if self.has_smi else "without"
        return f"{self.call}, {where}, {self.secs:g} s, every {self.interval_secs:g} s, {smi} smi"


@dataclass(slots=True)
class Seen:
    """What was seen of one crash: lies, most GPUs down, most starts of a probe, until fresh."""

    lies: tuple[str, ...] = ()
    most_down: int = 0
    backends: tuple[str, ...] = ()
    starts: int = 0
    fresh_secs: float = 0.0

    def take(self, page: "PageOfGpus") -> None:
        """Take in one page."""
        self.lies = tuple(dict.fromkeys((*self.lies, *page.lies)))
        self.most_down = max(self.most_down, sum(not up for up in page.up.values()))
        self.backends = tuple(dict.fromkeys((*self.backends, page.backend)))


@dataclass(frozen=True, slots=True)
class PageOfGpus:
    """What the program says of its GPUs at one moment: by index, whether up and whether stale."""

    up: dict[str, float]
    stale: dict[str, float]
    backend: str
    lies: tuple[str, ...]

    @property
    def is_fresh(self) -> bool:
        """Whether every GPU is up, and read just now."""
        return len(self.up) == GPUS and all(self.up.values()) and not any(self.stale.values())


def gpus_of(program: Program) -> PageOfGpus:
    """Read the page and the verdict, and note where they call a sick node healthy."""
    page, status = program.get("/metrics").text, program.get("/status").document
    up, stale = by_index(page, "hw_gpu_up"), by_index(page, "hw_gpu_data_stale")
    lies = []
    if not all(up.values()):
        if not re.search(r"^hw_node_healthy\{.*\} 0$", page, re.MULTILINE):
            lies.append("a GPU is down and the node is healthy")
        if not re.search(r'^hw_fault_active\{.*severity="critical".*\} 1$', page, re.MULTILINE):
            lies.append("a GPU is down without a critical fault")
    verdict = status["verdict"]
    if any(gpu["state"] == "stale" for gpu in status["gpus"]) and (
        verdict["state"] == "healthy" or "cannot be read now" not in verdict["sentence"]
    ):
        lies.append(f"a GPU is stale: {verdict['sentence']}")
    backend = re.search(r'^hw_gpu_backend_info\{.*backend="([^"]*)"', page, re.MULTILINE)
    return PageOfGpus(up, stale, backend[1] if backend else "", tuple(lies))


def by_index(page: str, family: str) -> dict[str, float]:
    """Return the values of a family by the index of the GPU."""
    found = re.findall(rf'^{family}{{[^}}]*gpu_index="(\d+)"[^}}]*}} (\S+)$', page, re.MULTILINE)
    return {index: float(value) for index, value in found}


def down_by_faults(program: Program) -> set[str]:
    """Return the names of the GPUs that have a critical fault."""
    rows = program.get("/faults").document["faults"]
    return {
        row["entity"]["hw_name"]
        for row in rows
        if (row["state"], row["severity"]) == ("active", "critical")
        and row["entity"]["hw_type"] == "gpu"
    }


def _node(folder: Path) -> GpuNode:
    folder.mkdir(parents=True)
    return GpuNode(folder, NvmlLibrary(build_nvml(), folder), NvidiaSmi(build_smi(), folder))


def play(folder: Path, crash: Crash) -> Seen:
    """Let the call crash for its time, and the library be well again."""
    node, seen = _node(folder), Seen()
    at_start = crash.call in ("nvmlInit", "nvmlDeviceGetHandleByIndex")  # by a new process only
    if at_start:
        node.nvml.say(*crash.lines, capture=CAPTURE)
    smi_paths = [str(node.smi.path)] if crash.has_smi else []
    with node.start(crash.interval_secs, smi_paths=smi_paths) as program:
        if not at_start:
            program.page_with('backend="nvml",reason="ok"')
            node.nvml.say(*crash.lines, capture=CAPTURE)
        program.first_page()
        began = time.monotonic()
        _watch(program, seen, lambda _: time.monotonic() > began + crash.secs)
        node.nvml.say(capture=CAPTURE)
        healed = time.monotonic()
        _watch(
            program, seen, lambda page: page.is_fresh or time.monotonic() > healed + LONGEST_SECS
        )
        seen.fresh_secs = time.monotonic() - healed
        starts = [call.monotonic_ns / 1e9 for call in node.nvml.calls("nvmlInitWithFlags")]
    late = [at for at in starts if at > began + WINDOW_SECS]
    seen.starts = max((sum(at <= it < at + WINDOW_SECS for it in late) for at in late), default=0)
    return seen


def _watch(program: Program, seen: Seen, is_over: Callable[[PageOfGpus], bool]) -> None:
    while True:
        page = gpus_of(program)
        seen.take(page)
        if is_over(page):
            return
        time.sleep(0.2)


def lose(folder: Path, way: tuple[str, str]) -> float:
    """Let nvidia-smi call GPU 3 lost; return the seconds until that is a critical fault."""
    node, nvml, smi = _node(folder), NVML_WITHOUT_GPU_3[way[0]], SMI_LOSSES[way[1]]
    if any("init" in line for line in nvml):
        node.nvml.say(*nvml, capture=CAPTURE)
    with node.start(15.0) as program:
        program.page_with("hw_gpu_temperature_celsius")
        began = time.monotonic()
        node.smi.say(*smi, capture=CAPTURE)
        node.nvml.say(*nvml, capture=CAPTURE)
        while "GPU 3" not in down_by_faults(program) and time.monotonic() < began + LONGEST_SECS:
            time.sleep(0.1)
        return time.monotonic() - began


def crashes(folder: Path, size: Size) -> Iterator[Figure]:
    """Play every crash for each time, and every way in which nvidia-smi calls a GPU lost."""
    cells = [
        Crash(call, places, secs, interval_secs, has_smi)
        for call, places in CRASHES
        for secs, interval_secs, has_smi in product(
            size.crash_secs, size.crash_intervals, (True, False)
        )
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        played = list(pool.map(play, (folder / f"crash{n}" for n in count()), cells))
        ways = list(product(NVML_WITHOUT_GPU_3, SMI_LOSSES))
        lost = list(pool.map(lose, (folder / f"lost{n}" for n in count()), ways))
    for cell, seen in zip(cells, played, strict=True):
        print(f"  {cell}: {seen}", flush=True)
    lies = sum(len(seen.lies) for seen in played)
    yield Figure(f"{len(cells)} crashes: sick GPUs under a healthy verdict", lies, budget=0)
    starts = max(seen.starts for seen in played)
    yield Figure("crashes: starts of a probe in 20 s", starts, budget=MOST_STARTS)
    fresh_secs = max(seen.fresh_secs for seen in played)
    yield Figure("crashes: until all GPUs are fresh again", fresh_secs, "s", HEALING_SECS)
    for (nvml, smi), secs in zip(ways, lost, strict=True):
        yield Figure(f"{nvml}; lost by its {smi}: until a fault", secs, "s", FAULT_SECS)
