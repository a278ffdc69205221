"""Compiles an expression tree to a three-valued function that never raises.

A tree is compiled once, when the rules are loaded; an evaluation only calls the functions.
"""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from exporter.faults.events.query import Events
from exporter.faults.events.store import number_of
from exporter.faults.expr.syntax import (
    COMPARISONS,
    LOGIC,
    Known,
    Literal,
    Name,
    Node,
    Operation,
    Window,
)
from exporter.faults.timeseries import History, Series
from exporter.faults.values import Entity, Value
from exporter.model.event import Event
from exporter.record import dataclass

COUNTING = ("increase", "changes")
"""Functions that return an increase: they can leave out what came before a moment."""


class EventLookup(Protocol):
    """Finds events of an entity."""

    def matching_events(self, entity: Entity, wanted: Events, after: float) -> "list[Event] | None":
        """Find the events of the entity after this boot time; None if no source of them works."""
        ...


@dataclass(slots=True)
class EvalContext:
    """One component at one moment; reused for the next component.

    Events and increases of counters up to `after` do not count. `lasts_until` is the boot time
    until which all that was evaluated can change with fields and new events only, not with time;
    whoever evaluates sets it.
    """

    now: float
    history: History
    events: EventLookup
    entity: Entity
    related: Mapping[str, Entity]
    after: float = -math.inf
    lasts_until: float = math.inf

    def entity_for(self, word: str) -> Entity | None:
        """Return the related component of this word; the component itself for an empty word."""
        return self.related.get(word) if word else self.entity

    def series(self, word: str, field: str, secs: float) -> Series | None:
        """Return the series of a field over this window; None without samples."""
        owner = self.entity_for(word)
        return None if owner is None else self.history.series(owner.key, field, secs)

    def matching_events(self, wanted: Events) -> list[Event] | None:
        """Find the events that the expression `wanted` counts."""
        events = self.events.matching_events(self.entity, wanted, self.after)
        if events:
            self.lasts_until = min(self.lasts_until, events[0].boottime + wanted.within_secs)
        return events


Compiled: TypeAlias = Callable[[EvalContext], Value]

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def compile_expr(node: Node) -> Compiled:
    """Return the function of a type-checked tree."""
    if isinstance(node, Literal):
        value = node.value
        return lambda _: value
    if isinstance(node, Name):
        return _name(node)
    if isinstance(node, Operation):
        return _logic(node) if node.sign in LOGIC else _combination(node)
    if isinstance(node, Known):
        return _known(node.name)
    return _window(node) if isinstance(node, Window) else _events(node)


def _known(node: Name) -> Compiled:
    field, key, word = node.field, node.key, node.related

    def known(ctx: EvalContext) -> Value:
        owner = ctx.related.get(word) if word else ctx.entity
        if owner is None:
            return False
        if owner.fields.get(key) is not None:
            return True
        return None if field in owner.untold else False

    return known


def _name(node: Name) -> Compiled:
    key, word = node.key, node.related
    if not word:
        return lambda ctx: ctx.entity.fields.get(key)

    def of_related(ctx: EvalContext) -> Value:
        owner = ctx.related.get(word)
        return None if owner is None else owner.fields.get(key)

    return of_related


def _logic(node: Operation) -> Compiled:
    """Return `or` (true if one part is true) or `and` (false if one part is false), or `not`."""
    parts = tuple(map(compile_expr, node.parts))
    decisive = node.sign == "or"

    def opposite(ctx: EvalContext) -> Value:
        value = parts[0](ctx)
        return None if value is None else not value

    def junction(ctx: EvalContext) -> Value:
        result: Value = not decisive
        for part in parts:
            value = part(ctx)
            if value is None:
                result = None
            elif value == decisive:
                return decisive
        return result

    return opposite if node.sign == "not" else junction


def _combination(node: Operation) -> Compiled:
    """Return a comparison or a calculation; a share of nothing is unknown."""
    left, right = map(compile_expr, node.parts)
    combine, (first_node, limit) = _OPERATORS[node.sign], node.parts
    if isinstance(limit, Literal) and node.sign in COMPARISONS:
        return _limit(first_node, left, combine, limit.value)

    def combination(ctx: EvalContext) -> Value:
        first, second = left(ctx), right(ctx)
        if first is None or second is None:
            return None
        try:
            result: float = combine(first, second)
        except (ZeroDivisionError, OverflowError):
            return None
        return result if math.isfinite(result) else None

    return combination


def _limit(
    node: Node, left: Compiled, compare: Callable[[Any, Any], bool], limit: Value
) -> Compiled:
    """Return a comparison with a number or text: the most frequent ones, with fewer calls."""
    if isinstance(node, Name) and not node.related:
        key = node.key

        def field_with_limit(ctx: EvalContext) -> Value:
            value = ctx.entity.fields.get(key)
            return None if value is None else compare(value, limit)

        return field_with_limit

    def comparison_with_limit(ctx: EvalContext) -> Value:
        value = left(ctx)
        return None if value is None else compare(value, limit)

    return comparison_with_limit


def _window(node: Window) -> Compiled:
    word, key, function, secs = node.name.related, node.name.key, node.function, node.secs

    def window(ctx: EvalContext) -> Value:
        series = ctx.series(word, key, secs)
        if series is None:
            return None
        ctx.lasts_until = min(ctx.lasts_until, series.same_until(function, secs, ctx.now))
        span = min(secs, ctx.now - ctx.after) if function in COUNTING else secs
        return series.over(function, span, ctx.now)

    return window


def _events(node: Events) -> Compiled:
    def count(ctx: EvalContext) -> Value:
        events = ctx.matching_events(node)
        if not events:
            return None if events is None else 0
        return number_of(events, node)

    return count
