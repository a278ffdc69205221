"""The judge: when a fault begins, when it ends, what is unknown, and what explains it."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.faults.evaluate import Evaluator
from exporter.faults.rules.site import for_site
from exporter.faults.values import Address, Entity, Value
from exporter.model.verdict import Conclusions, Edge, FaultState, Key
from tests.faults.scenes import (
    SUBJECTS,
    WALL,
    active,
    book,
    event,
    fault,
    gpu,
    judge,
    rule,
    scene,
    thing,
    xid,
)

HOT = rule(
    "hot",
    "gpu",
    "heat > 85",
    **{"for": "60s", "clear": "heat < 80", "clear_for": "30s"},
    summary="{name} has {heat:.1f} degrees",
)


def run_heat(judging: Evaluator, *samples: tuple[float, float | None]) -> list[Conclusions]:
    """One judgement for each time and heat of one GPU."""
    return [judging.evaluate(scene(now, gpu(heat=heat))) for now, heat in samples]


def test_a_fault_begins_when_it_has_held_for_long_enough(tmp_path: Path) -> None:
    """`for` is waited out, a dip begins it anew, and `since` is when it really began."""
    said = run_heat(
        judge(tmp_path, HOT),
        *((0, 90.0), (30, 70.0), (45, 90.0), (75, 90.0), (105, 91.25)),
    )
    assert [active(each) for each in said] == [[], [], [], [], ["hot"]]
    found = fault(said[-1], "hot")
    assert found.since == WALL + 45
    assert found.summary == "GPU 0 has 91.2 degrees"
    (piece,) = found.evidence
    assert (piece.name, piece.value, piece.threshold) == ("heat", 91.25, "> 85")


def test_a_fault_ends_by_its_own_condition(tmp_path: Path) -> None:
    """Between the two limits it stays; below the lower one it ends after `clear_for`."""
    said = run_heat(
        judge(tmp_path, HOT),
        *((0, 90.0), (60, 90.0), (75, 82.0), (300, 82.0), (315, 79.0), (330, 79.0), (345, 79.0)),
    )
    assert [bool(active(each)) for each in said] == [False, True, True, True, True, True, False]
    over = fault(said[-1], "hot")
    assert (over.state, over.ended) == (FaultState.CLEARED, WALL + 345)
    assert said[-1].transitions == (("hot", "active", 1), ("hot", "cleared", 1))


def test_a_fault_that_cannot_be_judged_for_long_ends_as_unjudged(tmp_path: Path) -> None:
    """After the life of the cache it is neither shown as active nor as cleared."""
    said = run_heat(
        judge(tmp_path, HOT), (0, 90.0), (60, 90.0), (75, None), (375, None), (376, None)
    )
    assert [bool(active(each)) for each in said] == [False, True, True, True, False]
    assert fault(said[-1], "hot").state is FaultState.UNJUDGED
    assert ("hot", "unjudged", 1) in said[-1].transitions


def test_a_fault_that_is_pending_is_not_judged_where_it_cannot_be(tmp_path: Path) -> None:
    """That its end would not hold either says nothing: before it is shown it is unknown."""
    text = rule("hot", "gpu", "heat > 85", **{"for": "60s", "clear": "errors == 0"})
    judging = judge(tmp_path, text)
    judging.evaluate(scene(0, gpu(heat=90.0, errors=5.0)))
    said = judging.evaluate(scene(15, gpu(errors=5.0)))
    assert [*said.unknown.values()] == [("hot",)]
    judging.evaluate(scene(30, gpu(heat=90.0, errors=5.0)))
    judging.evaluate(scene(100, gpu(heat=90.0, errors=5.0)))
    said = judging.evaluate(scene(115, gpu(errors=5.0)))
    assert (active(said), dict(said.unknown)) == (["hot"], {})  # its end is known not to hold


def test_transitions_are_logged_by_their_weight(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What begins is a warning unless it is information only; what ends is information."""
    caplog.set_level("INFO")
    text = rule("hot", "gpu", "heat > 85") + rule("warm", "gpu", "heat > 60", severity="info")
    judging = judge(tmp_path, text)
    for now, heat in ((0, 90.0), (15, 20.0)):
        judging.evaluate(scene(now, gpu(heat=heat)))
    said = [(each.levelname, " ".join(each.message.split()[1:4])) for each in caplog.records]
    assert sorted(said) == [
        ("INFO", "hot is cleared"),
        ("INFO", "warm is active"),
        ("INFO", "warm is cleared"),
        ("WARNING", "hot is active"),
    ]


def test_the_time_that_rules_take_adds_up(tmp_path: Path) -> None:
    """By the stopwatch that is passed in, from nothing on."""
    moments = iter((10.0, 10.5, 20.0, 20.25))
    rules = book(tmp_path, rule("hot", "gpu", "heat > 85"))
    judging = Evaluator(rules, SUBJECTS, stopwatch=lambda: next(moments))
    assert [judging.evaluate(scene(now)).rule_seconds for now in (0, 15)] == [0.5, 0.75]


def test_a_gate_keeps_a_rule_away(tmp_path: Path) -> None:
    """Where the gate is closed the rule does not hold, where it is unknown it is not judged."""
    judging = judge(tmp_path, rule("hot", "gpu", "heat > 85", only_if="clock[sm] > 0"))
    closed = judging.evaluate(scene(0, gpu(heat=90.0, **{"clock[sm]": 0.0})))
    unknown = judging.evaluate(scene(15, gpu(heat=90.0)))
    opened = judging.evaluate(scene(30, gpu(heat=90.0, **{"clock[sm]": 1.0})))
    assert [active(each) for each in (closed, unknown, opened)] == [[], [], ["hot"]]
    assert [len(each.unknown) for each in (closed, unknown, opened)] == [0, 1, 0]


def test_a_severity_of_the_site_ends_an_escalation(tmp_path: Path) -> None:
    """A fault that is critical already has the severity of the site after a reload."""
    text = rule("hot", "gpu", "heat > 85", escalate="heat > 100")
    judging = judge(tmp_path, text)
    run_heat(judging, (0, 101.0))
    judging.take(for_site(book(tmp_path, text), {"hot": "info"}, (), tuple), SUBJECTS)
    (said,) = run_heat(judging, (15, 101.0))
    assert fault(said, "hot").severity == "info"


def test_an_event_is_a_fault_until_its_window_has_passed(tmp_path: Path) -> None:
    """An Xid makes a fault at once, dated by the event, with the raw line as evidence."""
    judging = judge(tmp_path, rule("bad", "gpu", "events(xid, code=48, within=10m) > 0"))
    first = judging.evaluate(scene(100, gpu(), events=[xid(48, 99.5)]))
    assert fault(first, "bad").since == WALL + 99.5
    assert fault(first, "bad").evidence[0].raw == "xid {'code': '48'}"
    assert active(judging.evaluate(scene(690, gpu()))) == ["bad"]
    assert active(judging.evaluate(scene(701, gpu()))) == []


PCI = ("gpu", "0000:07:00.0")


@pytest.mark.parametrize(
    ("read", "said", "hw_id"),
    [
        ((), (), "0000:07:00.0"),
        ((gpu(7),), (), "u7"),
        ((), ((PCI, ("gpu", "GPU-x")),), "GPU-x"),
    ],
    ids=["never read", "read before", "named by the driver in the log"],
)
def test_a_lost_gpu_has_its_fault_although_it_is_not_there(
    tmp_path: Path, read: tuple[Entity, ...], said: tuple[tuple[Address, Key], ...], hw_id: str
) -> None:
    """Under the stable name that the address of the event leads to, else under this address."""
    judging = judge(tmp_path, rule("lost", "gpu", "events(gpu_lost, within=1h) > 0"))
    judging.evaluate(scene(90, *read))
    lost = replace(scene(100, events=[event("gpu_lost", 99, PCI)]), names=said)
    assert fault(judging.evaluate(lost), "lost").subject.hw_id == hw_id


def test_a_broken_rule_is_asked_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its traceback and counted once; the others are judged all the same."""
    judging = judge(tmp_path, rule("a", "gpu", "heat > 85") + rule("b", "gpu", "errors > 1"))
    for now in (0, 15, 30):
        said = judging.evaluate(scene(now, gpu(heat="text", errors=5.0)))
    assert active(said) == ["b"]
    assert [record.message for record in caplog.records if record.exc_info] == [
        "rule a failed and is disabled"
    ]
    assert dict(said.rules_skipped)["broken"] == 1


def test_a_flood_of_faults_of_one_rule_is_bounded(tmp_path: Path) -> None:
    """Beyond 200 nothing new is remembered of that rule; what is known goes on and ends."""
    judging = judge(tmp_path, rule("hot", "gpu", "heat > 85") + rule("bad", "gpu", "errors > 1"))
    cards = [gpu(number, heat=90.0, errors=5.0) for number in range(202)]

    def known(said: Conclusions, name: str) -> set[str]:
        return {fault.subject.hw_id for fault in said.active if fault.rule == name}

    said = judging.evaluate(scene(0, *cards))
    first = {f"u{number}" for number in range(200)}
    assert known(said, "hot") == known(said, "bad") == first
    calm = scene(15, gpu(0, heat=50.0, errors=5.0), *cards[1:])
    assert known(judging.evaluate(calm), "hot") == first - {"u0"}
    later = judging.evaluate(replace(calm, now=30.0))
    assert known(later, "hot") == first - {"u0"} | {"u200"}


def test_a_judgement_is_quick_on_a_large_node(tmp_path: Path) -> None:
    """16 GPUs, 1,000 processes and 100 rules take far less than a tenth of a second here."""
    text = "".join(
        [
            *(rule(f"g{n}", "gpu", f"heat > {85 + n} and rate(errors, 5m) > 3") for n in range(80)),
            *(rule(f"p{n}", "process", f"share < {n} and waiting > 60") for n in range(10)),
            *(rule(f"e{n}", "process", f"events(xid, code={n}, within=5m) > 0") for n in range(10)),
        ]
    )
    judging = judge(tmp_path, text)
    cards = [gpu(n, heat=50.0, errors=3.0) for n in range(16)]
    processes = [thing("process", str(n), share=50.0, waiting=0.0) for n in range(1000)]
    edges = [Edge("consumes", each.key, ("gpu", f"u{n % 16}")) for n, each in enumerate(processes)]
    took = []
    for step in range(5):
        now = scene(step * 15.0, *cards, *processes, edges=edges)
        started = time.thread_time()  # the processor's time: other work on the machine is not ours
        judging.evaluate(now)
        took.append(time.thread_time() - started)
    assert min(took) < 0.1


def stale(**fields: Value) -> Entity:
    """A GPU whose values were not read lately."""
    return replace(gpu(**fields), is_fresh=False)


def test_old_values_speak_neither_for_health_nor_end_a_fault(tmp_path: Path) -> None:
    """What is served from the cache is not judged, whatever the rule makes of absent fields."""
    text = rule("hot", "gpu", "known(heat) and heat > 85", only_if="known(heat)")
    judging = judge(tmp_path, text)
    assert [*judging.evaluate(scene(0, stale())).unknown.values()] == [("hot",)]
    judging.evaluate(scene(15, gpu(heat=90.0)))
    doubted = judging.evaluate(scene(30, stale()))
    assert active(doubted) == ["hot"]
    assert [*doubted.unknown.values()] == [("hot",)]
    assert active(judging.evaluate(scene(45, gpu(heat=60.0)))) == []


def test_a_flood_about_many_processes_stays_quick(tmp_path: Path) -> None:
    """Thousands of crashes of thousands of processes are judged in a moment, and bounded."""
    text = rule("crashed", "process", "events(segfault, within=1h) > 0")
    judging = judge(tmp_path, text)
    crashes = [event("segfault", 50 + n / 1000, ("process", str(n))) for n in range(8000)]
    judging.evaluate(scene(100, events=crashes))
    started = time.thread_time()
    said = judging.evaluate(scene(115))
    assert time.thread_time() - started < 1
    assert len(said.faults) == 200


def test_events_are_found_by_a_name_that_is_learnt_later(tmp_path: Path) -> None:
    """A card whose address becomes known has the events of that address; their fault goes on."""
    judging = judge(tmp_path, rule("told", "gpu", "events(xid, within=1h) > 0"))
    card = replace(gpu(), addresses=(("gpu", "u0"),))
    about = [xid(79, 10, about=("gpu", "0000:00:00.0"))]
    first = judging.evaluate(scene(15, card, events=about))
    assert [each.subject.hw_id for each in first.active] == ["0000:00:00.0"]
    later = judging.evaluate(scene(30, gpu()))
    assert [each.subject.hw_id for each in later.active] == ["u0"]
    assert ("told", "cleared", 1) in later.transitions


def test_what_gpus_were_counts_when_their_driver_is_back(tmp_path: Path) -> None:
    """While none of the GPUs is read their fields are remembered; one that is missing is not."""
    text = rule("quiet", "gpu", "errors == 0 and max_over(errors, 24h) > 0")
    judging = judge(tmp_path, text)
    judging.evaluate(scene(0, gpu(0, errors=1.0), gpu(1, errors=1.0)))
    judging.evaluate(scene(15))
    judging.evaluate(scene(30, gpu(0, errors=0.0)))
    said = judging.evaluate(scene(45, gpu(0, errors=0.0), gpu(1, errors=0.0)))
    assert [each.subject.hw_id for each in said.active] == ["u0"]
