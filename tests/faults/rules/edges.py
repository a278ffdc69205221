"""One expression of a rule, tried with values given by hand; the rows of edges.txt."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from exporter.faults.events.query import Events
from exporter.faults.expr.compile import Compiled, EvalContext, compile_expr
from exporter.faults.expr.syntax import LOGIC, Literal, Name, Node, Operation, Window, walk
from exporter.faults.rules.rule import Rule
from exporter.faults.timeseries import History, Series
from exporter.faults.values import Entity, Value
from exporter.model.event import Event, EventType
from exporter.model.verdict import Key
from tests.faults.rules.shipped_rules import pinned_lines

PINNED = "edges.txt"
OWN: Key = ("own", "")
CONDITIONS = ("when", "clear", "only_if", "escalate")
NOW = 100_000.0

Given = Mapping[str, Value]
"""What each part of an expression is said to be, by `written`; what is missing is unknown."""


@dataclass(frozen=True, slots=True)
class Edge:
    """What one expression of a rule says when its parts are these."""

    rule: str
    condition: str
    says: Value
    given: Given

    def line(self) -> str:
        """The row as it is written down."""
        parts = "; ".join(f"{name} = {json.dumps(value)}" for name, value in self.given.items())
        return f"{self.rule}\t{self.condition}\t{json.dumps(self.says)}\t{parts}"


def edge(line: str) -> Edge:
    """The row of this line."""
    rule, condition, says, parts = line.split("\t")
    pairs = (part.rpartition(" = ") for part in parts.split("; ") if part)
    return Edge(rule, condition, json.loads(says), {n: json.loads(v) for n, _, v in pairs})


@cache
def pinned() -> Mapping[str, tuple[Edge, ...]]:
    """The rows of edges.txt by rule."""
    found: dict[str, tuple[Edge, ...]] = {}
    for line in pinned_lines(PINNED):
        row = edge(line)
        found[row.rule] = (*found.get(row.rule, ()), row)
    return found


def wrong_edges(rule: Rule, rows: Iterable[Edge]) -> Iterator[str]:
    """Each row of which the rule says something else."""
    for row in rows:
        condition = getattr(rule, row.condition)
        if condition is None:
            yield f"{rule.id} has no {row.condition}"
        elif (said := evaluate(condition.evaluate, row.given)) != row.says:
            yield f"{row.line()}: now {said}"


def atoms(tree: Node) -> dict[str, Node]:
    """The fields, windows and counts of events an expression speaks of, as they are written."""
    inside = {id(node.name) for node in walk(tree) if isinstance(node, Window)}
    named = (n for n in walk(tree) if isinstance(n, (Name, Window, Events)) and id(n) not in inside)
    return {written(node): node for node in named}


def written(node: Node) -> str:
    """A field, a window or a count of events in words."""
    if isinstance(node, Name):
        return node.text
    if isinstance(node, Window):
        return _window(node.function, node.name.text, node.secs)
    assert isinstance(node, Events)
    filters = "".join(f", {name}={'|'.join(values)}" for name, values in node.filters)
    groups = "".join(f", {w}={'|'.join(g)}" for w, g in _groups(node) if g)
    return f"events({node.what}{filters}{groups}, {node.within_secs:g}s)"


def _groups(node: Events) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("alike", node.alike), ("differ", node.differ)


def _window(function: str, name: str, secs: float) -> str:
    return f"{function}({name}, {secs:g}s)"


def evaluate(compiled: Compiled, given: Given) -> Value:
    """What the expression says when its parts are these."""
    own = Entity(OWN, "it", {name: value for name, value in given.items() if "(" not in name})
    words = {name.partition(".")[0] for name in given if "." in name.partition("[")[0]}
    words |= {name.partition("(")[2].partition(".")[0] for name in given if "(" in name}
    related = {
        word: Entity((word, ""), word, {n.removeprefix(f"{word}."): v for n, v in given.items()})
        for word in words
    }
    return compiled(EvalContext(NOW, _Past(given), _Told(given), own, related))


class _Past(History):
    """Windows that say what is given."""

    def __init__(self, given: Given) -> None:
        super().__init__()
        self._given = given

    def series(self, key: Key, name: str, window_secs: float) -> Series | None:
        return _Said(self._given, name if key == OWN else f"{key[0]}.{name}", window_secs)


class _Said(Series):
    """One window that says what is given."""

    def __init__(self, given: Given, name: str, secs: float) -> None:
        super().__init__(secs)
        self._given, self._name, self._secs = given, name, secs

    def over(self, function: str, secs: float, now: float) -> float | None:
        assert (secs, now) == (self._secs, NOW)
        value = self._given.get(_window(function, self._name, self._secs))
        return value if isinstance(value, (int, float)) else None


class _Told:
    """As many events as are given."""

    def __init__(self, given: Given) -> None:
        self._given = given

    def matching_events(self, entity: Entity, wanted: Events, after: float) -> list[Event] | None:
        del entity, after
        count = self._given.get(written(wanted))
        if not isinstance(count, (int, float)):
            return None
        return [_event(wanted, number) for number in range(int(count))]


def _event(wanted: Events, number: int) -> Event:
    fields = dict.fromkeys(wanted.differ, str(number))
    return Event(NOW, NOW, EventType.ERROR_HW, wanted.what, "own", "", "kernel_log", fields)


def leaves(tree: Node) -> Iterator[Node]:
    """The comparisons and bare conditions of an expression."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Operation) and node.sign in LOGIC:
            waiting.extend(node.parts)
        else:
            yield node


def without(tree: Node, leaf: Node, stand_in: Node) -> Node:
    """The same expression with something else in the place of one of its leaves."""
    if tree is leaf:
        return stand_in
    if not isinstance(tree, Operation):
        return tree
    return replace(tree, parts=tuple(without(part, leaf, stand_in) for part in tree.parts))


def idle_leaves(rule: Rule, rows: Iterable[Edge]) -> Iterator[tuple[str, Node]]:
    """Each comparison that could be true or false for ever, and no row would show it."""
    tried = tuple(rows)
    for word in CONDITIONS:
        condition = getattr(rule, word)
        mine = [row for row in tried if row.condition == word]
        for leaf in leaves(condition.tree) if condition else ():
            for fixed in (True, False):
                broken = compile_expr(without(condition.tree, leaf, Literal(fixed, 0)))
                if all(evaluate(broken, row.given) == row.says for row in mine):
                    yield word, leaf
