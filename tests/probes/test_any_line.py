"""Any JSON in any field of a probe's line: it costs that line, and never the next one."""

import json
import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.collectors.external_probes.test_stream import probing
from tests.fakes.virtual_time import in_virtual_time

RECORD = {"ts": "1", "event_type": '"error.hw"', "entity_id": '"npu0"', "value": '"broken"'}
LINES: tuple[dict[str, str], ...] = (
    {**RECORD, "pid": "null", "job_id": "null"},
    {**RECORD, "value": "7"},
    {"metric": '"hw_npu_celsius"', "type": '"gauge"', "help": '""', "labels": "{}", "value": "1"},
    {
        "metric": '"hw_npu_seconds"',
        "type": '"histogram"',
        "buckets": '{"1": 1, "+Inf": 2}',
        "sum": "3",
    },
)
FIELDS = tuple(dict.fromkeys(name for line in LINES for name in line))
DEEP = 700
HOSTILE = (
    *("1" * 400, "-" + "1" * 400, "1e999", "-1e999", "1" * 5000, "NaN", "9e307", "0.5", "-0"),
    *('"1e999"', '"\\ud800"', '"\\u0000"', '"' + "x" * 5000 + '"', '""', "true", "null"),
    *("[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP, '{"+Inf": 1e999}', '{"le": "1"}'),
    *('{"+Inf": ' + "9" * 400 + "}", '{"1e999": 1, "+Inf": 1}', '{"\\u0661": 1, "+Inf": 1}'),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
VALUES = st.sampled_from(HOSTILE) | JSON.map(json.dumps)
CHANGED = st.tuples(st.sampled_from(LINES), st.dictionaries(st.sampled_from(FIELDS), VALUES))
GOOD = b'{"metric": "hw_good", "value": 1}\n'


@given(CHANGED)
@example((LINES[0], {"ts": "1" * 400}))
@settings(max_examples=300, deadline=None)
def test_any_line_costs_only_itself(changed: tuple[dict[str, str], dict[str, str]]) -> None:
    """Whatever stands in its fields is counted once, and the good line behind it is taken."""
    _take_any_then_good({**changed[0], **changed[1]})


@pytest.mark.parametrize("field", FIELDS)
def test_each_hostile_value_in_each_field_costs_only_its_line(field: str) -> None:
    """Numbers beyond any bound, depth, and characters that no page can hold."""
    for line in LINES:
        for value in HOSTILE:
            _take_any_then_good({**line, field: value})


@in_virtual_time
async def _take_any_then_good(fields: dict[str, str]) -> None:
    """Let a probe print a line and a good one; each must be counted, what is kept be showable."""
    line = "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}\n"
    async with probing() as scene:
        scene.child.says(line.encode() + GOOD)
        state = scene.probe.state()
        lines: Counter[str] = Counter(dict(state.lines))
        assert lines["good"] >= 1, line
        assert lines.total() == 2, line
        assert "hw_good" in {metric.name for metric in state.metrics}, line
        numbers: list[Any] = [value.value for value in state.values]
        numbers += [number for metric in state.metrics for _, number in metric.numbers]
        assert all(map(math.isfinite, numbers)), line
        for event in scene.events:
            assert 0 <= event.at < 253402300800, line  # year 9999: what a page can print
            assert event.pid is None or 0 < event.pid < 2**31, line
