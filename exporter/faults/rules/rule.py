"""A rule: when a component is broken, when it has recovered, and what may explain the fault."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from exporter.faults.events.query import Events
from exporter.faults.expr.compile import Compiled, EvalContext, compile_expr
from exporter.faults.expr.syntax import LOGIC, Known, Literal, Name, Node, Operation, Window, walk
from exporter.faults.rules.templates import Template
from exporter.faults.values import Place
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
"""The layers from the lowest to the highest: a lower layer explains a higher one."""


DISTANCES = {"consumes": 1, "runs_in": 1, "depends_on": 2, "node": 3, "hosts": 3}
"""The distance of a cause by relation; 0 for all others."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Another rule that may be the cause, on a component with the relation `via`.

    `within_secs` is how long before the effect the cause must have been seen, None for any time.
    `ahead_secs` is how much earlier than its cause the effect may begin: a symptom that shows
    first. `after_secs` is how much later it must begin: what is lost at the same time was not lost
    by the cause. A weak explanation counts only where no other exists. An optional rule may be
    missing: it belongs to a collector that may be off.
    """

    rule: str
    via: str
    within_secs: float | None = None
    is_weak: bool = False
    ahead_secs: float = 0.0
    after_secs: float = 0.0
    is_optional: bool = field(default=False, compare=False)

    @property
    def distance(self) -> tuple[bool, int]:
        """Whether the explanation is weak, and the distance of its relation."""
        return self.is_weak, DISTANCES.get(self.via, 0)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A comparison or bare condition of an expression, and the value that makes the whole true.

    A comparison has both sides, as text and as function, or the events that it counts; `limit` is
    the text of a limit that is written in the rule.
    """

    tree: Node
    evaluate: Compiled
    wanted: bool
    sides: tuple[tuple[str, Compiled], ...] = ()
    counted: Events | None = None
    limit: str = ""


@dataclass(frozen=True)  # no slots: cached properties need a __dict__
class Condition:
    """An expression: its source and its tree."""

    source: str
    tree: Node

    @cached_property
    def evaluate(self) -> Compiled:
        """The function of the expression; most are about components that a node does not have."""
        return compile_expr(self.tree)

    def names(self) -> tuple[Name, ...]:
        """Return the fields in the expression."""
        return tuple(node for node in walk(self.tree) if isinstance(node, Name))

    @cached_property
    def events(self) -> tuple[Events, ...]:
        """The events that the expression counts."""
        return tuple(node for node in walk(self.tree) if isinstance(node, Events))

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The comparisons and bare conditions in the expression."""
        return tuple(_leaves(self.tree))


def _leaves(tree: Node) -> Iterator[Leaf]:
    waiting = [(tree, True)]
    while waiting:
        node, wanted = waiting.pop()
        if isinstance(node, Operation) and node.sign in LOGIC:
            meant = not wanted if node.sign == "not" else wanted
            waiting.extend((part, meant) for part in reversed(node.parts))
        else:
            both = node.parts if isinstance(node, Operation) else ()
            sides = tuple((_written(side), compile_expr(side)) for side in both)
            counted = both[0] if both and isinstance(both[0], Events) else None
            limit = both[1].value if both and isinstance(both[1], Literal) else ""
            shown = f"{limit:g}" if isinstance(limit, float) else str(limit)
            yield Leaf(node, compile_expr(node), wanted, sides, counted, shown)


def _written(node: Node) -> str:
    """Return a part of an expression as the names of its fields."""
    names = dict.fromkeys(each.text for each in walk(node) if isinstance(each, Name))
    return ", ".join(names) or "value"


@dataclass(frozen=True, slots=True)
class Case:
    """Summary and advice while a condition is true; None where the rule's own text is used."""

    when: Condition
    summary: Template | None
    advice: Template | None


@dataclass(frozen=True)  # no slots: cached properties need a __dict__
class Rule:
    """One rule; times in seconds, `confidence` 0 to 1.

    `lasts` is an expression for how many seconds the condition has held. `until` are kinds of
    events that end the fault: a reset, a driver load, a link that is up again. `ends_by_time` says
    why time alone ends a fault that began with an event. `layer` orders causes, `status` is the
    component's while the fault is active, and a `symptom` is never a cause. A fault
    `unless_explained` is shown only while none of its causes is active that is not weak.
    `action` is a slug for programs, `advice` the sentence for people. `alert` is the summary of
    the Prometheus alert, empty where that is `summary`. `concerns` is the kind of component that
    the fault is about, empty where that is `entity`. `needs` are layers and kinds of components of
    the node: without a better cause, a fault of one of them shortly before is the cause. The first
    of the `cases` whose condition is true replaces summary and advice.
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
    alert: Template = field(default_factory=lambda: Template(()))
    concerns: str = ""
    needs: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    file: str = field(default="", compare=False)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All expressions of the rule."""
        found = (self.when, self.clear, self.only_if, self.escalate)
        by_case = (case.when for case in self.cases)
        return (*(condition for condition in found if condition is not None), *by_case)

    @cached_property
    def texts(self) -> tuple[Template, ...]:
        """All sentences of the rule: summary and advice, then those of its cases."""
        cases = (text for case in self.cases for text in (case.summary, case.advice) if text)
        return (self.summary, self.advice, *cases)

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """The fields in all expressions and sentences of the rule."""
        in_conditions = (name for condition in self.conditions for name in condition.names())
        return (*in_conditions, *(name for text in self.texts for name in text.names()))

    @cached_property
    def related(self) -> tuple[str, ...]:
        """The words for related components in the rule."""
        return tuple(dict.fromkeys(name.related for name in self.names if name.related))

    @cached_property
    def near_causes_first(self) -> tuple[Explanation, ...]:
        """The possible causes of the rule's fault, the nearest relations first."""
        return tuple(sorted(self.explained_by, key=lambda explanation: explanation.distance))

    @cached_property
    def named_causes(self) -> frozenset[str]:
        """The rules that may explain the fault of this one."""
        return frozenset(explanation.rule for explanation in self.explained_by)

    @cached_property
    def covering_causes(self) -> frozenset[str]:
        """The rules whose faults may hide the fault of this one: not those only plausible."""
        return frozenset(it.rule for it in self.explained_by if not it.is_weak)

    def reads(self, kinds: Mapping[str, str]) -> tuple[Place, ...]:
        """Return what the rule reads: fields, and which components there are.

        `kinds` are the kinds of related components by their words.
        """
        entities = [(self.entity, ""), *((kinds[word], "") for word in self.related)]
        fields = [(kinds.get(name.related, self.entity), name.key) for name in self.names]
        return tuple(dict.fromkeys([*entities, *fields]))

    @cached_property
    def windows(self) -> tuple[tuple[Name, float], ...]:
        """The fields that the rule looks back at, and for how many seconds."""
        return tuple(
            (node.name, node.secs)
            for condition in self.conditions
            for node in walk(condition.tree)
            if isinstance(node, Window)
        )

    @cached_property
    def needed(self) -> tuple[Events, ...] | None:
        """The events of which the rule needs at least one; None if it may hold without events."""
        return needed_events(self.when.tree)

    @cached_property
    def can_be_silent(self) -> bool:
        """Whether the rule has a gate, or reads only fields that it tests with `known`."""
        return self.only_if is not None or bool(self._guarded)

    def is_silent(self, ctx: EvalContext) -> bool:
        """Whether the rule is off for this component: closed gate, or no field reported."""
        if self.only_if is not None:
            return self.only_if.evaluate(ctx) is not True
        return bool(self._guarded) and all(field(ctx) is None for field in self._guarded)

    @cached_property
    def _guarded(self) -> tuple[Compiled, ...]:
        """The fields of a rule that reads only fields it tests with `known`; else empty."""
        is_guarded = any(isinstance(node, Known) for node in walk(self.when.tree))
        if not is_guarded or self.when.events:
            return ()  # untested: nothing is as empty
        return tuple(compile_expr(name) for name in self.when.names())

    @cached_property
    def is_from_events(self) -> bool:
        """Whether the rule counts events: its faults are saved over a restart."""
        return bool(self.when.events)

    @cached_property
    def reads_events(self) -> bool:
        """Whether any expression of the rule counts events, or an event ends its fault."""
        return bool(self.until or self._counted)

    @cached_property
    def reads_graph(self) -> bool:
        """Whether the rule reads related components, or events that may be about such."""
        return bool(self.related or self.until or any(it.until for it in self._counted))

    @cached_property
    def _counted(self) -> tuple[Events, ...]:
        """The events that any expression of the rule counts."""
        return tuple(it for condition in self.conditions for it in condition.events)

    @cached_property
    def compares_with_past(self) -> bool:
        """Whether the rule compares with the maximum of the past and has `clear`: saved as well."""
        is_compared = any(
            isinstance(node, Window) and node.function == "max_over"
            for node in walk(self.when.tree)
        )
        return is_compared and self.clear is not None


def needed_events(node: Node) -> tuple[Events, ...] | None:
    """Return the events of which the condition needs at least one; None if it needs none."""
    if not isinstance(node, Operation) or node.sign == "not":
        return None
    if node.sign not in LOGIC:
        counted, limit = node.parts
        return (
            (counted,) if isinstance(counted, Events) and _is_above_none(node.sign, limit) else None
        )
    parts = [needed_events(part) for part in node.parts]
    if node.sign == "and":
        return next((part for part in parts if part), None)
    return None if None in parts else tuple(e for part in parts for e in part or ())


def _is_above_none(sign: str, limit: Node) -> bool:
    """Whether a number of events that is so compared is at least one."""
    least = limit.value if isinstance(limit, Literal) else None
    if not isinstance(least, float):
        return False
    return (sign == ">" and least >= 0) or (sign == ">=" and least > 0)
