"""Families that external probes name themselves."""

import math

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.collectors.external_probes.families import named_by_probes
from exporter.collectors.external_probes.values import (
    ExternalProbes,
    Labels,
    ProbeMetric,
    ProbeState,
)
from exporter.exposition.family import Histogram
from exporter.exposition.page import END_OF_OPENMETRICS
from exporter.exposition.render import MAX_FAMILY_SERIES, Format, Rendered, render
from exporter.model.snapshot import Snapshot
from tests.fakes.promtool import remarks

CALLS = Histogram(((0.001, 3), (10.0, 7), (math.inf, 9)), 12.5)
BOUNDS = [0.0, 5e-05, 0.001, 0.1, 1.0, 2.5, 100.0, 1e6, 1048576.0, 1.5e7, 1e10, 1e16, 2.0**80]


def _histogram(value: Histogram, labels: Labels = (("call", "x"),)) -> ProbeMetric:
    return ProbeMetric("hw_call_seconds", "histogram", "Duration of calls.", labels, value)


def _rendered(form: Format, *metrics: ProbeMetric) -> Rendered:
    readings: dict[type, object] = {
        ExternalProbes: ExternalProbes((ProbeState("p", up=True, metrics=metrics),))
    }
    snapshot = Snapshot("n", 1, 0.0, 0.0, 0.0, readings)
    return render(named_by_probes(snapshot), snapshot, form)


def _page(form: Format, *metrics: ProbeMetric) -> str:
    return _rendered(form, *metrics).body.decode()


EVERY_BOUND = _histogram(
    Histogram(tuple((bound, place) for place, bound in enumerate([*BOUNDS, math.inf])), 1.5),
    (("a", 'x"\\'), ("b", "")),
)


@pytest.mark.parametrize("form", list(Format))
def test_a_histogram_is_a_classic_one(form: Format) -> None:
    """Cumulative buckets with `le`, a sum and a count, as a Prometheus client writes them."""
    unit = "# UNIT hw_call_seconds seconds\n" if form is Format.OPENMETRICS else ""
    assert _page(form, _histogram(CALLS)) == (
        "# HELP hw_call_seconds Duration of calls.\n"
        f"# TYPE hw_call_seconds histogram\n{unit}"
        'hw_call_seconds_bucket{node="n",call="x",le="0.001"} 3\n'
        'hw_call_seconds_bucket{node="n",call="x",le="10.0"} 7\n'
        'hw_call_seconds_bucket{node="n",call="x",le="+Inf"} 9\n'
        'hw_call_seconds_sum{node="n",call="x"} 12.5\n'
        'hw_call_seconds_count{node="n",call="x"} 9\n'
    )


def test_both_parsers_read_every_bound() -> None:
    """Small, large and odd ones: OpenMetrics takes a bound in one spelling only."""
    text, openmetrics = (_page(form, EVERY_BOUND) for form in Format)
    found = [
        [(s.name, s.labels, s.value) for family in families for s in family.samples]
        for families in (
            parse_text(text),
            parse_openmetrics(openmetrics + END_OF_OPENMETRICS.decode()),
        )
    ]
    assert found[0] == found[1]
    assert [float(labels["le"]) for _, labels, _ in found[0][:-2]] == [*BOUNDS, math.inf]


@pytest.mark.system
def test_promtool_finds_nothing() -> None:
    """`promtool check metrics` has no complaint about a histogram."""
    assert remarks(_page(Format.TEXT, EVERY_BOUND).encode()) == set()


def test_buckets_count_as_series() -> None:
    """A family has its bound in series of the page; what is too much is dropped whole."""
    many = [_histogram(CALLS, (("call", str(number)),)) for number in range(500)]
    rendered = _rendered(Format.TEXT, *many)
    kept = MAX_FAMILY_SERIES // CALLS.series
    assert rendered.series == kept * CALLS.series
    assert rendered.body.count(b"_count{") == kept
    assert rendered.dropped == (("hw_call_seconds", (500 - kept) * CALLS.series),)


@pytest.mark.parametrize(
    ("name", "kind"), [("hw_call_seconds_count", "gauge"), ("hw_call_seconds", "gauge")]
)
def test_no_name_is_on_the_page_twice(name: str, kind: str) -> None:
    """The first to name a family has the names of its buckets, sum and count as well."""
    other = ProbeMetric(name, kind, "", (("call", "x"),), 1.0)
    for form in Format:
        alone = _page(form, _histogram(CALLS))
        assert _page(form, _histogram(CALLS), other) == alone
        assert "histogram" not in _page(form, other, _histogram(CALLS))
