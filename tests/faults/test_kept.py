"""What is kept while nothing changes, and what changes with time alone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from exporter.faults.evaluate import Evaluator
from exporter.faults.expr.compile import EvalContext
from exporter.faults.rules.rule import Condition
from exporter.faults.values import Value
from exporter.model.verdict import Conclusions
from exporter.reports.faults import fault_document
from tests.faults.scenes import SUBJECTS, WALL, active, book, fault, gpu, judge, rule, scene

HOT = rule("hot", "gpu", "heat > 85", clear_for="1m", summary="{name} has {heat} degrees")


def evidence_times(said: Conclusions) -> list[float]:
    """Return the time of each piece of evidence in the document, since the first scene."""
    (found,) = said.faults
    return [row["time"] - WALL for row in fault_document(found, said.at)["evidence"]]


def test_evidence_is_of_now_for_as_long_as_it_is_so(tmp_path: Path) -> None:
    """While nothing can be read, and after the end, it is as old as what was read last."""
    judging = judge(tmp_path, HOT)
    hot, silent, cool = gpu(heat=90.0), gpu(), gpu(heat=40.0)
    seen = [hot, hot, silent, silent, hot, hot, cool, cool, cool, cool, cool, cool]
    said = [judging.evaluate(scene(15.0 * n, each)) for n, each in enumerate(seen)]
    times = [evidence_times(each) for each in said]
    assert times == [[0.0], [15.0], [15.0], [15.0], [60.0], [75.0], *[[75.0]] * 6]
    assert [bool(active(each)) for each in said] == [True] * 10 + [False] * 2


def test_evidence_that_ends_with_its_component_is_of_the_last_look(tmp_path: Path) -> None:
    """A process is gone at once; what it did was so when it was read last."""
    judging = judge(tmp_path, rule("slow", "process", "share < 5"))
    worker = replace(gpu(share=1.0), key=("process", "7"))
    judging.evaluate(scene(0, worker))
    judging.evaluate(scene(15, worker))
    assert evidence_times(judging.evaluate(scene(30))) == [15.0]


def test_a_fault_is_the_same_object_while_only_time_goes_on(tmp_path: Path) -> None:
    """Clocks that are read one after the other differ a little; a step of the clock is another."""
    judging = judge(tmp_path, HOT)
    hot = gpu(heat=90.0)

    def found(now: float, wall: float) -> object:
        return fault(judging.evaluate(replace(scene(now, hot), wall=WALL + wall)), "hot")

    first = found(0.0, 0.0)
    assert found(15.0, 15.0) is first
    assert found(30.0, 30.0004) is first
    assert found(45.0, 46.0) == replace(first, since=WALL + 1.0)  # type: ignore[type-var]


def test_only_components_that_have_changed_are_evaluated_anew(tmp_path: Path) -> None:
    """What the rule said of all others is said again, in the order of the components."""
    asked: list[str] = []
    rules = book(tmp_path, HOT)
    when = rules.rules[0].when

    def counted(ctx: EvalContext) -> Value:
        asked.append(ctx.entity.key[1])
        return when.evaluate(ctx)

    counting = Condition(when.source, when.tree)
    vars(counting)["evaluate"] = counted  # as if the expression had been made into a function
    rules = replace(rules, rules=(replace(rules.rules[0], when=counting),))
    judging = Evaluator(rules, SUBJECTS, stopwatch=lambda: 0.0)

    def looks() -> Iterator[tuple[list[str], list[str], list[str]]]:
        for now, cards in enumerate(scenes, start=1):
            asked.clear()
            said = judging.evaluate(scene(15.0 * now, *cards))
            unknown = [subject.hw_id for subject in said.unknown]
            yield sorted(set(asked)), [it.subject.hw_id for it in said.active], unknown

    hot, silent, cool = gpu(0, heat=90.0), gpu(1), gpu(2, heat=40.0)
    scenes = [
        [hot, silent, cool],
        [hot, silent, gpu(2)],
        [hot, silent, gpu(2)],
        [hot, gpu(1, heat=95.0), gpu(2)],
        [gpu(0, heat=91.0), gpu(1, heat=95.0), gpu(2)],
    ]
    scenes[2][2] = scenes[3][2] = scenes[4][2] = scenes[1][2]
    scenes[4][1] = scenes[3][1]
    assert [*looks()] == [
        (["u0", "u1", "u2"], ["u0"], ["u1"]),
        (["u2"], ["u0"], ["u1", "u2"]),
        ([], ["u0"], ["u1", "u2"]),
        (["u1"], ["u0", "u1"], ["u2"]),
        (["u0"], ["u0", "u1"], ["u2"]),
    ]


def test_an_alarm_that_is_confirmed_leaves_what_is_unknown_of_others(tmp_path: Path) -> None:
    """The rule is evaluated once more for that component only."""
    text = rule("alarm", "gpu", "heat > 85", **{"for": "5m"}) + rule(
        "slow", "process", "share < 5", explained_by=[{"rule": "alarm", "via": "node"}]
    )
    judging = judge(tmp_path, text)
    hot, silent = gpu(0, heat=90.0), gpu(1)
    worker = replace(gpu(2, share=1.0), key=("process", "7"))
    said = [judging.evaluate(scene(15.0 * n, hot, silent, worker)) for n in range(1, 4)]
    assert [active(each) for each in said] == [["alarm", "slow"]] * 3
    assert [[*each.unknown.values()] for each in said] == [[("alarm",)]] * 3
