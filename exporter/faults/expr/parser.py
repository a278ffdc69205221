"""Parses an expression with Python's parser and a list of allowed nodes.

Nothing is ever executed: Python's tree is read, and every other node is rejected.
"""

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping

from exporter.durations import ALLOWED, parse_duration
from exporter.faults.events.query import MAX_WINDOW_SECS, Events
from exporter.faults.expr.syntax import (
    MAX_COST,
    MAX_DEPTH,
    MAX_LENGTH,
    ExpressionError,
    Known,
    Literal,
    Name,
    Node,
    Operation,
    Window,
    walk,
)

WINDOW_FUNCTIONS = ("rate", "increase", "max_over", "changes")
FUNCTIONS = ("known", *WINDOW_FUNCTIONS, "events")
MAX_LISTED = 200

_COSTS: Mapping[type, int] = {Window: 5, Events: 10}
_OPERATORS: Mapping[type, str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_DURATION = r"\d+(?:\.\d+)?(?:ms|[smhd])\b"
_WORD = r"""
      \d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![A-Za-z0-9_])
    | "[^"\\\n]*" | '[^'\\\n]*'
    | [A-Za-z_][A-Za-z0-9_]*
    | [-+*/<>()\[\],.=\ ] | !=
"""
_ONE_WORD = re.compile(rf"{_DURATION} | {_WORD}", re.VERBOSE | re.ASCII)
_PARTS = re.compile(
    rf"(?P<duration>{_DURATION}) | (?: (?!{_DURATION}) (?: {_WORD} ) )+ | (?P<space>\s+)",
    re.VERBOSE | re.ASCII,
)


def parse_expression(source: str) -> Node:
    """Parse an expression; raise ExpressionError."""
    if len(source) > MAX_LENGTH:
        raise ExpressionError(1, f"is longer than {MAX_LENGTH} characters")
    tree = _Reader(source).whole()
    cost = sum(_COSTS.get(type(node), 1) for node in walk(tree))
    if cost > MAX_COST:
        raise ExpressionError(1, f"costs {cost}, but may cost at most {MAX_COST}")
    return tree


class _Reader:
    """Reads one expression; a duration is replaced by underscores for Python's parser."""

    def __init__(self, source: str) -> None:
        self._source = source.strip()
        self._durations: dict[int, str] = {}
        self._depth = 0

    def whole(self) -> Node:
        """Read the whole expression."""
        text = "".join(self._parts())
        try:
            return self._node(ast.parse(text, mode="eval").body)
        except SyntaxError as error:
            position = error.offset if error.lineno and error.offset else len(text) + 1
            raise ExpressionError(position, self._reason(error, position)) from None
        except (RecursionError, MemoryError, ValueError):
            raise ExpressionError(1, f"is nested deeper than {MAX_DEPTH}") from None

    def _reason(self, error: SyntaxError, position: int) -> str:
        if error.msg and "invalid syntax" not in error.msg:
            return error.msg.partition(". ")[0]
        match = _ONE_WORD.match(self._source, position - 1)
        word = match[0] if match and match[0].strip() else "the end"
        return f"found {word[:40]}, which cannot stand here"

    def _parts(self) -> Iterator[str]:
        """Yield the expression for Python's parser, each word at its position, on one line."""
        place = 0
        for match in _PARTS.finditer(self._source):
            if match.start() != place:
                break
            part, place = match[0], match.end()
            if match.lastgroup == "duration":
                self._durations[match.start()] = part
                part = "_" * len(part)
            yield " " * len(part) if match.lastgroup == "space" else part
        if place < len(self._source):
            raise ExpressionError(place + 1, f"{self._source[place]!r} means nothing here")

    def _node(self, node: ast.expr) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._wrong(node, f"is nested deeper than {MAX_DEPTH}")
        read = _READERS.get(type(node))
        if read is None:
            raise self._wrong(node, "cannot stand in a rule")
        result = read(self, node)
        self._depth -= 1
        return result

    def _wrong(self, node: ast.expr, sentence: str) -> ExpressionError:
        return ExpressionError(node.col_offset + 1, f"{self._text(node)[:40]} {sentence}")

    def _text(self, node: ast.expr) -> str:
        """Return the source of a part of the expression."""
        return self._source[node.col_offset : node.end_col_offset]

    def junction(self, node: ast.BoolOp) -> Node:
        word = "and" if isinstance(node.op, ast.And) else "or"
        return Operation(word, tuple(map(self._node, node.values)), node.col_offset + 1)

    def unary(self, node: ast.UnaryOp) -> Node:
        position = node.col_offset + 1
        if isinstance(node.op, ast.Not):
            return Operation("not", (self._node(node.operand),), position)
        if isinstance(node.op, ast.USub):
            parts = (Literal(0.0, position), self._node(node.operand))
            return Operation("-", parts, position)
        raise self._wrong(node, "cannot stand in a rule")

    def compare(self, node: ast.Compare) -> Node:
        right = node.comparators[0]
        between = self._source[node.left.end_col_offset : right.col_offset]
        before = len(re.split("[<>=!]", between)[0]) - len(between)
        position = right.col_offset + before + 1
        if len(node.ops) > 1:
            raise ExpressionError(
                node.comparators[1].col_offset + 1, "comparisons cannot be chained; use and"
            )
        operator = self._operator(node.ops[0], node)
        return Operation(operator, (self._node(node.left), self._node(right)), position)

    def arithmetic(self, node: ast.BinOp) -> Node:
        operator = self._operator(node.op, node)
        parts = (self._node(node.left), self._node(node.right))
        return Operation(operator, parts, node.col_offset + 1)

    def _operator(self, operator: ast.AST, node: ast.expr) -> str:
        text = _OPERATORS.get(type(operator))
        if text is None:
            raise self._wrong(
                node, f"has an operator that is none of {' '.join(_OPERATORS.values())}"
            )
        return text

    def literal(self, node: ast.Constant) -> Node:
        value = node.value
        if isinstance(value, str):
            return Literal(value, node.col_offset + 1)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(node, "cannot stand in a rule")
        number = float(value)
        if not math.isfinite(number):
            raise self._wrong(node, "is too large")
        return Literal(number, node.col_offset + 1)

    def word(self, node: ast.expr) -> Node:
        if isinstance(node, ast.Name) and node.id in ("true", "false"):
            return Literal(node.id == "true", node.col_offset + 1)
        return self._name(node)

    def _name(self, node: ast.expr) -> Name:
        label, owner, field = "", "", ""
        whole = node
        if isinstance(node, ast.Subscript):
            label = ",".join(self._choices(node.slice))
            node = node.value
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner, field = node.value.id, node.attr
        elif isinstance(node, ast.Name) and node.col_offset not in self._durations:
            field = node.id
        if not field or field in FUNCTIONS:
            raise self._wrong(whole, "is found, but the name of a field is wanted")
        return Name(owner, field, label, whole.col_offset + 1)

    def call(self, node: ast.Call) -> Node:
        name = node.func.id if isinstance(node.func, ast.Name) else self._text(node.func)
        if name not in FUNCTIONS:
            functions = ", ".join(FUNCTIONS)
            raise ExpressionError(
                node.col_offset + 1, f"there is no function {name[:40]}; there are {functions}"
            )
        position = node.col_offset + 1
        if name == "events":
            return self._events(node)
        wanted = 1 if name == "known" else 2
        if node.keywords or len(node.args) != wanted:
            shape = "the name of a field" + (" and a duration" if wanted > 1 else "")
            raise ExpressionError(position, f"{name} takes {shape}")
        field = self._name(node.args[0])
        if name == "known":
            return Known(field, position)
        return Window(name, field, self._window(node.args[1]), position)

    def _window(self, node: ast.expr) -> float:
        text = self._durations.get(node.col_offset, self._text(node).strip("\"'"))
        secs = parse_duration(text)
        if secs is None:
            raise self._wrong(node, f"is found, but a duration is wanted: {ALLOWED}")
        if not 1.0 <= secs <= MAX_WINDOW_SECS:
            raise ExpressionError(node.col_offset + 1, "a window is from 1s to 24h long")
        return secs

    def _events(self, node: ast.Call) -> Node:
        position = node.col_offset + 1
        if len(node.args) != 1 or not isinstance(node.args[0], (ast.Name, ast.Attribute)):
            raise ExpressionError(position, "events takes one kind of events, then key=value")
        lists: dict[str, tuple[str, ...]] = {}
        within = None
        for keyword in node.keywords:
            if keyword.arg in lists or (keyword.arg == "within" and within is not None):
                raise ExpressionError(keyword.col_offset + 1, f"{keyword.arg} is given twice")
            if keyword.arg == "within":
                within = self._window(keyword.value)
            elif keyword.arg is not None:
                lists[keyword.arg] = self._choices(keyword.value)
        if within is None:
            raise ExpressionError(position, "events needs within=, such as within=10m")
        alike, differ = lists.pop("alike", ()), lists.pop("differ", ())
        what = self._text(node.args[0])
        return Events(what, tuple(lists.items()), within, position, alike, differ)

    def _choices(self, node: ast.expr) -> tuple[str, ...]:
        """Read one word or number, or several in brackets."""
        items = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
        if not 1 <= len(items) <= MAX_LISTED:
            raise self._wrong(node, f"is found, but a list has 1 to {MAX_LISTED} words or numbers")
        for item in items:
            is_word = isinstance(item, ast.Name) and item.col_offset not in self._durations
            if not is_word and not (
                isinstance(item, ast.Constant) and isinstance(item.value, (str, int, float))
            ):
                raise self._wrong(item, "is found, but a number or a word is wanted")
        return tuple(self._text(item).strip("\"'") for item in items)


_READERS: Mapping[type, Callable[..., Node]] = {
    ast.BoolOp: _Reader.junction,
    ast.UnaryOp: _Reader.unary,
    ast.Compare: _Reader.compare,
    ast.BinOp: _Reader.arithmetic,
    ast.Constant: _Reader.literal,
    ast.Name: _Reader.word,
    ast.Attribute: _Reader.word,
    ast.Subscript: _Reader.word,
    ast.Call: _Reader.call,
}
"""Readers of the allowed nodes; all others are rejected."""
