"""Writes limits.txt and edges.txt of each collector: where each comparison alone decides.

Run as a module after a rule was added or changed on purpose, and read the difference.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from exporter.collectors.everything import VOCABULARY, rule_book
from exporter.faults.events.query import Events
from exporter.faults.expr.compile import Compiled, compile_expr
from exporter.faults.expr.syntax import Known, Literal, Name, Node, Operation, walk
from exporter.faults.rules.rule import Condition, Rule
from exporter.faults.values import Type, Value
from tests.faults.rules.edges import (
    CONDITIONS,
    PINNED,
    Edge,
    Given,
    atoms,
    evaluate,
    idle_leaves,
    leaves,
    without,
)
from tests.faults.rules.limits import LIMITS, limits
from tests.faults.rules.shipped_rules import pinned_file

TRIES = 3000
BESIDE = 0.01
"""How far from a limit just below and just above are, as a part of it."""


def edges(rule: Rule) -> list[Edge]:
    """Return the rows of all expressions of a rule."""
    found: dict[str, Edge] = {}
    for word in CONDITIONS:
        condition = getattr(rule, word)
        if condition is not None:
            for given in _Search(rule, word, condition).all_given():
                row = Edge(rule.id, word, evaluate(condition.evaluate, given), given)
                found.setdefault(row.line(), row)
    for word, leaf in idle_leaves(rule, tuple(found.values())):
        condition = getattr(rule, word)
        for given in _Search(rule, word, condition).needing(leaf):
            row = Edge(rule.id, word, evaluate(condition.evaluate, given), given)
            found.setdefault(row.line(), row)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Atom:
    """One part that can be chosen freely, and what it may be."""

    name: str
    pool: tuple[Value, ...]
    is_whole: bool


class _Search:
    """Looks for values of one expression at which one comparison decides."""

    def __init__(self, rule: Rule, word: str, condition: Condition) -> None:
        self._condition = condition
        self._random = random.Random(f"{rule.id} {word}")  # noqa: S311 - the same at each run
        literals = [n.value for n in walk(condition.tree) if isinstance(n, Literal)]
        self._atoms = {
            name: _atom(name, node, rule.entity, literals)
            for name, node in atoms(condition.tree).items()
        }

    def all_given(self) -> Iterator[Given]:
        for leaf in leaves(self._condition.tree):
            for name in atoms(leaf):
                yield from self._shrunk(name, self._deciding(leaf, name))

    def needing(self, leaf: Node) -> Iterator[Given]:
        """Yield values at which it matters that this leaf is not always the same."""
        for fixed in (True, False):
            broken = compile_expr(without(self._condition.tree, leaf, Literal(fixed, 0)))
            for _ in range(TRIES):
                given = {n: self._random.choice(atom.pool) for n, atom in self._atoms.items()}
                if evaluate(broken, given) != self._says(given):
                    yield {key: value for key, value in given.items() if value is not None}
                    break

    def _says(self, given: Given) -> Value:
        return evaluate(self._condition.evaluate, given)

    def _deciding(self, leaf: Node, name: str) -> list[dict[str, Value]]:
        """Values beside the limit of the leaf between which the whole changes, best first."""
        sides = [compile_expr(s) for s in leaf.parts] if isinstance(leaf, Operation) else []
        alone = compile_expr(leaf)
        best: list[dict[str, Value]] = []
        for _ in range(TRIES):
            given = {n: self._random.choice(atom.pool) for n, atom in self._atoms.items()}
            rows = [{**given, name: v} for v in self._beside(leaf, name, given, sides)]
            said = [self._says(row) for row in rows]
            own = [evaluate(alone, row) for row in rows]
            if {True, False} <= set(said) and len(set(own)) > 1:
                return rows
            if len(set(said)) > 1 and len(set(own)) > 1:
                best = best or rows
        return best

    def _beside(
        self, leaf: Node, name: str, given: Given, sides: list[Compiled]
    ) -> tuple[Value, ...]:
        atom = self._atoms[name]
        texts = tuple(value for value in atom.pool if isinstance(value, (str, bool)))
        if texts:
            return (*texts, None)
        if isinstance(leaf, Known):
            return (self._random.choice(atom.pool[:-1]), None)
        limit = _limit(name, given, sides) if sides else None
        if limit is None:
            return ()
        if atom.is_whole:
            middle = round(limit)
            return tuple(float(value) for value in range(max(0, middle - 1), middle + 2))
        step = max(abs(limit) * BESIDE, 0.001)
        around = (limit - step, limit, limit + step)
        return tuple(round(value, 6) for value in around if value >= 0 or limit < 0)

    def _shrunk(self, name: str, rows: list[dict[str, Value]]) -> Iterator[Given]:
        """The same rows without what makes no difference."""
        said = [self._says(row) for row in rows]
        for other in self._atoms:
            fewer = [{**row, other: None} for row in rows]
            if other != name and [self._says(row) for row in fewer] == said:
                rows = fewer
        for row in rows:
            yield {key: value for key, value in row.items() if value is not None}


def _limit(name: str, given: Given, sides: list[Compiled]) -> float | None:
    """At which value of one part both sides are equal; None when they never are."""
    first, second = (_gap({**given, name: value}, sides) for value in (1.0, 2.0))
    if first is None or second is None or first == second:
        return None
    limit = 1.0 - first / (second - first)
    gap = _gap({**given, name: limit}, sides)
    return limit if gap is not None and abs(gap) < 1e-6 * max(1.0, abs(limit)) else None


def _gap(given: Given, sides: list[Compiled]) -> float | None:
    left, right = (evaluate(side, given) for side in sides)
    is_number = isinstance(left, (int, float)) and isinstance(right, (int, float))
    return left - right if is_number else None  # type: ignore[operator]  # as just asked


def _atom(name: str, node: Node, kind: str, literals: list[float | bool | str]) -> _Atom:
    kind_of: Mapping[str, str] = VOCABULARY.related[kind]
    found = Type.NUMBER
    if isinstance(node, Name):
        found = VOCABULARY.names[kind_of.get(node.related, kind)][node.field].type
    if found is Type.TRUTH:
        return _Atom(name, (True, False, None), is_whole=False)
    if found is Type.TEXT:
        words = dict.fromkeys(word for word in literals if isinstance(word, str))
        return _Atom(name, (*words, "other", None), is_whole=False)
    numbers = [float(n) for n in literals if isinstance(n, (int, float))]
    if isinstance(node, Events):
        return _Atom(name, (0.0, 1.0, 5.0, None), is_whole=True)
    near = [n * by for n in numbers if n for by in (0.9, 1.1)]
    return _Atom(name, (1.0, 0.0, 2.0, 100.0, *near, None), is_whole=False)


def write() -> None:
    """Write all rows anew."""
    written: dict[Path, list[str]] = {}
    for rule in sorted(rule_book().rules, key=lambda rule: rule.id):
        written.setdefault(pinned_file(rule, PINNED), []).extend(it.line() for it in edges(rule))
        written.setdefault(pinned_file(rule, LIMITS), []).append(limits(rule))
    for path, lines in written.items():
        path.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    write()
