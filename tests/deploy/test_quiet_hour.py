"""An hour of nodes that are well, scraped in virtual time, before all our alerts."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from exporter.collectors.clock import STA_UNSYNC, TIME_ERROR, TIMEX, TIMEX_BYTES, Clock
from exporter.collectors.everything import rule_book
from exporter.collectors.kernel_log.values import KernelLog
from exporter.model.snapshot import Snapshot
from tests.fakes.prometheus import RULES
from tests.fakes.promtool import (
    METRIC,
    gives,
    input_series,
    needs_promtool,
    samples,
    trial,
    tried,
)
from tests.fakes.virtual_node import VirtualNode, cpu_server, demo_node, page_of

pytestmark = pytest.mark.slow
HOUR, SCRAPE_SECS = 3600, 15
UNSYNCHRONIZED = TIMEX.pack(0, 0, 0, 16_000_000, 16_000_000, STA_UNSYNC)
CONTAINER = "cri-containerd-3f.scope"


def _crash(pid: int) -> str:
    return (
        f"curl[{pid}]: segfault at 18 ip 00007f12aa0b3c21 sp 00007ffd1c0e9a10 error 4 in "
        "libcurl.so.4.7.0[7f12aa0a0000+60000] likely on CPU 3 (core 3, socket 0)"
    )


def _out_of_memory(pid: int) -> str:
    pod = "/kubepods/burstable/pod5f3a1c9e-0000-4000-8000-000000000001"
    return (
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={CONTAINER},"
        f"mems_allowed=0,oom_memcg={pod}/{CONTAINER},task_memcg={pod}/{CONTAINER},"
        f"task=app,pid={pid},uid=0\n"
        f"Memory cgroup out of memory: Killed process {pid} (app) total-vm:99kB, anon-rss:98kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:40kB oom_score_adj:1000"
    )


CRASHES = {60 + 90 * number: _crash(9000 + number) for number in range(38)}
KILLS = {100 + 600 * number: _out_of_memory(7000 + number) for number in range(6)}


def _nodes(folder: Path) -> Iterator[tuple[str, AbstractContextManager[VirtualNode]]]:
    def never_in_step() -> tuple[int, bytes]:
        return TIME_ERROR, UNSYNCHRONIZED.ljust(TIMEX_BYTES, b"\0")

    yield "gpus", demo_node(0, interval_secs=SCRAPE_SECS)
    yield "plain", cpu_server(folder / "plain")
    yield "noisy", cpu_server(folder / "noisy", {**CRASHES, **KILLS}, never_in_step)


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Snapshot]]:
    """What the exporter publishes in an hour on each of these nodes."""
    book = rule_book()
    found = {}
    logging.disable()
    try:
        for name, node in _nodes(tmp_path_factory.mktemp("nodes")):
            with node as watched:
                found[name] = watched.snapshots(name, HOUR, book)
    finally:
        logging.disable(logging.NOTSET)
    return found


def _scrapes(snapshots: list[Snapshot]) -> Iterator[Mapping[str, float]]:
    """What alerts need of the page at each scrape."""
    needed = frozenset(METRIC.findall((RULES / "alerts.yml").read_text()))
    first = snapshots[0].taken_boottime
    for second in range(0, HOUR, SCRAPE_SECS):
        shown = [it for it in snapshots if it.taken_boottime <= first + second][-1]
        page = samples(page_of(shown, first + second, needed))
        yield {f'up{{job="hw-exporter",instance="{shown.node}:8080"}}': 1.0, **page}


def _firing(severities: str) -> str:
    alerts = f'ALERTS{{alertstate="firing",severity=~"{severities}"}}'
    return f"count(last_over_time({alerts}[1h])) or vector(0)"


@needs_promtool
def test_an_hour_of_healthy_nodes_notifies_nobody(
    hours: Mapping[str, list[Snapshot]], tmp_path: Path
) -> None:
    """GPUs at work, a plain server, and one with an unsynchronised clock, crashes, OOM kills."""
    assert all(len(snapshots) >= HOUR / 15 for snapshots in hours.values())
    series = [row for each in hours.values() for row in input_series(list(_scrapes(each)))]
    assert len(series) > 30
    nobody = gives(_firing("critical|warning"), 60, 0)
    test = trial(series, nobody, interval=f"{SCRAPE_SECS}s")
    tried(tmp_path, test, evaluated=f"{SCRAPE_SECS}s")


def test_what_happened_was_seen(hours: Mapping[str, list[Snapshot]]) -> None:
    """The trouble of that hour was read, and what is said of it has severity info."""
    said = {
        name: {
            (fault.rule, fault.severity)
            for snapshot in snapshots
            if snapshot.conclusions is not None
            for fault in snapshot.conclusions.active
        }
        for name, snapshots in hours.items()
    }
    assert said["gpus"] >= {("gpu_idle_allocated", "info")}
    assert said["plain"] == set()
    assert said["noisy"] == {("pod_oom_kill", "info"), ("pod_oom_loop", "info")}
    clock, log = hours["noisy"][-1].reading(Clock), hours["noisy"][-1].reading(KernelLog)
    assert clock is not None
    assert not clock.synchronized
    assert log is not None
    assert dict(log.kinds)["segfault"] == len(CRASHES)
