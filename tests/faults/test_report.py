"""What is said of faults: names, counts, severities, who is affected, and what ended lately."""

from dataclasses import replace
from pathlib import Path

import pytest

from exporter.faults.values import Entity, Scene
from exporter.model.verdict import FaultState, Subject
from tests.faults.scenes import (
    WALL,
    active,
    edge,
    event,
    fault,
    gpu,
    judge,
    look,
    rule,
    scene,
    thing,
)

HOT = rule("hot", "gpu", "heat > 85")
SHORT = rule("short", "node", "pressure > 5")


def short(now: float, *entities: Entity, pressure: float = 9.0) -> Scene:
    """A scene in which the node has this pressure."""
    node = thing("node", "n", pressure=pressure)
    return replace(scene(now), entities=(node, *entities))


def test_a_component_keeps_its_name_while_only_its_id_is_known(tmp_path: Path) -> None:
    """A new name is taken; an id in the place of the name is not one."""
    judging = judge(tmp_path, HOT)
    card = gpu(heat=90.0)
    names = []
    for now, name in ((0, "GPU 0"), (15, "u0"), (30, "GPU 7"), (45, "u0")):
        said = judging.evaluate(scene(now, replace(card, name=name)))
        names.append(fault(said, "hot").subject.hw_name)
    assert names == ["GPU 0", "GPU 0", "GPU 7", "GPU 7"]


def test_a_component_that_is_gone_keeps_its_name_as_long_as_its_fault_is_shown(
    tmp_path: Path,
) -> None:
    """For a quarter of an hour after its end; then it is forgotten."""
    judging = judge(tmp_path, rule("slow", "process", "share < 5"))
    worker = replace(thing("process", "7", share=1.0), name="train (7)")
    judging.evaluate(scene(0, worker))
    for now in (15, 30, 914):
        (over,) = judging.evaluate(scene(now)).faults
        assert (over.subject.hw_name, over.state) == ("train (7)", FaultState.CLEARED)
    assert judging.evaluate(scene(915)).faults == ()
    judging.evaluate(scene(920))
    again = replace(worker, name="7")
    assert judging.evaluate(scene(930, again)).faults[0].subject.hw_name == "7"


def test_entities_are_counted_by_kind_for_ever(tmp_path: Path) -> None:
    """Those of jobs from the start, others once there was one; some under another word."""
    judging = judge(tmp_path, HOT)
    things = (gpu(), gpu(1), thing("pcie", "a"), Entity(("source", "gpu"), "gpu"))
    said = judging.evaluate(scene(0, *things))
    first = {"exporter": 1, "gpu": 2, "node": 1, "pcie_port": 1, "process": 0, "workload": 0}
    assert dict(said.nodes) == first
    assert said.subjects[-1] == Subject("source", "source", "gpu", "gpu")
    empty = dict(judging.evaluate(scene(15)).nodes)
    assert empty == dict.fromkeys(first, 0) | {"node": 1}


def test_events_that_nobody_else_counts_are_counted(tmp_path: Path) -> None:
    """The kernel log counts its own; what two looks show is no event that anything told."""
    sources = ("kernel_log", "looks", "nvml", "probe:npu")
    told = [event("error", 10.0 + n, source=source) for n, source in enumerate(sources)]
    said = judge(tmp_path, HOT).evaluate(scene(20, gpu(), events=told))
    assert said.events == (("error.hw", 2),)


def test_who_uses_what_is_broken_is_affected(tmp_path: Path) -> None:
    """Twenty users at most, each with its workload, also those that end soon after it begins."""
    users = [thing("process", str(number)) for number in range(21)]
    edges = [edge("consumes", each.key, ("gpu", "u0")) for each in users]
    edges += [edge("runs_in", each.key, ("workload", "ml")) for each in users]
    judging = judge(tmp_path, HOT)
    said = judging.evaluate(scene(0, gpu(heat=90.0), *users, edges=edges))
    names = [subject.hw_id for subject in fault(said, "hot").affected]
    assert fault(said, "hot").affected[0] == Subject("workload", "workload", "ml", "ml")
    assert names == ["ml", *(str(number) for number in range(20))]
    assert dict(said.edges) == {"consumes": 21, "waits_on": 0, "blocked_by": 22}
    assert dict(judging.evaluate(scene(15)).edges) == dict(said.edges) | {"consumes": 0}


def test_faults_are_shown_up_to_a_bound_the_most_severe_first(tmp_path: Path) -> None:
    """Five hundred; of equal ones the oldest first."""
    text = "".join(rule(f"r{n}", "process", "share > 85") for n in range(3)) + rule(
        "worst", "process", "share > 86", severity="critical"
    )
    judging = judge(tmp_path, text)
    judging.evaluate(scene(0, thing("process", "u5", share=86.0)))
    users = [thing("process", f"u{n}", share=90.0 if n > 1 else 86.0) for n in range(170)]
    said = judging.evaluate(scene(15, *users))
    assert (len(said.faults), len(active(said))) == (500, 500)
    assert [each.severity for each in said.faults[:168]] == ["critical"] * 168
    assert [each.subject.hw_id for each in said.faults[168:171]] == ["u5"] * 3
    assert sum(count for _, state, count in said.transitions if state == "active") == 678


@pytest.mark.parametrize(
    ("severities", "shown", "status"),
    [
        (("warning", "critical"), "critical", "failed"),
        (("critical", "warning"), "critical", "failed"),
        (("warning", "warning"), "warning", "degraded"),
        (("info", "warning"), "warning", "degraded"),
    ],
)
def test_a_root_is_as_severe_as_the_worst_that_follows(
    tmp_path: Path, severities: tuple[str, str], shown: str, status: str
) -> None:
    """What follows keeps its own severity; the component of the root is as bad as that."""
    because = [{"rule": "short", "via": "node"}]
    root = rule("short", "node", "pressure > 5", severity=severities[0])
    text = root + rule("hot", "gpu", "heat > 85", severity=severities[1], explained_by=because)
    said = judge(tmp_path, text).evaluate(short(0, gpu(heat=90.0, up=True)))
    assert [fault(said, name).severity for name in ("short", "hot")] == [shown, severities[1]]
    assert fault(said, "short").status == status
    assert {subject.kind: word for subject, word in said.statuses}["node"] == status


def test_a_root_is_not_less_severe_at_once_when_what_followed_ends(tmp_path: Path) -> None:
    """Both recover within minutes: nobody is notified of the root again, as a warning."""
    because = [{"rule": "short", "via": "node"}]
    text = SHORT + rule("hot", "gpu", "heat > 85", severity="critical", explained_by=because)
    judging = judge(tmp_path, text)
    heats = {0: 90.0, 60: 20.0, 75: 20.0, 179: 20.0, 180: 20.0, 200: 90.0, 215: 20.0}
    said = {now: judging.evaluate(short(now, gpu(heat=heat))) for now, heat in heats.items()}
    shown = {now: fault(each, "short").severity for now, each in said.items()}
    lowered = {now for now, severity in shown.items() if severity == "warning"}
    assert lowered == {180, 215}  # the second time it was critical for a quarter of a minute only
    assert {now for now, each in said.items() if each.is_healthy} == lowered


def test_a_root_keeps_no_severity_of_what_has_another_cause_now(tmp_path: Path) -> None:
    """The consequence goes on, and its root is another one."""
    because = [{"rule": "io", "via": "same"}, {"rule": "short", "via": "node", "weak": True}]
    text = (
        SHORT
        + rule("io", "gpu", "errors > 0", layer="bus")
        + rule("hot", "gpu", "heat > 85", severity="critical", explained_by=because)
    )
    judging = judge(tmp_path, text)
    before = [judging.evaluate(short(now, gpu(heat=90.0, errors=0.0))) for now in (0, 15, 90)]
    assert {fault(each, "short").severity for each in before} == {"critical"}
    said = judging.evaluate(short(105, gpu(heat=90.0, errors=1.0)))
    assert (fault(said, "io").severity, fault(said, "short").severity) == ("critical", "warning")


def test_a_component_is_as_bad_as_its_worst_fault(tmp_path: Path) -> None:
    """A GPU that answers is well without one; others are, for a while, when theirs has ended."""
    text = (
        HOT + rule("bad", "gpu", "errors > 1", status="failed") + rule("full", "disk", "delay > 1")
    )
    judging = judge(tmp_path, text)

    def states(now: float, *entities: Entity) -> dict[str, str]:
        said = judging.evaluate(scene(now, *entities))
        return {subject.hw_id: status for subject, status in said.statuses}

    full = thing("disk", "sda", delay=5.0)
    cards = (gpu(heat=90.0, errors=5.0, up=True), gpu(1, up=True), gpu(2, up=False), gpu(3))
    assert states(0, *cards, full) == {"sda": "degraded", "u0": "failed", "u1": "ok"}
    well = thing("disk", "sda", delay=0.0)
    calm = gpu(heat=20.0, errors=0.0, up=False)
    assert states(15, calm, gpu(1, up=True), well) == {"sda": "ok", "u1": "ok"}
    assert states(920, calm, well) == {}


@pytest.mark.parametrize(("where", "action"), [("gpu", "reset"), ("node", "watch")])
def test_the_instruction_is_for_the_severity(tmp_path: Path, where: str, action: str) -> None:
    """What is graver on the component of the root says what to do; elsewhere the root does."""
    because = [{"rule": "first", "via": "same" if where == "gpu" else "node"}]
    field = "errors" if where == "gpu" else "pressure"
    text = rule("first", "gpu", "heat > 85", action="watch") + rule(
        *("then", where, f"{field} > 5"), severity="critical", action="reset", explained_by=because
    )
    said = judge(tmp_path, text).evaluate(short(0, gpu(heat=90.0, errors=9.0)))
    assert {each.action for each in said.faults} == {action}
    assert fault(said, "first").severity == "critical"


def test_an_escalated_fault_has_the_status_of_its_severity(tmp_path: Path) -> None:
    """Its own status is for its own severity; it stays raised while the fault holds."""
    judging = judge(tmp_path, rule("hot", "gpu", "heat > 85", escalate="heat > 100", status="ok"))
    said = [judging.evaluate(look(15 * n, heat=heat)) for n, heat in enumerate((90.0, 101.0, 90.0))]
    shown = [(fault(each, "hot").severity, fault(each, "hot").status) for each in said]
    assert shown == [("warning", "ok"), ("critical", "failed"), ("critical", "failed")]
    assert [each.is_healthy for each in said] == [True, False, False]


def test_rules_are_listed_by_kind_with_what_was_left_out(tmp_path: Path) -> None:
    """In their order; a fault says how sure it is, and what it concerns in the words of labels."""
    text = HOT + SHORT + rule("bad", "gpu", "errors > 1", confidence=0.12345, concerns="disk")
    said = judge(tmp_path, text).evaluate(scene(0, gpu(errors=5.0)))
    assert said.rules == {"gpu": ("hot", "bad"), "node": ("short",)}
    assert said.rules_loaded == 3
    assert dict(said.rules_skipped) == {"unreadable": 0, "syntax": 0, "invalid": 0, "broken": 0}
    assert fault(said, "bad").confidence == 0.123
    assert fault(said, "bad").concerns == "physical_disk"
    assert [subject.hw_id for subject in said.subjects] == ["n", "u0"]


def test_a_fault_that_comes_back_is_not_shown_as_over(tmp_path: Path) -> None:
    """The earlier one is forgotten; both beginnings and the end are counted."""
    judging = judge(tmp_path, HOT)
    for now, heat in ((0, 90.0), (15, 20.0), (30, 90.0)):
        said = judging.evaluate(scene(now, gpu(heat=heat)))
    (found,) = said.faults
    assert (found.state, found.since, found.ended) == (FaultState.ACTIVE, WALL + 30, None)
    assert said.transitions == (("hot", "active", 2), ("hot", "cleared", 1))


def test_a_change_is_logged_with_its_root(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As fields for programs: the component, since when, and what it follows from."""
    caplog.set_level("INFO")
    because = [{"rule": "short", "via": "node"}]
    text = SHORT + rule("hot", "gpu", "heat > 85", explained_by=because)
    judge(tmp_path, text).evaluate(short(0.123456, gpu(heat=90.0)))
    fields = {
        record.__dict__["fields"]["fault"]: record.__dict__["fields"] for record in caplog.records
    }
    assert fields["hot"] == {
        "fault": "hot",
        "state": "active",
        "severity": "warning",
        "hw_type": "gpu",
        "hw_id": "u0",
        "since": round(WALL + 0.123, 3),
        "cause": "short",
        "cause_hw_id": "n",
    }
    assert (fields["short"]["cause"], fields["short"]["cause_hw_id"]) == ("short", "n")


def test_a_cause_that_is_known_no_more_is_told_as_it_was(tmp_path: Path) -> None:
    """At recovery the fault keeps the way to its root; what holds is told as it is now."""
    because = [{"rule": "short", "via": "node"}]
    chain = rule("hot", "gpu", "heat > 85", explained_by=because) + rule(
        "slow", "gpu", "errors > 1", explained_by=[{"rule": "hot", "via": "same"}]
    )
    judging = judge(tmp_path, SHORT + chain)
    card = gpu(heat=90.0, errors=5.0)
    ways = []
    for now, pressure in ((0, 9.0), (15, 1.0), (30, 1.0)):
        said = judging.evaluate(short(now, card, pressure=pressure))
        ways.append([cause.rule for cause in fault(said, "slow").causes])
    assert ways == [["hot", "short"]] * 3
    cause = fault(said, "slow").causes[0]
    assert (cause.since, cause.via, cause.summary) == (WALL, "same", "hot of GPU 0")
