"""Faults over a restart: kept within one boot, forgotten over two, and hostile files refused."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from exporter.faults.evaluate import Evaluator
from exporter.faults.persistence import SavedFaults, decode, state_file, to_text
from tests.faults.scenes import active, fault, gpu, judge, rule, scene, xid

LOST = rule("lost", "gpu", "events(xid, code=79, within=60s) > 0", clear="up") + rule(
    "often", "gpu", "events(xid, code=13, within=1h) >= 2"
)

LATE = rule("late", "gpu", "events(xid, within=1h) > 0", clear="up")
KEPT_FAULT = {
    "rule": "lost",
    "key": ["gpu", "u0"],
    "onset": 1.0,
    "seen": 2.0,
    "escalated": False,
    "confidence": 1.0,
    "summary": "",
    "advice": "",
    "last_evidence": 1.0,
    "causes": [],
}


def kept_by(judging: Evaluator) -> str:
    """What a process leaves behind."""
    return to_text(SavedFaults("boot", judging.kept(), tuple(judging.observer.events.all())))


def restarted(folder: Path, text: str, boot_id: str = "boot") -> Evaluator | None:
    """The process after it, if it takes over anything."""
    (folder / "faults.json").write_text(text)
    kept = state_file(folder, boot_id).load(decode)
    if kept is None:
        return None
    again = judge(folder, LOST)
    again.recall(kept.alerts, kept.ended)
    for event in kept.events:
        again.observer.events.take(event)
    return again


def test_a_fault_from_events_survives_a_restart(tmp_path: Path) -> None:
    """It is the same fault with the same beginning, and ends by its own condition."""
    before = judge(tmp_path, LOST)
    said = before.evaluate(scene(100, gpu(up=False), events=[xid(79, 99.0)]))
    after = restarted(tmp_path, kept_by(before))
    assert after is not None
    again = after.evaluate(scene(1000, gpu(up=False)))
    assert fault(again, "lost").since == fault(said, "lost").since
    assert fault(again, "lost").evidence[0].raw == "xid {'code': '79'}"
    assert active(after.evaluate(scene(1015, gpu(up=True)))) == []


def test_events_before_the_restart_count_with_those_after_it(tmp_path: Path) -> None:
    """One of two events may be told to each process."""
    before = judge(tmp_path, LOST)
    before.evaluate(scene(100, gpu(), events=[xid(13, 99.0)]))
    after = restarted(tmp_path, kept_by(before))
    assert after is not None
    assert active(after.evaluate(scene(200, gpu(), events=[xid(13, 199.0)]))) == ["often"]


def test_what_had_ended_before_the_restart_does_not_begin_again(tmp_path: Path) -> None:
    """Its events are still within their window: they have been dealt with."""
    before = judge(tmp_path, LATE)
    before.evaluate(scene(100, gpu(up=False), events=[xid(79, 99.0)]))
    assert active(before.evaluate(scene(115, gpu(up=True)))) == []
    after = judge(tmp_path, LATE)
    after.recall({}, before.store.ended)
    after.observer.events.take(xid(79, 99.0))
    assert active(after.evaluate(scene(200, gpu(up=False)))) == []
    forgetful = judge(tmp_path, LATE)
    forgetful.recall({})
    forgetful.observer.events.take(xid(79, 99.0))
    assert active(forgetful.evaluate(scene(200, gpu(up=False)))) == ["late"]


def test_what_is_pending_is_not_kept(tmp_path: Path) -> None:
    """Only a fault that was shown is taken over: what has not lasted yet begins anew."""
    text = rule("lost", "gpu", "events(xid, within=1h) > 0", **{"for": "60s"})
    before = judge(tmp_path, text)
    before.evaluate(scene(100, gpu(), events=[xid(79, 99.0)]))
    assert before.kept() == {}
    before.evaluate(scene(160, gpu()))
    assert [key.rule for key in before.kept()] == ["lost"]


def test_what_was_better_before_the_restart_is_kept(tmp_path: Path) -> None:
    """A fault found by comparing with the past lasts until its `clear`: the past is gone."""
    text = rule("slow", "gpu", "up < max_over(up, 24h)", clear="up")
    before = judge(tmp_path, text)
    before.evaluate(scene(100, gpu(up=True)))
    before.evaluate(scene(115, gpu(up=False)))
    after = judge(tmp_path, text)
    after.recall(before.kept())
    assert active(after.evaluate(scene(200, gpu(up=False)))) == ["slow"]
    assert active(after.evaluate(scene(215, gpu(up=True)))) == []


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"faults": 5},
        {"faults": [{}]},
        {"faults": [["a"]]},
        {"faults": [{**KEPT_FAULT, "evidence": [["heat", [90.0], "> 85", 1.0, ""]]}]},
        {"faults": [{**KEPT_FAULT, "evidence": [], "onset": math.inf}]},
        {"faults": [{**KEPT_FAULT, "evidence": [], "seen": "nan"}]},
        {"ended": [["lost", ["gpu", "u0"], 1e300]]},
        {"events": [[1, 2]]},
        {"events": [None]},
        {"events": "abc"},
    ],
)
def test_a_file_that_makes_no_sense_is_left_out(tmp_path: Path, change: dict[str, Any]) -> None:
    """Whatever stands in the file, the program starts."""
    document = {"version": 1, "boot_id": "boot", "faults": [], "events": []} | change
    (tmp_path / "faults.json").write_text(json.dumps(document))
    assert state_file(tmp_path, "boot").load(decode) is None
