"""A context to build sources from, with nothing behind it but what a test puts there."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from exporter.config import Config
from exporter.probes.child import Children
from exporter.reading.context import SourceContext

T = TypeVar("T")


async def _now(function: Callable[[], T]) -> T:
    return function()


def call_now(function: Callable[[], T]) -> Awaitable[T]:
    """Call it here and now: nothing in a tree of files blocks."""
    return _now(function)


def source_context(config: Config | None = None, **changes: Any) -> SourceContext:
    """Build the context of a node where nothing is known and nothing waits."""
    settings: dict[str, Any] = {
        "config": config or Config(),
        "hostname": "node-1",
        "child_environment": {},
        "children": Children(),
        "driver_children": Children(),
        "call": call_now,
        "wall": lambda: 0.0,
        "boottime": lambda: 0.0,
        "wake": lambda _name: None,
        "known_cpu_model": lambda: None,
        "is_metric_taken": lambda _name: False,
    }
    return SourceContext(**(settings | changes))
