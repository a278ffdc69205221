"""The list of families: what holds for every row."""

import re
from collections import Counter

from exporter.exposition import FAMILIES, LIVE_FAMILIES, NAMES, TAKEN
from exporter.exposition.family import Family, MetricType

ROWS: list[Family] = [*FAMILIES, *LIVE_FAMILIES]

NOT_TOTAL = {"hw_node_uptime_seconds"}  # a name that must stay


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
    counters = {row.name for row in ROWS if row.type is MetricType.COUNTER}
    assert {name for name in names if name.endswith("_total")} == counters - NOT_TOTAL


def test_probes_take_no_name_of_ours() -> None:
    """Nor one that a page in either format makes of it."""
    ours = {"hw_disk_latency_seconds_bucket", "hw_gpu_up", "hw_disk_read_bytes_total"}
    assert ours | {"hw_disk_latency_seconds_sum", "hw_disk_read_bytes"} <= TAKEN
    assert NAMES <= TAKEN


def test_labels_are_names_and_never_node() -> None:
    """`node` is put in front of every sample by the renderer."""
    for row in ROWS:
        assert "node" not in row.labels, row.name
        assert len(set(row.labels)) == len(row.labels), row.name
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", label) for label in row.labels), row.name
