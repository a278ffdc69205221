"""The real program pushes to a real OpenTelemetry Collector, which goes away and comes back."""

import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from exporter.blocking import DaemonThreads
from exporter.config.otlp import Otlp
from exporter.exposition.family import Family, Histogram, MetricType
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Snapshot
from exporter.otlp.push import Pusher
from tests.fakes.otel_collector import NoCollector, collector, find_collector
from tests.fakes.otlp_receiver import Sample, samples_of, samples_of_page
from tests.fakes.prometheus import free_port
from tests.program import Program, wait_for

pytestmark = pytest.mark.system

Values = dict[Sample, float]

DEMO = (sys.executable, "-m", "exporter", "demo", "--whole-node", "--healthy")
LEAST_SERIES = 1000
"""The simulated node has more: GPUs, disks, links and their rules."""
LEAST_AT_REST = 0.95
"""The other series are of the exporter itself and of the time of the scrape."""
INTERVAL_SECS = 0.5
LONG_SECS = 60.0
"""Pauses between pushes grow while the receiver is gone."""


@pytest.fixture(scope="module")
def program() -> Path:
    """The folder with the Collector; skipped where it has not been built."""
    try:
        return find_collector()
    except NoCollector as reason:
        pytest.skip(str(reason))


def _page(node: Program) -> Values:
    return samples_of_page(node.get("/metrics").text)


def _settings(url: str) -> dict[str, dict[str, Any]]:
    return {
        "otlp": {"endpoint": url, "interval_secs": 1},
        "metrics": {"collect_interval_secs": INTERVAL_SECS},
    }


def test_the_collector_gets_the_values_of_the_page(program: Path, tmp_path: Path) -> None:
    """Series by name and label, and the value of each that rests between two looks at the page."""
    with collector(program, tmp_path / "collector", free_port()) as receiver:
        changes = _settings(receiver.url) | {"metrics": {"collect_interval_secs": 600}}
        with Program(tmp_path / "node", changes, command=DEMO) as node:
            node.page_with("hw_gpu_activity_ratio")
            node.page_with('hw_exporter_otlp_pushes_total{node="')
            at_rest, pushed = wait_for(
                lambda: _compared(node, receiver.requests), "a push at rest", LONG_SECS
            )
    assert {it: pushed[it] for it in at_rest} == at_rest
    assert len(at_rest) >= LEAST_AT_REST * len(pushed)
    assert len(pushed) >= LEAST_SERIES


def _compared(node: Program, requests: Callable[[], list[Any]]) -> tuple[Values, Values] | None:
    """Return what rests on two pages, and the push between them; None if a collection was."""
    before, count = _page(node), len(requests())
    wait_for(lambda: len(requests()) > count + 1, "a push after the first look")
    pushed = samples_of(requests()[count + 1])
    after = _page(node)
    if not _collections(before) == _collections(pushed) == _collections(after):
        return None
    assert set(pushed) == set(after)
    return {it: value for it, value in before.items() if after[it] == value}, pushed


async def test_any_value_arrives(program: Path, tmp_path: Path) -> None:
    """Values that are not finite, histograms, and labels that are no UTF-8."""
    snapshot = Snapshot('node-"1"', 1, 1.8e9, 1000.0, 0.01)
    waits = Histogram(((0.1, 2), (0.5, 5), (math.inf, 7)), 3.5)
    families = [
        Family("hw_odd_volts", "V", MetricType.GAUGE, ("a",), lambda _: [(("ü\ud800",), math.nan)]),
        Family("hw_far_seconds", "F", MetricType.GAUGE, (), lambda _: [((), -math.inf)]),
        Family("hw_big_bytes_total", "B", MetricType.COUNTER, (), lambda _: [((), 2**60)]),
        Family("hw_wait_seconds", "W", MetricType.HISTOGRAM, ("q",), lambda _: [(("",), waits)]),
    ]
    with collector(program, tmp_path, free_port()) as receiver:
        pusher = Pusher(
            Otlp(endpoint=receiver.url),
            "1.2",
            lambda: (snapshot, families),
            call=DaemonThreads(),
            wall=time.time,
            pushes=Counter(),
        )
        await pusher.step()
        (request,) = receiver.requests()
    assert dict(pusher.pushes) == {"accepted": 1}
    got = samples_of(request)
    assert math.isnan(got.pop(("hw_odd_volts", (("a", "ü?"), ("node", 'node-"1"')))))
    assert got == samples_of_page(render(families[1:], snapshot, Format.TEXT).body.decode())


def test_the_collector_may_be_gone(program: Path, tmp_path: Path) -> None:
    """One sentence, collections as often as before, nothing kept for later; then it goes on."""
    port = free_port()
    with ExitStack() as there:
        receiver = there.enter_context(collector(program, tmp_path / "first", port))
        with Program(tmp_path / "node", _settings(receiver.url)) as node:
            wait_for(lambda: len(receiver.requests()) > 1, "two pushes")
            there.close()
            node.page_with('outcome="failed"} 2')
            before = node.collections()
            wait_for(lambda: node.collections() >= before + 4, "collections to go on", 5)
            gone = "OTLP: the receiver cannot be asked: ClientConnectorError"
            assert _said(node) == [gone]
            back_at = time.time()
            with collector(program, tmp_path / "second", port) as back:
                wait_for(back.requests, "a push", LONG_SECS)
                assert min(_times(back.requests()[0])) >= back_at
                again = "OTLP: the receiver accepts the metrics again"
                wait_for(lambda: _said(node) == [gone, again], "its sentence")


def _said(node: Program) -> list[str]:
    return [line["message"] for line in node.log_lines if "OTLP" in line["message"]]


def _times(request: Any) -> set[float]:
    """Return the Unix times of the values, in seconds."""
    metrics = [it for each in request.resource_metrics for it in each.scope_metrics[0].metrics]
    data = [getattr(it, it.WhichOneof("data")) for it in metrics]
    return {point.time_unix_nano / 1e9 for each in data for point in each.data_points}


def _collections(values: Values) -> float:
    return sum(it for (name, _), it in values.items() if name == "hw_exporter_collections_total")
