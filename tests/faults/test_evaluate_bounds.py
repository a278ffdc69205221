"""What the evaluator keeps over a restart, how much of it, and where a rule is silent."""

from pathlib import Path

import pytest

from exporter.faults.alert_state import MAX_ALERTS, Alert, AlertKey, AlertState
from tests.faults.scenes import (
    WALL,
    active,
    edge,
    fault,
    gpu,
    judge,
    rule,
    scene,
    thing,
    xid,
)

HOT = rule("hot", "gpu", "heat > 85", clear="heat < 80")
LOST = rule("lost", "gpu", "events(xid, within=1h) > 0", clear="up")


def key(number: int, name: str = "hot") -> AlertKey:
    """The fault of a GPU by number."""
    return AlertKey(name, ("gpu", f"u{number}"))


def held() -> Alert:
    """A fault that was active before a restart."""
    return Alert(10.0, 20.0, AlertState.ACTIVE, summary="hot")


def test_only_faults_from_events_are_kept(tmp_path: Path) -> None:
    """What is measured is found again."""
    judging = judge(tmp_path, HOT + LOST)
    judging.evaluate(scene(100, gpu(heat=90.0, up=False), events=[xid(79, 99.0)]))
    assert [each.rule for each in judging.store.alerts] == ["hot", "lost"]
    assert [each.rule for each in judging.kept()] == ["lost"]


def test_faults_of_rules_that_are_gone_are_not_taken_over(tmp_path: Path) -> None:
    """Nothing would ever end them."""
    judging = judge(tmp_path, HOT)
    judging.recall({key(0): held(), key(0, "gone"): held()}, {key(1): 5.0, key(1, "gone"): 5.0})
    assert (list(judging.store.alerts), judging.store.ended) == ([key(0)], {key(1): 5.0})


def test_all_faults_together_have_a_bound(tmp_path: Path) -> None:
    """Of five thousand one more is not begun, whatever rule it is of."""
    judging = judge(tmp_path, HOT + rule("bad", "gpu", "errors > 1"))
    judging.recall({key(number): held() for number in range(1, MAX_ALERTS)})
    cards = [gpu(number, errors=5.0, heat=90.0) for number in (7000, 7001)]
    judging.evaluate(scene(100, *cards))
    assert MAX_ALERTS == 5000
    assert [each for each in judging.store.alerts if each.rule == "bad"] == [key(7000, "bad")]


def test_ends_are_remembered_up_to_a_bound(tmp_path: Path) -> None:
    """The one that was noted first goes; one that ends again is noted anew."""
    judging = judge(tmp_path, HOT)
    judging.recall({}, {key(number): 5.0 for number in range(1, MAX_ALERTS + 1)})

    def end(number: int, now: float) -> None:
        judging.evaluate(scene(now, gpu(number, heat=90.0)))
        judging.evaluate(scene(now + 15, gpu(number, heat=20.0)))

    end(1, 100.0)
    assert (len(judging.store.ended), judging.store.ended[key(1)]) == (MAX_ALERTS, 115.0)
    end(9000, 200.0)
    assert len(judging.store.ended) == MAX_ALERTS
    assert (key(2) in judging.store.ended, key(1) in judging.store.ended) == (False, True)


@pytest.mark.parametrize(
    ("more", "silent"),
    [({}, {"gpu": ("hot",), "process": ()}), ({"heat": 20.0, "share": 5.0}, {})],
)
def test_a_rule_without_its_field_is_silent(
    tmp_path: Path, more: dict[str, float], silent: dict[str, tuple[str, ...]]
) -> None:
    """Of hardware; a process that does not say something is no matter."""
    text = rule("hot", "gpu", "known(heat) and heat > 85") + rule(
        "slow", "process", "known(share) and share < 1"
    )
    said = judge(tmp_path, text).evaluate(scene(0, gpu(**more), thing("process", "7", **more)))
    found = {subject.kind: names for subject, names in said.silent.items()}
    assert found == {kind: names for kind, names in silent.items() if names}


def test_each_rule_that_cannot_be_judged_is_named(tmp_path: Path) -> None:
    """By component, in the order of the rules, once."""
    judging = judge(tmp_path, HOT + rule("bad", "gpu", "errors > 1"))
    said = judging.evaluate(scene(0, gpu(), gpu(1, heat=20.0)))
    unknown = {subject.hw_id: names for subject, names in said.unknown.items()}
    assert unknown == {"u0": ("hot", "bad"), "u1": ("bad",)}


def test_what_had_ended_dates_what_begins_anew(tmp_path: Path) -> None:
    """Events up to the end belong to the fault before, also one of the same moment."""
    judging = judge(tmp_path, LOST)
    judging.recall({}, {key(0, "lost"): 50.0})
    told = [xid(79, 50.0), xid(79, 60.0)]
    said = judging.evaluate(scene(100, gpu(up=False), events=told))
    assert fault(said, "lost").since == WALL + 60
    fresh = judge(tmp_path, LOST).evaluate(scene(100, gpu(up=False), events=[xid(79, 0.0)]))
    assert fault(fresh, "lost").since == WALL


def test_the_end_of_one_fault_hides_no_event_of_another_component(tmp_path: Path) -> None:
    """What ended on one GPU counts from then; its neighbour has all its events."""
    judging = judge(tmp_path, LOST)
    judging.recall({}, {key(0, "lost"): 50.0})
    told = [xid(79, 60.0), xid(79, 40.0, ("gpu", "u1"))]
    said = judging.evaluate(scene(100, gpu(up=False), gpu(1, up=False), events=told))
    assert [each.subject.hw_id for each in said.active] == ["u1", "u0"]


def test_what_waits_is_forgotten_with_its_component(tmp_path: Path) -> None:
    """Nothing is remembered of a process that ends before its fault is shown."""
    judging = judge(tmp_path, rule("slow", "process", "share < 5", **{"for": "60s"}))
    judging.evaluate(scene(0, thing("process", "7", share=1.0)))
    assert len(judging.store.alerts) == 1
    judging.evaluate(scene(15))
    assert judging.store.alerts == {}


def test_a_window_may_look_back_on_a_related_component(tmp_path: Path) -> None:
    """Its history is kept for that kind, and for no other."""
    judging = judge(tmp_path, rule("link", "gpu", "increase(pcie.errors, 5m) > 0"))
    edges = [edge("part_of", ("gpu", "u0"), ("pcie", "card"))]
    for now, errors in ((0, 1.0), (15, 2.0)):
        card = thing("pcie", "card", errors=errors)
        said = judging.evaluate(scene(now, gpu(errors=9.0), card, edges=edges))
    assert active(said) == ["link"]
    assert judging.observer.history.series(("gpu", "u0"), "errors", 300.0) is None
