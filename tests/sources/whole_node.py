"""All sources that read files, over a tree of files, without threads or a collector."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar, cast

from exporter.config import Config
from exporter.model.snapshot import Snapshot
from exporter.probes.child import Children
from exporter.sources import SOURCES
from exporter.sources.context import Surroundings
from exporter.sources.host import node_building
from exporter.sources.interface import Source, SourceAbsent, SourceFailed
from tests.fakes.host_tree import HostTree

T = TypeVar("T")

NODE_ROWS = tuple(row for row in SOURCES if row.build.__module__ == node_building.__name__)


async def _now(function: Callable[[], T]) -> T:
    return function()


def call_now(function: Callable[[], T]) -> Awaitable[T]:
    """Call it here and now: nothing in a tree of files blocks."""
    return _now(function)


def sources(tree: HostTree) -> Iterator[Source]:
    """Every source of the list that reads files, over this tree."""
    config = Config()
    roots = replace(
        config.sources,
        proc_root=str(tree.proc),
        sys_root=str(tree.sys),
        host_root=str(tree.host),
    )
    around = Surroundings(
        config=replace(config, sources=roots),
        hostname="node-1",
        child_environment={},
        children=Children(),
        gpu_children=Children(),
        call=call_now,
        wall=lambda: 0.0,
        boottime=lambda: 0.0,
        wake=lambda _name: None,
        known_cpu_model=lambda: None,
        is_metric_taken=lambda _name: False,
    )
    return (cast("Source", row.build(around)) for row in NODE_ROWS)


def look_around(tree: HostTree, leave_out: frozenset[str] = frozenset()) -> Snapshot:
    """What all of them see now, as a snapshot."""
    readings = {}
    for source in sources(tree):
        if source.name in leave_out:
            continue
        try:
            value = asyncio.run(source.read()).value
        except (SourceAbsent, SourceFailed):
            continue  # not on this node
        readings[type(value)] = value
    return Snapshot(
        node="node-1",
        sequence=1,
        taken_at=0.0,
        taken_boottime=0.0,
        duration_secs=0.0,
        readings=MappingProxyType(readings),
    )
