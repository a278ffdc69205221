"""Evaluates the conditions of one rule for one component."""

from exporter.faults.expr.compile import EvalContext
from exporter.faults.rules.rule import Rule
from exporter.faults.values import Value


def gated(rule: Rule, ctx: EvalContext, *, is_known: bool) -> bool | None:
    """Whether the condition holds and the gate is open; None if either is unknown.

    Where the gate is closed the rule does not hold; but a fault that it found before does not end
    while the condition is unknown.
    """
    holds = _trusted(rule, ctx, rule.when.evaluate(ctx), doubted=False)
    if holds is False or rule.only_if is None:
        return holds
    is_open = rule.only_if.evaluate(ctx)
    if is_open is False:
        is_doubted = is_known or not ctx.entity.is_fresh
        return None if is_doubted and holds is None else False
    return None if is_open is None else holds


def clears(rule: Rule, ctx: EvalContext, *, holds: bool | None) -> bool | None:
    """Whether a fault of the rule may end; None if that is unknown."""
    if rule.clear is not None:
        return _trusted(rule, ctx, rule.clear.evaluate(ctx), doubted=True)
    if rule.until and not rule.ends_by_time and holds is False:
        return False  # an event ends by its end event, not by leaving the window
    return None if holds is None else not holds


def holds_after(rule: Rule, ctx: EvalContext, moment: float) -> bool:
    """Whether the condition holds by events and increases after this boot time, and readings."""
    before = ctx.after
    ctx.after = max(before, moment)
    holds = bool(gated(rule, ctx, is_known=True))
    ctx.after = before
    return holds


def _trusted(rule: Rule, ctx: EvalContext, value: Value, *, doubted: bool) -> bool | None:
    """Return the value as a result; None if a stale entity would look healthy."""
    if value is None or ctx.entity.is_fresh or rule.needed is not None:
        return None if value is None else bool(value)
    return None if bool(value) is doubted else bool(value)
