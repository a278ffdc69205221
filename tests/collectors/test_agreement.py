"""This machine, as we say it and as others do: the kernel's own files, and node_exporter."""

import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from exporter.collectors.everything import FAMILIES
from exporter.exposition.render import Format, render
from tests.collectors.whole_node import look_around
from tests.fakes.host_tree import HostTree
from tests.fakes.prometheus import free_port
from tests.program import wait_for

pytestmark = pytest.mark.system

Key = tuple[str, tuple[tuple[str, str], ...]]
Samples = dict[Key, float]
Values = dict[tuple[str, ...], float]

PROGRAMS = ("prometheus-node-exporter", "node_exporter")
COMPAT = Path(__file__).resolve().parents[2] / "deploy/prometheus/compat-node.yml"
MOVING = 2 * 1024**3 * 1.0
SLACK = {
    **dict.fromkeys(("node_load1", "node_load5", "node_load15"), 1.0),
    **dict.fromkeys(("node_boot_time_seconds", "node_timex_maxerror_seconds"), 1.0),
    "node_timex_offset_seconds": 0.1,
    "node_filefd_allocated": 5000.0,
    "node_filesystem_files_free": 100_000.0,
    "node_nf_conntrack_entries": 1000.0,
    "node_disk_io_now": 1000.0,
    **{
        f"node_{name}_bytes": MOVING
        for name in (
            *("memory_MemFree", "memory_MemAvailable", "memory_Cached", "memory_Buffers"),
            *("memory_SUnreclaim", "memory_Dirty", "memory_Writeback"),
            *("filesystem_avail", "filesystem_free"),
        )
    },
}
"""How far what moves in both directions may be off, in the unit of the family."""


NOT_THE_SAME = "node_network_receive_drop_total"
"""By netlink, packets that the adapter missed are left out; /proc/net/dev adds them."""


def _shared() -> dict[str, str]:
    """Our families by the names of node_exporter, where compat-node.yml only renames them."""
    groups = yaml.safe_load(COMPAT.read_text("utf-8"))["groups"]
    rules = {rule["record"]: rule["expr"].strip() for group in groups for rule in group["rules"]}
    return {
        theirs: ours for theirs, ours in rules.items() if ours in LABELS and theirs != NOT_THE_SAME
    }


LABELS = {family.name: family.labels for family in FAMILIES}
SHARED = _shared()
COUNTERS = [theirs for theirs in SHARED if SHARED[theirs].endswith("_total")]
GAUGES = [theirs for theirs in SHARED if not SHARED[theirs].endswith("_total")]


class RealMachine(HostTree):
    """The roots of the machine the tests run on."""

    @property
    def proc(self) -> Path:
        """The real one."""
        return Path("/proc")

    @property
    def sys(self) -> Path:
        """The real one."""
        return Path("/sys")

    @property
    def host(self) -> Path:
        """The real one."""
        return Path("/")


def our_samples() -> Samples:
    """What we say of this machine now."""
    snapshot = look_around(RealMachine(Path("/")), frozenset({"nvme_health"}))
    return parsed(render(FAMILIES, snapshot, Format.TEXT).body.decode())


def parsed(page: str) -> Samples:
    """The samples of a page by name and labels, ours without `node`."""
    return {
        (sample.name, tuple(sorted((k, v) for k, v in sample.labels.items() if k != "node"))): (
            sample.value
        )
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def chosen(samples: Samples, name: str, labels: tuple[str, ...]) -> Values:
    """The samples of one family by the labels compared."""
    return {
        tuple(dict(found)[label] for label in labels): value
        for (sample, found), value in samples.items()
        if sample == name and all(label in dict(found) for label in labels)
    }


@dataclass(frozen=True, slots=True)
class Look:
    """What node_exporter said, and what we said just before and just after."""

    before: Samples
    theirs: Samples
    after: Samples

    def samples(self, name: str) -> tuple[Values, Values, Values]:
        """Theirs of this name, ours before and ours after, by the labels of our family."""
        ours = SHARED[name]
        labels = LABELS[ours]
        theirs, before, after = (
            chosen(self.theirs, name, labels),
            chosen(self.before, ours, labels),
            chosen(self.after, ours, labels),
        )
        if not before.keys() & theirs.keys():
            pytest.skip(f"this machine does not have both {ours} and {name}")
        return theirs, before, after


@pytest.fixture(scope="module")
def look() -> Iterator[Look]:
    """Both programs on this machine, within a second."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("node_exporter is not installed")
    port = free_port()
    process = subprocess.Popen(
        [program, f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _page(port)
        before = our_samples()
        theirs = parsed(_page(port))
        yield Look(before, theirs, our_samples())
    finally:
        process.kill()
        process.wait(10)


def _page(port: int) -> str:
    """The page of node_exporter; it needs a moment until it listens."""

    def look() -> str | None:
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer,
        ):
            page: bytes = answer.read()
            return page.decode()
        return None

    return wait_for(look, "node_exporter to listen")


@pytest.mark.parametrize("name", COUNTERS)
def test_counters_agree_with_node_exporter(name: str, look: Look) -> None:
    """Its value lies between ours before and ours after, for every device that we show."""
    theirs, before, after = look.samples(name)
    for key in before.keys() & after.keys() & theirs.keys():
        assert before[key] - 1e-6 <= theirs[key] <= after[key] + 1e-6, key


@pytest.mark.parametrize("name", GAUGES)
def test_gauges_agree_with_node_exporter(name: str, look: Look) -> None:
    """Equal where nothing moves, within the difference of two moments where it does."""
    theirs, before, _ = look.samples(name)
    for key in before.keys() & theirs.keys():
        assert before[key] == pytest.approx(theirs[key], abs=SLACK.get(name, 1e-9)), key


def test_processor_time_agrees_with_node_exporter(look: Look) -> None:
    """It speaks of each processor, we of all together."""
    for mode in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"):
        theirs = sum(
            value
            for (name, labels), value in look.theirs.items()
            if name == "node_cpu_seconds_total" and dict(labels)["mode"] == mode
        )
        key = ("hw_cpu_seconds_total", (("mode", mode),))
        allowance = 0.05 + 0.01 * (os.cpu_count() or 1)  # each processor is rounded by itself
        assert look.before[key] - allowance <= theirs <= look.after[key] + allowance, mode


def test_pressure_agrees_with_node_exporter(look: Look) -> None:
    """Waiting is at least one task, stalled is all tasks, as there."""
    pairs = product(("cpu", "memory", "io"), ("waiting", "stalled"))
    for resource, kind in pairs:
        theirs = f"node_pressure_{resource}_{kind}_seconds_total"
        key = (f"hw_pressure_{kind}_seconds_total", (("resource", resource),))
        said = chosen(look.theirs, theirs, ()).get(())
        if said is None or key not in look.before:
            continue  # the kernel of this machine does not measure it
        assert look.before[key] - 1e-6 <= said <= look.after[key] + 1e-6, key


def test_devices_are_those_of_the_kernel() -> None:
    """Every interface, disk and filesystem on the page is one that the kernel lists."""
    samples = our_samples()
    interfaces = set(os.listdir("/sys/class/net"))  # noqa: PTH208 - names are wanted
    assert {key[0] for key in chosen(samples, "hw_network_up", ("device",))} <= interfaces
    disks = set(os.listdir("/sys/block"))  # noqa: PTH208 - names are wanted
    assert {key[0] for key in chosen(samples, "hw_disk_io_in_flight", ("device",))} <= disks
    table = Path("/proc/self/mounts").read_text()
    for (mountpoint,) in chosen(samples, "hw_filesystem_size_bytes", ("mountpoint",)):
        assert re.search(rf" {re.escape(mountpoint)} ", table)


def test_values_are_those_of_the_kernel() -> None:
    """Total memory and boot time, read by hand from the files they come from."""
    samples = our_samples()
    total = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    boot = re.search(r"btime (\d+)", Path("/proc/stat").read_text())
    assert total is not None
    assert boot is not None
    assert samples["hw_memory_total_bytes", ()] == int(total[1]) * 1024
    assert samples["hw_node_boot_time_seconds", ()] == int(boot[1])
    assert samples["hw_filesystem_size_bytes", next(
        labels for name, labels in samples if name == "hw_filesystem_size_bytes"
    )] > 0  # fmt: skip
