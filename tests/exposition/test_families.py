"""The list of families: what holds for every row."""

import math
import re
from collections import Counter
from dataclasses import replace

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.collectors.everything import FAMILIES, LIVE_FAMILIES, NAMES, TAKEN
from exporter.exposition.family import SUFFIXES, Family, Histogram, MetricType, unit_of
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Snapshot
from tests.fakes.promtool import listed_remarks, remarks

ROWS: list[Family] = [*FAMILIES, *LIVE_FAMILIES]
LEAST_WORDS = 6
"""A shorter HELP repeats the name: «Bytes read.»"""
MUST_STAY = {"hw_gpu_count", "hw_gpu_used_count", "hw_gpu_type_count"}
SNAPSHOT = Snapshot("node-1", 1, 0.0, 0.0, 0.0)


def _named(row: Family) -> str:
    return row.name


def test_every_name_is_there_once() -> None:
    """Two families of one name would make a page that Prometheus refuses."""
    assert [name for name, count in Counter(map(_named, ROWS)).items() if count > 1] == []


def test_rows_follow_the_conventions() -> None:
    """Prefix, spelling, a sentence of help, and `_total` behind counters and nothing else."""
    names = [row.name for row in ROWS]
    assert [name for name in names if not re.fullmatch(r"hw_[a-z0-9]+(_[a-z0-9]+)*", name)] == []
    assert [row.name for row in ROWS if not re.fullmatch(r"[A-Z].*\.", row.help)] == []
    assert [row.name for row in ROWS if len(row.help.split()) < LEAST_WORDS] == []
    counters = {row.name for row in ROWS if row.type is MetricType.COUNTER}
    assert {name for name in names if name.endswith("_total")} == counters


def test_probes_take_no_name_of_ours() -> None:
    """Nor one that a page in either format makes of it."""
    assert {"hw_gpu_up", "hw_disk_read_bytes_total", "hw_disk_read_bytes"} <= TAKEN
    of_histograms = {row.name for row in ROWS if row.type is MetricType.HISTOGRAM}
    assert {f"{name}_{part}" for name in of_histograms for part in ("bucket", "sum")} <= TAKEN
    assert NAMES <= TAKEN


def _value(row: Family) -> float | Histogram:
    return Histogram(((math.inf, 1),), 1.0) if row.type is MetricType.HISTOGRAM else 1


def _with_one_sample(row: Family) -> Family:
    return replace(row, samples=lambda _: [(("x",) * len(row.labels), _value(row))])


def test_a_family_has_one_type_in_both_formats() -> None:
    """Each heading says the same type; an info metric is a gauge where there is no other word."""
    families = [_with_one_sample(row) for row in ROWS]
    text, openmetrics = (render(families, SNAPSHOT, form).body.decode() for form in Format)
    both = zip(parse_text(text), parse_openmetrics(openmetrics + "# EOF\n"), ROWS, strict=True)
    for in_text, in_openmetrics, row in both:
        assert in_text.type == in_openmetrics.type.replace("info", "gauge"), row.name
        assert {it.name for it in in_text.samples} == {it.name for it in in_openmetrics.samples}
        assert in_openmetrics.unit == ("" if row.type is MetricType.INFO else unit_of(row.name))


@pytest.mark.system
def test_promtool_remarks_on_the_listed_names_only() -> None:
    """Every family together: the remarks are those of the table in docs/conventions.md."""
    page = render(map(_with_one_sample, ROWS), SNAPSHOT, Format.TEXT).body
    assert remarks(page) == listed_remarks()
    assert {remark.split()[0] for remark in listed_remarks()} == MUST_STAY


def test_families_share_no_name_in_openmetrics() -> None:
    """No family is named as another one is without `_info` or `_total`."""
    names = Counter(row.name.removesuffix(SUFFIXES.get(row.type, "")) for row in ROWS)
    assert [name for name, count in names.items() if count > 1] == []


def test_labels_are_names_and_never_node() -> None:
    """`node` is put in front of every sample by the renderer."""
    for row in ROWS:
        assert "node" not in row.labels, row.name
        assert len(set(row.labels)) == len(row.labels), row.name
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", label) for label in row.labels), row.name
