"""Breaks shipped rules in small ways, each alone, and counts the breaks that the rule tests see."""

import argparse
import logging
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from exporter.collectors.everything import rule_book
from exporter.faults.events.query import Events
from exporter.faults.expr.syntax import Literal, Node, Operation, Window
from exporter.faults.rules.rule import Condition, Rule
from tests.faults.rules import edges
from tests.faults.rules.limits import LIMITS, limits
from tests.faults.rules.shipped_rules import pinned_lines

CONDITIONS = ("when", "clear", "only_if", "escalate")
GOAL = 0.97


@dataclass(frozen=True, slots=True)
class Mutant:
    """One rule with one break, in words."""

    sort: str
    words: str
    rule: Rule


def mutants(rule: Rule) -> Iterator[Mutant]:
    """All breaks of one rule."""
    for word in CONDITIONS:
        condition: Condition | None = getattr(rule, word)
        for sort, tree in _trees(condition.tree) if condition else ():
            broken = Condition("", tree)
            changed = replace(rule, **{word: broken})  # type: ignore[arg-type]  # one of four names
            yield Mutant("an end" if word == "clear" else sort, f"{word}: {sort}", changed)
    yield from _times(rule)
    for place, cause in enumerate(rule.explained_by):
        before, after = rule.explained_by[:place], rule.explained_by[place + 1 :]
        yield Mutant("a cause", f"without {cause.rule}", replace(rule, explained_by=before + after))
        for by in (0.5, 2.0):
            if cause.within_secs:
                other = (*before, replace(cause, within_secs=cause.within_secs * by), *after)
                yield Mutant("within", f"{cause.rule} x{by}", replace(rule, explained_by=other))


def _times(rule: Rule) -> Iterator[Mutant]:
    for severity in {"info", "warning", "critical"} - {rule.severity}:
        yield Mutant("severity", severity, replace(rule, severity=severity))
    for by in (0.5, 2.0):
        if rule.for_secs:
            yield Mutant("for", f"x{by}", replace(rule, for_secs=rule.for_secs * by))
        if rule.clear_for_secs:
            secs = rule.clear_for_secs * by
            yield Mutant("an end", f"clear_for x{by}", replace(rule, clear_for_secs=secs))
    if rule.clear:
        yield Mutant("an end", "without clear", replace(rule, clear=None))
    for kind in rule.until:
        fewer = tuple(other for other in rule.until if other != kind)
        yield Mutant("an end", f"without until {kind}", replace(rule, until=fewer))


def _trees(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the same expression with one number, one time or one branch changed."""
    if isinstance(node, Literal) and isinstance(node.value, float) and node.value:
        for by in (0.5, 2.0):
            yield "number", replace(node, value=node.value * by)
    elif isinstance(node, (Window, Events)):
        yield from (("within", _over(node, by)) for by in (0.5, 2.0))
    elif isinstance(node, Operation):
        yield from _parts(node)


def _over(node: Window | Events, by: float) -> Node:
    if isinstance(node, Window):
        return replace(node, secs=node.secs * by)
    return node._replace(within_secs=node.within_secs * by)


def _parts(node: Operation) -> Iterator[tuple[str, Node]]:
    for place, part in enumerate(node.parts):
        others = node.parts[:place] + node.parts[place + 1 :]
        if node.sign in ("and", "or"):
            fewer = others[0] if len(others) == 1 else replace(node, parts=others)
            yield f"{node.sign} branch", fewer
        for sort, changed in _trees(part):
            parts = (*node.parts[:place], changed, *node.parts[place + 1 :])
            yield sort, replace(node, parts=parts)


def seen_by(mutant: Rule) -> str:
    """Return the test that sees the break; empty when none does."""
    if any(edges.wrong_edges(mutant, edges.pinned()[mutant.id])):
        return "test_edges"
    line = next(x for x in pinned_lines(LIMITS) if x.split()[0] == mutant.id)
    return "test_limits" if limits(mutant) != line else ""


def chosen(count: int, seed: int) -> list[Mutant]:
    """Choose so many breaks at random, of each sort alike; all for 0."""
    found = [mutant for rule in rule_book().rules for mutant in mutants(rule)]
    if not count:
        return found
    source = random.Random(seed)  # noqa: S311 - the same breaks for the same seed
    by_sort: dict[str, list[Mutant]] = {}
    for mutant in found:
        by_sort.setdefault(mutant.sort, []).append(mutant)
    pots = [source.sample(by_sort[sort], len(by_sort[sort])) for sort in sorted(by_sort)]
    picked = [pot.pop() for _ in range(count) for pot in pots if pot]
    return picked[:count]


def main() -> int:
    """Print what was seen by which test, and every break that none saw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many breaks; 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="which of them")
    args = parser.parse_args()
    logging.disable()  # each fault would be logged
    started = time.monotonic()
    breaks = chosen(args.count, args.seed)
    seen: dict[str, int] = {}
    for mutant in breaks:
        test = seen_by(mutant.rule)
        seen[test] = seen.get(test, 0) + 1
        if not test:
            print(f"unseen: {mutant.rule.id}: {mutant.words}")
    unseen = seen.pop("", 0)
    by_test = ", ".join(f"{test} {number}" for test, number in sorted(seen.items()))
    secs = time.monotonic() - started
    print(f"{len(breaks) - unseen} of {len(breaks)} breaks seen ({by_test}) in {secs:.1f} s")
    return int(unseen > (1 - GOAL) * len(breaks))


if __name__ == "__main__":
    sys.exit(main())
