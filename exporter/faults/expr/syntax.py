"""The syntax tree of expressions, and its limits."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from exporter.faults.events.query import Events
from exporter.record import dataclass, replace

MAX_LENGTH = 2000
MAX_DEPTH = 24
MAX_COST = 400
"""The highest cost of an expression: a window costs five nodes, a count of events ten."""

LOGIC = ("not", "and", "or")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
ARITHMETIC = ("+", "-", "*", "/")


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
class Operation:
    """Parts joined by a sign of LOGIC, COMPARISONS or ARITHMETIC.

    `not` has one part, `and` and `or` have several, all others two.
    """

    sign: str
    parts: "tuple[Node, ...]"
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


Node: TypeAlias = Literal | Name | Operation | Known | Window | Events


def counted_until(node: Node, kinds: tuple[str, ...]) -> Node:
    """Return the expression with all counts restricted to events after the last of these kinds."""
    if isinstance(node, Events):
        return node._replace(until=kinds)
    if isinstance(node, Operation):
        return replace(node, parts=tuple(counted_until(part, kinds) for part in node.parts))
    return node


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all nodes below it."""
    waiting: list[Node] = [node]
    while waiting:
        current = waiting.pop()
        yield current
        if isinstance(current, Operation):
            waiting.extend(reversed(current.parts))
        elif isinstance(current, (Known, Window)):
            waiting.append(current.name)
