"""Small breaks of Python sources: one operator, number, condition or statement changed at once."""

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "//",
}
LOG = "log"
Placed = ast.expr | ast.stmt


@dataclass(frozen=True, slots=True)
class Mutation:
    """A piece of one file, from byte to byte, that becomes another text."""

    file: str
    line: int
    begin: int
    end: int
    new: str
    old: str

    def apply(self, source: bytes) -> bytes:
        """Return the file with the break."""
        return source[: self.begin] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        """Return the place and the change, on one line."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}:{self.line} {old[:60]!r} -> {new[:60]!r}"


class _Source:
    """The text of a file with places as the parser names them."""

    def __init__(self, name: str, text: bytes) -> None:
        self.name = name
        self.text = text
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def of(self, node: Placed) -> str:
        begin, end = self._span(node)
        return self.text[begin:end].decode()

    def change(self, node: Placed, new: str) -> Mutation:
        """Return the change; it has as many lines, so that what follows stays where it is."""
        begin, end = self._span(node)
        old = self.of(node)
        fewer = "\n" * (old.count("\n") - new.count("\n"))
        new = f"{new[:-1]}{fewer})" if new.endswith(")") else new + fewer
        return Mutation(self.name, node.lineno, begin, end, new, old)

    def _span(self, node: Placed) -> tuple[int, int]:
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)


def mutations(top: Path, name: str) -> Iterator[Mutation]:
    """All breaks of one file; annotations, decorators, docstrings and log lines are left alone."""
    source = _Source(name, (top / name).read_bytes())
    for node in _nodes(ast.parse(source.text)):
        for each in _of(node, source):
            compile(each.apply(source.text), name, "exec")  # what is no Python would prove nothing
            yield each


def sampled(top: Path, names: list[str], count: int, seed: int) -> list[Mutation]:
    """So many breaks of these files at random, the same for the same seed; all for 0."""
    found = [each for name in names for each in mutations(top, name)]
    chance = random.Random(seed)  # noqa: S311 - the same breaks for the same seed
    return chance.sample(found, min(count, len(found))) if count else found


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs: not the hints for readers and type checkers."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and not _is_for_readers(child):
                yield child
                yield from _nodes(child)


def _is_for_readers(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "strict"  # of zip: no more than an assertion
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _is_for_readers(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return isinstance(node.func.value, ast.Name) and node.func.value.id == LOG
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Assert))


def _of(node: ast.AST, source: _Source) -> Iterator[Mutation]:
    if isinstance(node, ast.stmt):
        yield from _statements(node, source)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = source.of(node.left), source.of(node.comparators[0])
        yield source.change(node, f"(({left}) {COMPARISONS[type(node.ops[0])]} ({right}))")
    elif isinstance(node, ast.BoolOp):
        yield from _junctions(node, source)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        left, right = source.of(node.left), source.of(node.right)
        yield source.change(node, f"(({left}) {ARITHMETIC[type(node.op)]} ({right}))")
    elif isinstance(node, ast.Constant):
        yield from _constants(node, source)
    for test in _tests(node):
        yield from _conditions(test, source)


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        return [node.test]
    return node.ifs if isinstance(node, ast.comprehension) else []


def _junctions(node: ast.BoolOp, source: _Source) -> Iterator[Mutation]:
    """Change the word, and leave out each part in turn."""
    word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    parts = [f"({source.of(value)})" for value in node.values]
    yield source.change(node, f"({f' {other} '.join(parts)})")
    for place in range(len(parts)):
        fewer = parts[:place] + parts[place + 1 :]
        yield source.change(node, f"({f' {word} '.join(fewer)})")


def _constants(node: ast.Constant, source: _Source) -> Iterator[Mutation]:
    if isinstance(node.value, bool):
        yield source.change(node, str(not node.value))
    elif isinstance(node.value, int):
        yield source.change(node, f"{node.value + 1}")
    elif isinstance(node.value, float):
        yield source.change(node, f"{node.value * 2 or 1.0!r}")


def _conditions(test: ast.expr, source: _Source) -> Iterator[Mutation]:
    """Negate it; a comparison negates itself."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield source.change(test, source.of(test.operand))
    elif not isinstance(test, ast.Compare):
        yield source.change(test, f"not ({source.of(test)})")


def _statements(node: ast.stmt, source: _Source) -> Iterator[Mutation]:
    """Leave out a statement that may be left out."""
    is_set = isinstance(node, (ast.Assign, ast.AugAssign, ast.Delete))
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    if isinstance(node, ast.Return):
        if not isinstance(node.value, ast.Constant):  # a constant is changed by itself
            yield source.change(node, "pass" if node.value is None else "return None")
    elif isinstance(node, (ast.Continue, ast.Break, ast.Raise, ast.Expr)) or (
        is_set and not any(isinstance(target, (ast.Name, ast.Tuple)) for target in targets)
    ):
        yield source.change(node, "pass")
