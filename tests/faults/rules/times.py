"""What limits.txt writes down of a rule, tried on the engine: times, ends, severity, causes.

The conditions of the rule give way to fields that a test turns; everything else stays as it is.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from exporter.collectors.everything import TRAITS, VOCABULARY
from exporter.faults.entities.graph import NODE_WIDE, Graph
from exporter.faults.evaluate import Evaluator
from exporter.faults.expr.compile import compile_expr
from exporter.faults.expr.parser import parse_expression
from exporter.faults.root_cause import find_causes
from exporter.faults.rules.loader import RuleBook
from exporter.faults.rules.rule import Condition, Explanation, Rule
from exporter.faults.standing import Standing
from exporter.faults.values import Entity, Scene
from exporter.model.verdict import Fault, Key
from tests.faults.rules.limits import LIMITS
from tests.faults.rules.shipped_rules import WALL, pinned_lines, repaired, shipped

BEGAN = 200_000.0
DAY_SECS = 86_400.0
LATEST_SECS = 2.0
"""How long after its effect the line of a cause may be printed where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """One line of limits.txt, as far as it is not about conditions."""

    severity: str
    worst: str
    conditions: frozenset[str]
    for_secs: float
    clear_for_secs: float
    until: tuple[str, ...]
    causes: tuple[Explanation, ...]


@cache
def pinned() -> Mapping[str, Pinned]:
    """The lines of limits.txt by rule."""
    return {line.split()[0]: _pinned(line.split("; ")) for line in pinned_lines(LIMITS)}


def _pinned(parts: list[str]) -> Pinned:
    by_word = {part.split()[0]: part.split() for part in parts[1:]}
    times = by_word["for"]
    return Pinned(
        severity=parts[0].split()[1],
        worst=by_word["worst"][1] if "worst" in by_word else "critical",
        conditions=frozenset({"clear", "escalate"} & by_word.keys()),
        for_secs=float(times[1]),
        clear_for_secs=float(times[3]),
        until=tuple(by_word["until"][1].split(",")) if "until" in by_word else (),
        causes=tuple(_cause(part) for part in parts if part.count("/") == 4 and " " not in part),
    )


def _cause(text: str) -> Explanation:
    rule, via, within, ahead, is_weak = text.split("/")
    secs = None if within == "None" else float(within)
    return Explanation(rule, via, secs, is_weak == "True", float(ahead))


@cache
def repairs() -> frozenset[str]:
    """Every kind of event that ends a fault of some rule."""
    return frozenset(kind for limits in pinned().values() for kind in limits.until)


class _Turned:
    """One rule judged by the engine about one component, whose conditions a test turns."""

    def __init__(self, rule: Rule) -> None:
        turned = replace(
            rule,
            when=_field("begun"),
            clear=None if rule.clear is None else _field("ended"),
            escalate=None if rule.escalate is None else _field("grave"),
            only_if=None,
            lasts=None,
            symptom=False,  # one whose cause nobody knows is but noted
        )
        self._key = (rule.entity, "it")
        self._judge = Evaluator(RuleBook((turned,)), TRAITS, stopwatch=lambda: 0.0)

    def look(self, at: float, *, repair: str = "", **fields: bool) -> Fault | None:
        """The fault at this moment, if there is one."""
        address = (TRAITS.traits.hw_types[self._key[0]], "it")
        entity = Entity(self._key, "it", fields, (address, self._key))
        events = (repaired(repair, at),) if repair else ()
        kinds = frozenset(VOCABULARY.names)
        scene = Scene("n", at, WALL + at, (entity,), (), events, frozenset({"kernel_log"}), kinds)
        return next(iter(self._judge.evaluate(scene).active), None)


def _field(name: str) -> Condition:
    tree = parse_expression(name)
    return Condition(name, tree, compile_expr(tree))


def wrong_times(rule: Rule, limits: Pinned) -> Iterator[str]:
    """What of `for`, `clear_for`, `until` and severity the engine does otherwise than written."""
    turned = _Turned(rule)
    turned.look(BEGAN, begun=True)
    if limits.for_secs and turned.look(BEGAN + limits.for_secs - 1, begun=True):
        yield f"{rule.id} holds before {limits.for_secs:g} s"
    now = BEGAN + limits.for_secs
    found = turned.look(now, begun=True)
    if found is None:
        yield f"{rule.id} does not hold after {limits.for_secs:g} s"
        return
    if found.severity != limits.severity:
        yield f"{rule.id} is {found.severity}"
    yield from _wrong_end(rule, limits, turned, now)
    yield from _wrong_repairs(rule, limits)
    grave = _begun(rule, grave=True)[0].look(BEGAN + DAY_SECS + 1, begun=True, grave=True)
    expected = limits.worst if "escalate" in limits.conditions else limits.severity
    if grave is None or grave.severity != expected:
        yield f"{rule.id} does not become {expected}"


def _wrong_end(rule: Rule, limits: Pinned, turned: _Turned, now: float) -> Iterator[str]:
    if limits.until and "clear" not in limits.conditions:
        if not turned.look(now + DAY_SECS, begun=False, ended=True):
            yield f"{rule.id} ends by time"
        return
    if "clear" in limits.conditions and not turned.look(now + 1, begun=False, ended=False):
        yield f"{rule.id} ends before it is clear"
    now += 2
    ends = turned.look(now, begun=False, ended=True)
    if limits.clear_for_secs:
        if not ends or not turned.look(now + limits.clear_for_secs - 1, begun=False, ended=True):
            yield f"{rule.id} ends before {limits.clear_for_secs:g} s"
        ends = turned.look(now + limits.clear_for_secs, begun=False, ended=True)
    if ends:
        yield f"{rule.id} has not ended after {limits.clear_for_secs:g} s"


def _wrong_repairs(rule: Rule, limits: Pinned) -> Iterator[str]:
    for kind in sorted(repairs()):
        turned, now = _begun(rule)
        has_ended = turned.look(now + 1, repair=kind, begun=False, ended=False) is None
        is_said = kind in limits.until
        if has_ended is not is_said and (limits.until or "clear" in limits.conditions):
            yield f"{rule.id} {'ends' if has_ended else 'does not end'} by {kind}"


def _begun(rule: Rule, *, grave: bool = False) -> tuple[_Turned, float]:
    """The rule when it holds for sure, and when that is."""
    turned = _Turned(rule)
    turned.look(BEGAN, begun=True, grave=grave)
    turned.look(BEGAN + DAY_SECS, begun=True, grave=grave)
    return turned, BEGAN + DAY_SECS


class _Related(Graph):
    """Two components that are related in one way and, as all are, by the node."""

    def __init__(self, relation: str) -> None:
        super().__init__((), (), TRAITS.traits)
        self._relation = relation

    def related(self, key: Key, relation: str) -> Collection[Key]:
        del key
        is_so = relation == self._relation or relation in NODE_WIDE
        return {("cause", "")} if is_so else ()


def wrong_causes(rule: Rule, limits: Pinned) -> Iterator[str]:
    """Which cause that is written down does not explain the rule in time, or does out of it."""
    for cause in limits.causes:
        within = 600.0 if cause.within_secs is None else cause.within_secs
        latest = max(LATEST_SECS, cause.ahead_secs)
        others = [c for c in limits.causes if c.rule == cause.rule and c.via in NODE_WIDE]
        seen_before = any(c.within_secs is None or c.within_secs > within + 1 for c in others)
        seen_after = any(max(LATEST_SECS, c.ahead_secs) > latest for c in others)
        for began, seen, is_cause in (
            (-within - 9, 1.0 - within, True),
            (-within - 9, -1.0 - within, cause.within_secs is None or seen_before),
            (latest - 1, latest, True),
            (latest + 1, latest + 2, seen_after),
        ):
            if _explains(rule, cause, began, seen) is not is_cause:
                yield f"{rule.id}: {cause.rule} by {cause.via} from {began:g} to {seen:g} s"


def _explains(rule: Rule, cause: Explanation, began: float, seen: float) -> bool:
    """Whether the one cause explains the rule, by times from the onset of the effect."""
    found = next((r for r in shipped().rules if r.id == cause.rule), rule)
    bare = replace(found, id=cause.rule, explained_by=())
    # a process: what begins beside a fault of hardware belongs to it without an edge
    effect = Standing(rule, ("process", ""), BEGAN, BEGAN, is_event=True)
    other = Standing(bare, ("cause", ""), BEGAN + began, BEGAN + seen, is_event=True)
    step, _ = find_causes((effect, other), _Related(cause.via))
    return step is not None


def unwritten_causes(rule: Rule, limits: Pinned) -> Iterator[str]:
    """Which cause of the rule is not written down, or is weaker or stronger than that."""
    for cause in {*rule.explained_by} ^ {*limits.causes}:
        yield f"{rule.id}: {cause}"
