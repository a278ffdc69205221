"""What the lines of external probes may say."""

import math
from typing import Any

import pytest

from exporter.collectors.external_probes.lines import LineReader
from exporter.collectors.external_probes.values import ProbeMetric, ProbeValue
from exporter.exposition.family import Histogram
from exporter.model.event import Event, EventType
from exporter.probes.protocol import BadLine


def _reader() -> LineReader:
    return LineReader("npu", lambda name: name == "hw_node_info", lambda: 5000.0)


def _record(**changes: Any) -> dict[str, Any]:
    return {
        "ts": 1_700_000_000_500,
        "event_type": "transport.bw",
        "entity_id": "eth0",
        "value": "12.5",
        "pid": None,
        "job_id": None,
        "node_id": None,
        **changes,
    }


def _histogram(**changes: Any) -> dict[str, Any]:
    return {
        "metric": "hw_npu_call_seconds",
        "type": "histogram",
        "labels": {"npu": "0"},
        "buckets": {"0.001": 3, "10": 7, "+Inf": 9},
        "sum": 12.5,
        **changes,
    }


@pytest.mark.parametrize(("value", "number"), [("12.5", 12.5), ("-3", -3.0), (7, 7.0)])
def test_a_number_becomes_a_value(value: object, number: float) -> None:
    """Numbers may be texts, as the line format has them."""
    said = _reader().parse(_record(value=value))
    assert said == ProbeValue("transport.bw", "eth0", number)


def test_a_text_becomes_an_event() -> None:
    """Errors and states are evidence for the rules."""
    said = _reader().parse(_record(event_type="error.hw", value="lane lost", pid=42))
    assert said == Event(
        at=1_700_000_000.5,
        boottime=5000.0,
        type=EventType.ERROR_HW,
        kind="lane lost",
        entity_type="probe",
        entity_id="eth0",
        source="probe:npu",
        pid=42,
        raw="lane lost",
    )


@pytest.mark.parametrize(
    ("said", "pid", "fields"),
    [
        ({"pid": 42, "job_id": "train-7"}, 42, {"job": "train-7"}),
        ({"pid": True, "job_id": ""}, None, {}),
        ({"pid": "42", "job_id": 7}, None, {}),
        ({"pid": None, "job_id": None}, None, {}),
    ],
)
def test_an_event_names_its_process_and_its_job(
    said: dict[str, Any], pid: int | None, fields: dict[str, str]
) -> None:
    """Where the line has them, and they can be a pid and the name of a job."""
    event = _reader().parse(_record(event_type="error.hw", value="lane lost", **said))
    assert isinstance(event, Event)
    assert (event.pid, event.fields) == (pid, fields)


def test_the_kind_of_an_event_is_short() -> None:
    """Rules and pages show the first 64 characters of a text; all of it is evidence."""
    event = _reader().parse(_record(event_type="error.hw", value="x" * 100))
    assert isinstance(event, Event)
    assert (event.kind, event.raw) == ("x" * 64, "x" * 100)


def test_a_named_metric_keeps_its_name() -> None:
    """The rich form carries name, type, help and labels."""
    said = _reader().parse(
        {
            "metric": "hw_npu_temperature_celsius",
            "type": "gauge",
            "help": "Temperature of\nthe NPU.",
            "labels": {"npu": 'a"b'},
            "value": 61,
        }
    )
    assert said == ProbeMetric(
        "hw_npu_temperature_celsius", "gauge", "Temperature of the NPU.", (("npu", 'a"b'),), 61.0
    )


@pytest.mark.parametrize(
    ("buckets", "read"),
    [
        ({"0.001": 3, "10": 7, "+Inf": 9}, ((0.001, 3), (10.0, 7), (math.inf, 9))),
        ({"+Inf": 9, "1e1": 7, "0": 0}, ((0.0, 0), (10.0, 7), (math.inf, 9))),
        ({"+Inf": 9}, ((math.inf, 9),)),
        (
            {str(n): n for n in range(63)} | {"+Inf": 63},
            (*((float(n), n) for n in range(63)), (math.inf, 63)),
        ),
    ],
)
def test_a_histogram_has_cumulative_buckets(
    buckets: dict[str, int], read: tuple[tuple[float, int], ...]
) -> None:
    """As a Prometheus client shows them, in any order; the last holds all observations."""
    reported = _reader().parse(_histogram(buckets=buckets))
    assert isinstance(reported, ProbeMetric)
    assert (reported.kind, reported.value) == ("histogram", Histogram(read, 12.5))
    assert reported.numbers == (
        ("hw_npu_call_seconds_count", read[-1][1]),
        ("hw_npu_call_seconds_sum", 12.5),
    )
    assert reported.series == len(buckets) + 2


def test_a_bucket_of_minus_zero_is_one_of_zero() -> None:
    """The page never shows a bound with a sign."""
    reported = _reader().parse(_histogram(buckets={"-0": 1, "+Inf": 9}))
    assert isinstance(reported, ProbeMetric)
    assert isinstance(reported.value, Histogram)
    assert str(reported.value.buckets[0][0]) == "0.0"


def test_a_metric_has_up_to_ten_labels() -> None:
    """Ten are kept."""
    labels = {f"l{n}": "x" for n in range(10)}
    reported = _reader().parse({"metric": "hw_npu", "value": 1, "labels": labels})
    assert isinstance(reported, ProbeMetric)
    assert reported.labels == tuple(labels.items())


NOTHING_YET: dict[str, Any] = {"buckets": {"0.001": 0, "+Inf": 0}, "sum": 0}


def test_a_histogram_of_nothing_is_one() -> None:
    """A probe that has just begun has observed nothing, and says so."""
    assert isinstance(_reader().parse(_histogram(**NOTHING_YET)), ProbeMetric)


@pytest.mark.parametrize("kind", ["gauge", "counter", "histogram"])
def test_no_name_on_the_page_may_be_ours(kind: str) -> None:
    """Neither the name itself nor the names that a page in either format makes of it."""
    name = {"counter": "hw_a_seconds_total"}.get(kind, "hw_a_seconds")
    found = {
        f"hw_a_seconds{suffix}": suffix for suffix in ("", "_bucket", "_sum", "_count", "_total")
    }
    refused = set()
    for ours, suffix in found.items():
        message = _histogram(metric=name, type=kind, value=1)
        try:
            LineReader("npu", ours.__eq__, lambda: 0.0).parse(message)
        except BadLine:
            refused.add(suffix)
    assert (
        refused
        == {
            "gauge": {""},
            "counter": {"", "_total"},
            "histogram": {"", "_bucket", "_sum", "_count"},
        }[kind]
    )


@pytest.mark.parametrize(
    "message",
    [
        {},
        _record(event_type="no.such"),
        _record(entity_id=""),
        _record(entity_id=7),
        _record(value=None),
        _record(value=[1]),
        _record(value="down", ts="yesterday"),
        _record(value="down", ts=None),
        {"metric": "node_load1", "value": 1},
        {"metric": "hw_UPPER", "value": 1},
        {"metric": "hw_x\ny", "value": 1},
        {"metric": "hw_" + "x" * 200, "value": 1},
        {"metric": 7, "value": 1},
        {"metric": "hw_node_info", "value": 1},
        {"metric": "hw_npu_total", "type": "gauge", "value": 1},
        {"metric": "hw_npu", "type": "counter", "value": 1},
        {"metric": "hw_npu_total", "type": "counter", "value": -1},
        {"metric": "hw_npu", "type": "histogram", "value": 1},
        {"metric": "hw_npu", "type": [], "value": 1},
        _histogram(metric="hw_npu_calls"),
        _histogram(metric="hw_npu_seconds_total"),
        _histogram(labels={"le": "1"}),
        _histogram(labels=None),
        _histogram(buckets=None),
        _histogram(buckets=[1]),
        _histogram(buckets={}),
        _histogram(buckets={"1": 1}),
        _histogram(buckets={"1": 2, "+Inf": 1}),
        _histogram(buckets={"1": 1, "1.0": 1, "+Inf": 1}),
        _histogram(buckets={"-1": 1, "+Inf": 1}),
        _histogram(buckets={"1e999": 1, "+Inf": 1}),
        _histogram(buckets={"1e999": 1}),
        _histogram(buckets={"inf": 1, "+Inf": 1}),
        _histogram(buckets={"NaN": 1, "+Inf": 1}),
        _histogram(buckets={"one": 1, "+Inf": 1}),
        _histogram(buckets={"1": -1, "+Inf": 1}),
        _histogram(buckets={"1": 0.5, "+Inf": 1}),
        _histogram(buckets={"1": True, "+Inf": 1}),
        _histogram(buckets={"1": "1", "+Inf": 1}),
        _histogram(buckets={"+Inf": 2**53 + 1}),
        _histogram(buckets={str(n): n for n in range(64)} | {"+Inf": 64}),
        _histogram(sum=None),
        _histogram(sum="1"),
        _histogram(sum=-1),
        _histogram(sum=10**400),
        _histogram(sum=1, buckets={"+Inf": 0}),
        _record(event_type="error.hw", value="lane lost", ts=True),
        _record(event_type="error.hw", value="lane lost", ts="now"),
        {"metric": "hw_npu", "value": "1"},
        {"metric": "hw_npu", "value": True},
        {"metric": "hw_npu", "value": 10**400},
        {"metric": "hw_npu", "value": math.inf},
        {"metric": "hw_npu", "value": math.nan},
        {"metric": "hw_npu"},
        {"metric": "hw_npu", "value": 1, "labels": []},
        {"metric": "hw_npu", "value": 1, "labels": {"node": "x"}},
        {"metric": "hw_npu", "value": 1, "labels": {"a-b": "x"}},
        {"metric": "hw_npu", "value": 1, "labels": {"a": 1}},
        {"metric": "hw_npu", "value": 1, "labels": {f"l{n}": "x" for n in range(11)}},
    ],
)
def test_a_bad_line_is_refused(message: dict[str, Any]) -> None:
    """It costs itself, with a reason, and nothing else is raised."""
    with pytest.raises(BadLine):
        _reader().parse(message)
