"""What a fault says of itself: its sentence, what was seen, since when, and how sure it is."""

from dataclasses import replace
from pathlib import Path

import pytest

from exporter.faults.values import Entity
from exporter.model.verdict import Evidence, Fault
from tests.faults.scenes import WALL, edge, event, fault, gpu, judge, rule, scene, thing, xid


def found(folder: Path, when: str, *entities: Entity, **more: object) -> Fault:
    """The fault that this condition makes of the entities, which begin with a GPU."""
    said = judge(folder, rule("one", "gpu", when, **more)).evaluate(scene(0, *entities))
    return fault(said, "one")


@pytest.mark.parametrize(
    ("when", "pieces"),
    [
        ("heat > 85", [("heat", 90.123457, "> 85")]),
        ("not heat < 85", [("heat", 90.123457, "not < 85")]),
        ("heat > errors * 2", [("heat", 90.123457, "> errors = 6")]),
        ("state != 'good'", [("state", "bad", "!= good")]),
        ("errors == 3 and up", [("errors", 3, "== 3"), ("up", True, "is true")]),
        ("up or heat > 99", [("up", True, "is true")]),
        ("not up or heat > 85", [("heat", 90.123457, "> 85")]),
        ("known(heat) and 85 < heat", [("value", 85.0, "< heat = 90.1235")]),
        ("heat > 85 and heat > 85", [("heat", 90.123457, "> 85")]),
        ("heat > 85 or clock[sm] > 1", [("heat", 90.123457, "> 85")]),
    ],
)
def test_each_comparison_that_holds_is_evidence(
    tmp_path: Path, when: str, pieces: list[tuple[str, object, str]]
) -> None:
    """By the field as it is written, with what it is and what it is compared with, once."""
    card = gpu(heat=90.123456789, errors=3, up=True, state="bad")
    evidence = found(tmp_path, when, card).evidence
    assert [(each.name, each.value, each.threshold) for each in evidence] == pieces
    assert {(each.at, each.raw) for each in evidence} == {(None, "")}
    (off,) = found(tmp_path, "not up", gpu(up=False)).evidence
    assert (off.name, off.value, off.threshold) == ("up", False, "is false")


def test_evidence_has_a_bound(tmp_path: Path) -> None:
    """Eight pieces, and five hundred and twelve characters of a line."""
    when = " and ".join(f"heat > {number}" for number in range(9))
    assert len(found(tmp_path, when, gpu(heat=90.0)).evidence) == 8
    judging = judge(tmp_path, rule("told", "gpu", "events(xid, within=10m) > 0"))
    long = replace(xid(13, 99.0), raw="x" * 513)
    (piece,) = fault(judging.evaluate(scene(100, gpu(), events=[long])), "told").evidence
    assert piece == Evidence("xid", 1, "in 600 s", WALL + 99, "x" * 512)


def test_the_last_event_is_shown_with_how_many_there_were(tmp_path: Path) -> None:
    """Or how many different values they had where those are counted."""
    told = [event("xid", at, code="13", pid=pid) for at, pid in ((10.0, "7"), (20.0, "8"))]
    told.append(event("xid", 30.0, code="13", pid="8"))
    text = rule("many", "gpu", "events(xid, within=1h) > 2") + rule(
        "some", "gpu", "events(xid, differ=pid, within=1h) > 1"
    )
    said = judge(tmp_path, text).evaluate(scene(40, gpu(), events=told))
    pieces = [fault(said, name).evidence[0] for name in ("many", "some")]
    assert [(each.value, each.at) for each in pieces] == [(3, WALL + 30), (2, WALL + 30)]
    assert [fault(said, name).since for name in ("many", "some")] == [WALL + 10] * 2


def test_a_sentence_speaks_of_the_last_event_of_all_that_were_looked_at(tmp_path: Path) -> None:
    """Of several kinds the latest, whether or not it is the one that decides."""
    text = rule(
        "two",
        "gpu",
        "events(xid, within=1h) > 0 or events(gpu_lost, within=1h) > 5",
        summary="{event.code} of {name}, {node.pressure}, {pcie.errors}",
    )
    told = [event("gpu_lost", 20.0, code="late"), xid(13, 10.0)]
    edges = [edge("part_of", ("gpu", "u0"), ("pcie", "card"))]
    card = thing("pcie", "card", errors=4.0)
    said = judge(tmp_path, text).evaluate(scene(40, gpu(), card, events=told, edges=edges))
    assert fault(said, "two").summary == "late of GPU 0, unknown, 4"
    text = rule("any", "gpu", "events(xid, within=1h) > 0 or events(hung_task, within=1h) > 0")
    by_nvml = scene(40, gpu(), events=[xid(13, 9.0)], event_sources=frozenset({"nvml"}))
    assert fault(judge(tmp_path, text).evaluate(by_nvml), "any").evidence[0].value == 1
    without = rule("no", "gpu", "heat > 85", summary="{event.code}, {name}")
    said = judge(tmp_path, without).evaluate(scene(0, gpu(heat=90.0)))
    assert fault(said, "no").summary == "unknown, GPU 0"


def test_a_fault_from_events_is_described_when_something_happens(tmp_path: Path) -> None:
    """Its sentence speaks of that moment; one from a threshold speaks of now."""
    text = rule("told", "gpu", "events(xid, within=1h) > 0", summary="{heat}") + rule(
        "hot", "gpu", "heat > 1", summary="{heat}"
    )
    judging = judge(tmp_path, text)
    told, hot = [], []
    for now, heat, events in (
        (10, 50.0, [xid(13, 9.0)]),
        (20, 60.0, []),
        (30, 70.0, [xid(13, 29.0)]),
        (40, 80.0, [xid(13, 29.0, source="nvml")]),
        (50, 85.0, [xid(48, 29.0)]),
    ):
        said = judging.evaluate(scene(now, gpu(heat=heat), events=events))
        told.append(fault(said, "told").summary)
        hot.append(fault(said, "hot").summary)
    assert told == ["50", "50", "70", "70", "85"]
    assert hot == ["50", "60", "70", "80", "85"]


@pytest.mark.parametrize(
    ("fields", "gate", "confidence"),
    [
        ({"heat": 90.0, "errors": 1.0, "up": True}, "up", 1.0),
        ({"heat": 90.0, "up": True}, "up", 0.8),
        ({"heat": 90.0, "errors": 1.0}, None, 1.0),
    ],
)
def test_what_could_not_be_judged_makes_a_fault_less_sure(
    tmp_path: Path, fields: dict[str, float], gate: str | None, confidence: float
) -> None:
    """A part of the condition; a gate that is open does not."""
    more: dict[str, object] = {"confidence": 1.0} | ({"only_if": gate} if gate else {})
    fault_now = found(tmp_path, "heat > 85 or errors > 3", gpu(**fields), **more)
    assert fault_now.confidence == confidence


def test_a_gate_that_is_unknown_later_makes_a_fault_less_sure(tmp_path: Path) -> None:
    """What is active stays so: the end of it is not seen."""
    text = rule("hot", "gpu", "heat > 85", only_if="up", confidence=1.0, clear="heat < 80")
    judging = judge(tmp_path, text)
    judging.evaluate(scene(0, gpu(heat=90.0, up=True)))
    said = judging.evaluate(scene(15, gpu(heat=90.0)))
    assert fault(said, "hot").confidence == 1.0  # it is not described anew while it is doubted


def test_what_lasts_dates_itself(tmp_path: Path) -> None:
    """By the seconds that it says; unknown, it began when it was seen."""
    entity = thing("process", "7", waiting=700.0, share=1.0)
    late = rule("late", "process", "share > 0", lasts="waiting")
    assert fault(judge(tmp_path, late).evaluate(scene(1000, entity)), "late").since == WALL + 300
    unknown = thing("process", "7", share=1.0)
    assert fault(judge(tmp_path, late).evaluate(scene(1000, unknown)), "late").since == WALL + 1000


def test_the_nearest_of_a_kind_is_what_is_meant(tmp_path: Path) -> None:
    """What the component is part of, or runs in; the node is the only one there is."""
    text = rule("one", "gpu", "pcie.errors > 0 and node.pressure > 5")
    card, other = thing("pcie", "card", errors=5.0), thing("pcie", "other", errors=0.0)
    edges = [edge("part_of", ("gpu", "u0"), ("pcie", "card"))]
    now = replace(scene(0, gpu(), edges=edges))
    node = thing("node", "n", pressure=9.0)
    said = judge(tmp_path, text).evaluate(replace(now, entities=(node, gpu(), other, card)))
    assert fault(said, "one").subject.hw_id == "u0"
    said = judge(tmp_path, text).evaluate(replace(now, entities=(node, gpu(), other)))
    assert [*said.unknown.values()] == [("one",)]
