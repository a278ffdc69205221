"""A rule: when a component is broken, when it has recovered, and what may explain the fault."""

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from exporter.faults.events.query import Events
from exporter.faults.expr.compile import Compiled, EvalContext, compile_expr
from exporter.faults.expr.syntax import (
    Compare,
    Junction,
    Known,
    Literal,
    Name,
    Node,
    Not,
    Window,
    walk,
)
from exporter.faults.rules.templates import Template
from exporter.record import dataclass

LAYERS = (
    "power",
    "thermal",
    "bus",
    "memory",
    "link",
    "storage",
    "network",
    "driver",
    "process",
)
"""From the lowest to the highest: the lower explains the higher."""


DISTANCES = {"consumes": 1, "runs_in": 1, "depends_on": 2, "node": 3, "hosts": 3}
"""How far away a cause by a relation is; 0 for all others."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Another rule that may be the cause, on a component with this relation to ours.

    `within_secs` is how long before our fault the cause may last have been seen, None for any;
    `ahead_secs` how long before its cause ours may have begun: a symptom that shows first.
    A weak one is only plausible: it counts where nothing else explains. An optional rule may be
    missing: it belongs to a collector that is switched off.
    """

    rule: str
    via: str
    within_secs: float | None = None
    is_weak: bool = False
    ahead_secs: float = 0.0
    is_optional: bool = field(default=False, compare=False)

    @property
    def distance(self) -> tuple[bool, int]:
        """How far-fetched it is, and how far away such a cause is."""
        return self.is_weak, DISTANCES.get(self.via, 0)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A comparison or bare condition of an expression, and what it must be for that to hold.

    A comparison has what it compares: each side as it is written and as a function, or the events
    that it counts.
    """

    tree: Node
    evaluate: Compiled
    wanted: bool
    sides: tuple[tuple[str, Compiled], ...] = ()
    counted: Events | None = None


@dataclass(frozen=True)  # no slots: what is worked out once is kept
class Condition:
    """An expression as it is written, as a tree, and as a function."""

    source: str
    tree: Node
    evaluate: Compiled

    def names(self) -> tuple[Name, ...]:
        """Return the fields it speaks of."""
        return tuple(node for node in walk(self.tree) if isinstance(node, Name))

    def looks_at_events(self) -> tuple[Events, ...]:
        """Return what events it counts."""
        return self._events

    @cached_property
    def _events(self) -> tuple[Events, ...]:
        return tuple(node for node in walk(self.tree) if isinstance(node, Events))

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The comparisons and bare conditions it is made of."""
        return tuple(_leaves(self.tree))


def _leaves(tree: Node) -> Iterator[Leaf]:
    waiting = [(tree, True)]
    while waiting:
        node, wanted = waiting.pop()
        if isinstance(node, Junction):
            waiting.extend((part, wanted) for part in reversed(node.parts))
        elif isinstance(node, Not):
            waiting.append((node.part, not wanted))
        else:
            both = (node.left, node.right) if isinstance(node, Compare) else ()
            sides = tuple((_written(side), compile_expr(side)) for side in both)
            counted = both[0] if both and isinstance(both[0], Events) else None
            yield Leaf(node, compile_expr(node), wanted, sides, counted)


def _written(node: Node) -> str:
    """Return a part of an expression by the fields in it."""
    names = dict.fromkeys(each.text for each in walk(node) if isinstance(each, Name))
    return ", ".join(names) or "value"


@dataclass(frozen=True, slots=True)
class Case:
    """What is said instead while this condition is true; None where the rule's own text stays."""

    when: Condition
    summary: Template | None
    advice: Template | None


@dataclass(frozen=True)  # no slots: what is worked out once is kept
class Rule:
    """One rule; times in seconds, `confidence` 0 to 1.

    `lasts` is a value that says for how many seconds it has been so by now.
    `until` are kinds of events that end it: a reset, a driver load, a link that is up again.
    `ends_by_time` says why time alone ends a fault that began with an event.
    `layer` orders causes, `status` is what it makes of the component while it holds, and a
    `symptom` is nobody's cause. A fault `unless_explained` is shown only while none of its causes
    is active.
    `action` is a slug for programs, `advice` the sentence for people. Of the `cases` the first
    whose condition is true replaces summary and advice.
    """

    id: str
    entity: str
    when: Condition
    severity: str
    summary: Template
    action: str
    for_secs: float = 0.0
    clear: Condition | None = None
    clear_for_secs: float = 0.0
    only_if: Condition | None = None
    escalate: Condition | None = None
    escalate_to: str = "critical"
    lasts: Compiled | None = None
    until: tuple[str, ...] = ()
    ends_by_time: str = ""
    explained_by: tuple[Explanation, ...] = ()
    runbook: str = ""
    confidence: float = 0.9
    layer: str = "process"
    status: str = "degraded"
    symptom: bool = False
    unless_explained: bool = False
    advice: Template = field(default_factory=lambda: Template(()))
    cases: tuple[Case, ...] = ()
    file: str = field(default="", compare=False)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All its expressions."""
        found = (self.when, self.clear, self.only_if, self.escalate)
        by_case = (case.when for case in self.cases)
        return (*(condition for condition in found if condition is not None), *by_case)

    @cached_property
    def texts(self) -> tuple[Template, ...]:
        """All its sentences: its own first, then those of its cases."""
        cases = (text for case in self.cases for text in (case.summary, case.advice) if text)
        return (self.summary, self.advice, *cases)

    @cached_property
    def related(self) -> frozenset[str]:
        """The words for what it speaks of beside the component itself."""
        names = [name for condition in self.conditions for name in condition.names()]
        names += [name for text in self.texts for name in text.names()]
        return frozenset(name.related for name in names if name.related)

    @cached_property
    def near_causes_first(self) -> tuple[Explanation, ...]:
        """What may explain it, the nearest relations first."""
        return tuple(sorted(self.explained_by, key=lambda explanation: explanation.distance))

    def looks_back(self) -> list[tuple[Name, float]]:
        """Return the fields it needs the history of, and over how many seconds."""
        return [
            (node.name, node.secs)
            for condition in self.conditions
            for node in walk(condition.tree)
            if isinstance(node, Window)
        ]

    @cached_property
    def needed(self) -> tuple[Events, ...] | None:
        """The events without any of which it cannot hold; None when it can do without."""
        return needed_events(self.when.tree)

    @cached_property
    def can_be_silent(self) -> bool:
        """Whether it has a gate, or looks at nothing but fields that it asks to be known."""
        return self.only_if is not None or bool(self._guarded)

    def is_silent(self, ctx: EvalContext) -> bool:
        """Whether nothing is said of what the rule is about: it holds for nobody, also not well."""
        if self.only_if is not None:
            return self.only_if.evaluate(ctx) is not True
        return bool(self._guarded) and all(field(ctx) is None for field in self._guarded)

    @cached_property
    def _guarded(self) -> tuple[Compiled, ...]:
        """The fields of a rule that looks at nothing but fields it asks to be known."""
        is_guarded = any(isinstance(node, Known) for node in walk(self.when.tree))
        if not is_guarded or self.when.looks_at_events():
            return ()  # untested: nothing is as empty
        return tuple(compile_expr(name) for name in self.when.names())

    @cached_property
    def is_from_events(self) -> bool:
        """Whether events are its evidence: such a fault is kept over a restart."""
        return bool(self.when.looks_at_events())

    @cached_property
    def compares_with_past(self) -> bool:
        """Whether it compares with the best so far, and says what ends it: kept as well."""
        is_compared = any(
            isinstance(node, Window) and node.function == "max_over"
            for node in walk(self.when.tree)
        )
        return is_compared and self.clear is not None


def needed_events(node: Node) -> tuple[Events, ...] | None:
    """Return the events of which the condition needs at least one to hold.

    None when it needs none.
    """
    if isinstance(node, Compare):
        counted = node.left
        return (counted,) if isinstance(counted, Events) and _needs_one(node) else None
    if isinstance(node, Junction):
        parts = [needed_events(part) for part in node.parts]
        if node.word == "and":
            return next((part for part in parts if part), None)
        return None if None in parts else tuple(e for part in parts for e in part or ())
    return None


def _needs_one(node: Compare) -> bool:
    """Whether no event at all makes the comparison false."""
    least = node.right.value if isinstance(node.right, Literal) else None
    if not isinstance(least, float):
        return False
    return (node.operator == ">" and least >= 0) or (node.operator == ">=" and least > 0)
