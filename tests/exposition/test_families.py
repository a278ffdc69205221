"""The list of families: what holds for every row."""

import re
from collections import Counter

import pytest

from exporter.exposition import FAMILIES, LIVE_FAMILIES
from exporter.exposition.family import Family, MetricType
from exporter.exposition.live import LiveFamily

ROWS: list[Family | LiveFamily] = [*FAMILIES, *LIVE_FAMILIES]

NOT_TOTAL = {"hw_node_uptime_seconds"}  # a name that must stay


def _named(row: Family | LiveFamily) -> str:
    return row.name


def test_every_name_is_there_once() -> None:
    """Two families of one name would make a page that Prometheus refuses."""
    assert [name for name, count in Counter(map(_named, ROWS)).items() if count > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=_named)
def test_a_row_follows_the_conventions(row: Family | LiveFamily) -> None:
    """Prefix, spelling, a sentence of help, and `_total` behind counters and nothing else."""
    assert re.fullmatch(r"hw_[a-z0-9]+(_[a-z0-9]+)*", row.name)
    assert re.fullmatch(r"[A-Z].*\.", row.help), "help is a sentence"
    is_counter = row.type is MetricType.COUNTER
    assert row.name.endswith("_total") == (is_counter and row.name not in NOT_TOTAL)


@pytest.mark.parametrize("row", ROWS, ids=_named)
def test_labels_are_names_and_never_node(row: Family | LiveFamily) -> None:
    """`node` is put in front of every sample by the renderer."""
    assert "node" not in row.labels
    assert len(set(row.labels)) == len(row.labels)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", label) for label in row.labels)
