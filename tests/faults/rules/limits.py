"""The line of limits.txt of a rule: the numbers and causes by which it decides."""

from collections.abc import Iterator

from exporter.faults.events.query import Events
from exporter.faults.expr.syntax import COMPARISONS, Literal, Operation, Window, walk
from exporter.faults.rules.rule import Condition, Rule

LIMITS = "limits.txt"


def limits(rule: Rule) -> str:
    """Return one line with what decides: limits, windows, times and causes of one rule."""
    parts = [
        f"{rule.id} {rule.severity}",
        *(f"{word} {' '.join(_numbers(part))}" for word, part in _conditions(rule)),
        f"worst {rule.escalate_to}" if rule.escalate_to != "critical" else "",
        f"for {rule.for_secs:g} clear_for {rule.clear_for_secs:g}",
        f"until {','.join(rule.until)}" if rule.until else "",
        *(
            f"{cause.rule}/{cause.via}/{cause.within_secs}/{cause.ahead_secs - cause.after_secs:g}"
            f"/{cause.is_weak}"
            for cause in rule.explained_by
        ),
    ]
    return "; ".join(part for part in parts if part)


def _conditions(rule: Rule) -> Iterator[tuple[str, Condition]]:
    for word in ("when", "clear", "only_if", "escalate"):
        condition = getattr(rule, word)
        if condition is not None:
            yield word, condition


def _numbers(condition: Condition) -> Iterator[str]:
    for node in walk(condition.tree):
        if isinstance(node, Operation) and node.sign in COMPARISONS:
            yield node.sign
        elif isinstance(node, Literal):
            yield f"{node.value}"
        elif isinstance(node, Window):
            yield f"{node.name.text}/{node.secs:g}"
        elif isinstance(node, Events):
            filters = ",".join(f"{name}={'|'.join(values)}" for name, values in node.filters)
            yield f"{node.what}({filters})/{node.within_secs:g}"
