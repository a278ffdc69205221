"""GPU families that export one field each: what the values of a GPU declare."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from exporter.collectors.gpu.gpu import Gpu
from exporter.collectors.gpu.labels import EACH_GPU
from exporter.exposition.rows import Row, families

COUNTED_SINCE = (
    ("volatile", "since the driver was loaded (volatile)"),
    ("aggregate", "over the life of the board (aggregate)"),
)
"""Volatile and aggregate counters of the same errors are metrics of their own."""


def _rows(name: str, *, help: str = "", counted: str = "", **row: Any) -> Iterator[Row]:  # noqa: A002 - as in Row
    """Yield the metrics of one value; none without a HELP text."""
    if counted:
        for counter, since in COUNTED_SINCE:
            metric = f"{counted}_{counter}_errors_total"
            yield Row(metric, f"{help} {since}.", name, counter=counter, **row)
    elif help:
        yield Row(name, help, **row)


ROWS = tuple(
    row for item in fields(Gpu) for row in _rows(item.name, **item.metadata.get("row", {}))
)
MAIN = 7
"""So many values come first on the page: memory, utilization, temperature and power."""

MAIN_FAMILIES = families("hw_gpu_", EACH_GPU, *ROWS[:MAIN])
FAMILIES = families("hw_gpu_", EACH_GPU, *ROWS[MAIN:])
