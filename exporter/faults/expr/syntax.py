"""The syntax tree of expressions, and its limits."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from exporter.faults.events.query import Events
from exporter.record import dataclass

MAX_LENGTH = 2000
MAX_DEPTH = 24
MAX_COST = 400
"""The highest cost of an expression: a window costs five nodes, a count of events ten."""


class ExpressionError(Exception):
    """A mistake in an expression: the position from 1, and a sentence.

    `hint` ends the sentence; it is called only if somebody reads it, because a search for similar
    words takes a millisecond.
    """

    def __init__(self, position: int, sentence: str, hint: Callable[[], str] = str) -> None:
        super().__init__(sentence)
        self.position = position
        self._begun = sentence
        self._hint = hint

    @property
    def sentence(self) -> str:
        """The whole sentence."""
        return self._begun + self._hint()

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text, true or false."""

    value: float | bool | str
    position: int


@dataclass(frozen=True, slots=True)
class Name:
    """A field of the component or a related component: `node.memory_used_bytes`, `clock[sm]`."""

    related: str  # empty for the component itself
    field: str
    label: str
    position: int

    @property
    def key(self) -> str:
        """The field with its label, the key in `Fields`."""
        return f"{self.field}[{self.label}]" if self.label else self.field

    @property
    def text(self) -> str:
        """The name as in the source."""
        return f"{self.related}.{self.key}" if self.related else self.key


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a condition; unknown stays unknown."""

    part: "Node"
    position: int


@dataclass(frozen=True, slots=True)
class Junction:
    """All (`and`) or any (`or`) of several conditions."""

    word: str
    parts: "tuple[Node, ...]"
    position: int


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two numbers or two texts."""

    operator: str
    left: "Node"
    right: "Node"
    position: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A sum, difference, product or quotient."""

    operator: str
    left: "Node"
    right: "Node"
    position: int


@dataclass(frozen=True, slots=True)
class Known:
    """Whether the field is reported; unknown only where the backend cannot read it."""

    name: Name
    position: int


@dataclass(frozen=True, slots=True)
class Window:
    """A field over the last seconds: rate, increase, max_over, changes."""

    function: str
    name: Name
    secs: float
    position: int


Node: TypeAlias = Literal | Name | Not | Junction | Compare | Arithmetic | Known | Window | Events


def counted_until(node: Node, kinds: tuple[str, ...]) -> Node:
    """Return the expression with all counts restricted to events after the last of these kinds."""
    if isinstance(node, Events):
        return node._replace(until=kinds)
    if isinstance(node, Not):
        return replace(node, part=counted_until(node.part, kinds))
    if isinstance(node, Junction):
        return replace(node, parts=tuple(counted_until(part, kinds) for part in node.parts))
    if isinstance(node, (Compare, Arithmetic)):
        left, right = counted_until(node.left, kinds), counted_until(node.right, kinds)
        return replace(node, left=left, right=right)
    return node


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct parts of a node."""
    if isinstance(node, Not):
        return (node.part,)
    if isinstance(node, Junction):
        return node.parts
    if isinstance(node, (Compare, Arithmetic)):
        return (node.left, node.right)
    if isinstance(node, (Known, Window)):
        return (node.name,)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all nodes below it."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))
