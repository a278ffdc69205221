"""What the lines of external probes may say."""

from typing import Any

import pytest

from exporter.model.event import Event, EventType
from exporter.model.probe import ProbeMetric, ProbeValue
from exporter.probes.lines import LineReader
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
        {"metric": "hw_npu", "type": "histogram", "value": 1},
        {"metric": "hw_npu", "value": "1"},
        {"metric": "hw_npu", "value": True},
        {"metric": "hw_npu", "value": 10**400},
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
