"""What is kept of the last snapshot: used again, and for how long."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.memory.values import Memory
from exporter.faults.evaluate import Evaluator
from exporter.faults.expr.compile import Compiled, EvalContext, compile_expr
from exporter.faults.rules.rule import Condition
from exporter.faults.values import Value
from exporter.faults.watched import Kept, Watched
from exporter.model.snapshot import Snapshot
from tests.faults.scenes import SUBJECTS, book, gpu, scene

HOT = """
[[rule]]
id = "hot"
entity = "gpu"
when = "heat > 90"
severity = "warning"
summary = "hot"
action = "reset_gpu"
"""

FIRST = Snapshot(
    node="n",
    sequence=1,
    taken_at=1.7e9,
    taken_boottime=100.0,
    duration_secs=0.0,
    readings=MappingProxyType({Cpu: object(), Memory: object()}),
)


def _later(**changes: object) -> Snapshot:
    return replace(FIRST, sequence=2, taken_boottime=115.0, **changes)  # type: ignore[arg-type]


def test_what_was_made_is_kept_while_what_it_was_made_of_is_the_same() -> None:
    """Other readings and the time may change; the reading that was asked for may not."""
    kept, calls = Kept(), []

    def processors(snapshot: Snapshot) -> Iterator[object]:
        calls.append("made")
        yield snapshot.reading(Cpu)

    first = kept.joined("parts", [processors], FIRST)
    other = {**FIRST.readings, Memory: object()}
    assert kept.joined("parts", [processors], _later(readings=other)) is first
    assert calls == ["made"]
    changed = {**FIRST.readings, Cpu: object()}
    assert kept.joined("parts", [processors], _later(readings=changed)) == (changed[Cpu],)
    assert kept.joined("parts", [processors], _later(readings=MappingProxyType({}))) == (None,)
    assert calls == 3 * ["made"]


def test_what_is_read_later_is_that_of_now() -> None:
    """Fields are read when a rule asks for them: then the last snapshot may be another one."""
    watched = Watched(FIRST)
    assert watched.reading(Cpu) is FIRST.readings[Cpu]
    other = {**FIRST.readings, Memory: object()}
    assert watched.moves_to(_later(readings=other))
    assert watched.reading(Memory) is other[Memory]
    assert not watched.moves_to(FIRST)


def test_a_rule_is_not_evaluated_again_for_the_same_components(tmp_path: Path) -> None:
    """Its answers, unknown ones too, are those of the last evaluation; other rules are asked."""
    asked: list[float] = []
    rules = book(tmp_path, HOT)
    rule = rules.rules[0]

    class Counted(Condition):
        @cached_property
        def evaluate(self) -> Compiled:
            holds = compile_expr(self.tree)

            def counted(ctx: EvalContext) -> Value:
                asked.append(ctx.now)
                return holds(ctx)

            return counted

    when = Counted(rule.when.source, rule.when.tree)
    rules = replace(rules, rules=(replace(rule, when=when),))
    judging = Evaluator(rules, SUBJECTS, stopwatch=lambda: 0.0)
    well, unread = gpu(heat=40), gpu(1)
    said = [judging.evaluate(scene(now, well, unread)) for now in (100.0, 115.0, 130.0)]
    assert asked == [100.0, 100.0]
    assert [[*each.unknown.values()] for each in said] == 3 * [[("hot",)]]
    assert judging.evaluate(scene(145.0, gpu(heat=95), unread)).active
    assert not judging.evaluate(scene(160.0, well, unread)).active
    asked.clear()
    judging.take(rules, SUBJECTS)
    judging.evaluate(scene(175.0, well, unread))
    assert asked == [175.0, 175.0]
