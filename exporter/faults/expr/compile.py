"""What an expression says about one entity: three-valued, and never an exception.

A tree is turned into functions once, when the rules are loaded; a judgement only calls them.
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from exporter.faults.entities.entity import Entity
from exporter.faults.events.store import number_of
from exporter.faults.expr.syntax import (
    AGE_WINDOW_SECS,
    Age,
    Arithmetic,
    Compare,
    Events,
    Junction,
    Known,
    Literal,
    Name,
    Node,
    Not,
    Value,
    Window,
)
from exporter.faults.timeseries import History, Series
from exporter.model.event import Event


class Happenings(Protocol):
    """Where events are looked up."""

    def of(self, entity: Entity, wanted: Events) -> "list[Event] | None":
        """The wanted events of the entity; None when nobody listened and none is known."""
        ...


@dataclass(slots=True)
class Situation:
    """One entity at one moment; used again and again for the next entity."""

    now: float
    history: History
    happenings: Happenings
    entity: Entity
    kin: Mapping[str, Entity]

    def whose(self, kin: str) -> Entity | None:
        """The entity itself, or its kin of that name."""
        return self.kin.get(kin) if kin else self.entity

    def series(self, name: Name, secs: float) -> Series | None:
        """What is remembered of the field over so many seconds."""
        owner = self.whose(name.kin)
        return None if owner is None else self.history.series(owner.key, name.key, secs)


Meaning: TypeAlias = Callable[[Situation], Value]

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def meaning_of(node: Node) -> Meaning:
    """The function that says what the node says; the tree must have been checked."""
    if isinstance(node, Literal):
        value = node.value
        return lambda _: value
    if isinstance(node, Name):
        return _name(node)
    if isinstance(node, (Not, Junction)):
        return _logic(node)
    if isinstance(node, Compare):
        return _compare(node)
    if isinstance(node, Arithmetic):
        return _arithmetic(node)
    return _function(node)


def _logic(node: Not | Junction) -> Meaning:
    if isinstance(node, Not):
        return _not(meaning_of(node.part))
    parts = tuple(meaning_of(part) for part in node.parts)
    return _all(parts) if node.word == "and" else _any(parts)


def _function(node: Known | Window | Events | Age) -> Meaning:
    if isinstance(node, Known):
        name = _name(node.name)
        return lambda situation: name(situation) is not None
    if isinstance(node, Window):
        return _window(node)
    if isinstance(node, Events):
        return _events(node)
    return _age(node)


def _name(node: Name) -> Meaning:
    key, kin = node.key, node.kin
    if not kin:
        return lambda situation: situation.entity.fields.get(key)

    def of_kin(situation: Situation) -> Value:
        owner = situation.kin.get(kin)
        return None if owner is None else owner.fields.get(key)

    return of_kin


def _not(part: Meaning) -> Meaning:
    def opposite(situation: Situation) -> Value:
        value = part(situation)
        return None if value is None else not value

    return opposite


def _all(parts: Iterable[Meaning]) -> Meaning:
    fixed = tuple(parts)

    def conjunction(situation: Situation) -> Value:
        result: Value = True
        for part in fixed:
            value = part(situation)
            if value is None:
                result = None
            elif not value:
                return False
        return result

    return conjunction


def _any(parts: Iterable[Meaning]) -> Meaning:
    fixed = tuple(parts)

    def disjunction(situation: Situation) -> Value:
        result: Value = False
        for part in fixed:
            value = part(situation)
            if value is None:
                result = None
            elif value:
                return True
        return result

    return disjunction


def _compare(node: Compare) -> Meaning:
    left, right = meaning_of(node.left), meaning_of(node.right)
    compare = _COMPARISONS[node.operator]
    if isinstance(node.right, Literal):
        limit = node.right.value  # most comparisons are with a number: one call less

        def comparison_with_limit(situation: Situation) -> Value:
            first = left(situation)
            return None if first is None else compare(first, limit)  # type: ignore[arg-type]  # as below

        return comparison_with_limit

    def comparison(situation: Situation) -> Value:
        first, second = left(situation), right(situation)
        if first is None or second is None:
            return None
        return compare(first, second)  # type: ignore[arg-type]  # like was set beside like when checked

    return comparison


def _arithmetic(node: Arithmetic) -> Meaning:
    left, right = meaning_of(node.left), meaning_of(node.right)
    combine = _ARITHMETIC[node.operator]

    def combination(situation: Situation) -> Value:
        first, second = left(situation), right(situation)
        if first is None or second is None:
            return None
        try:
            result = combine(first, second)  # type: ignore[arg-type]  # numbers, as checked
        except (ZeroDivisionError, OverflowError):
            return None  # nothing can be said of a share of nothing
        return result if math.isfinite(result) else None

    return combination


def _window(node: Window) -> Meaning:
    name, function, secs = node.name, node.function, node.secs

    def window(situation: Situation) -> Value:
        series = situation.series(name, secs)
        return None if series is None else series.over(function, secs, situation.now)

    return window


def _events(node: Events) -> Meaning:
    def count(situation: Situation) -> Value:
        found = situation.happenings.of(situation.entity, node)
        return None if found is None else number_of(found, node)

    return count


def _age(node: Age) -> Meaning:
    name = node.name
    if name is None:

        def known_for(situation: Situation) -> Value:
            first = situation.history.first_seen(situation.entity.key)
            return None if first is None else situation.now - first

        return known_for

    def unchanged_for(situation: Situation) -> Value:
        series = situation.series(name, AGE_WINDOW_SECS)
        return None if series is None else series.age(situation.now)

    return unchanged_for
