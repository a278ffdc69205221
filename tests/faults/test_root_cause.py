"""Root causes: through the graph, in time, whatever circles the rules allow."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.faults.evaluate import Evaluator
from exporter.faults.persistence import SavedFaults, decode, to_text
from exporter.faults.values import Entity, Scene
from exporter.model.event import Event
from exporter.model.verdict import Cause, Conclusions, Edge
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
    xid,
)

BELOW = edge("below", ("pcie", "card"), ("pcie", "port"))


def explained(
    name: str, entity: str, when: str, *causes: Mapping[str, object], **more: object
) -> str:
    """A rule that these others may explain."""
    return rule(name, entity, when, explained_by=list(causes), **more)


def path(said: Conclusions, name: str) -> list[tuple[str, str, str]]:
    """Rule, component and relation of each step from this fault to its root."""
    return [(step.rule, step.subject.hw_id, step.via) for step in fault(said, name).causes]


def same(rule: str, **more: object) -> dict[str, object]:
    """An explanation by a fault of the same component."""
    return {"rule": rule, "via": "same", **more}


HOT = rule("hot", "gpu", "heat > 85")
TOLD = rule("told", "gpu", "events(xid, within=24h) > 0")
LOST = rule("lost", "gpu", "not up")
ALARM = {"for": "60s"}
CRITICAL = {"severity": "critical"}
CIRCLE = (
    explained("a", "gpu", "heat > 1", same("c"), layer="driver")
    + explained("b", "gpu", "errors > 1", same("a"), layer="thermal")
    + explained("c", "gpu", "not up", same("b"), layer="bus")
)
PLAUSIBLE = explained(
    "a",
    "gpu",
    "heat > 1",
    same("b"),
    {"rule": "b", "via": "node", "weak": True},
    {"rule": "c", "via": "node", "weak": True, "optional": True},
) + explained("b", "gpu", "not up", same("a"))
THEN = "events(io_error, within=1h) > 0"
SHORTLY_BEFORE = TOLD + explained("then", "gpu", THEN, same("told", within="60s"))
SLOW_BY_HEAT = HOT + explained("slow", "gpu", "errors > 0", same("hot"))
EARLY_SYMPTOM = explained("then", "gpu", THEN, same("told", ahead="60s")) + TOLD
LATE_EFFECT = explained("then", "gpu", THEN, same("told", after="60s")) + TOLD


WAYS: dict[str, tuple[str, list[Scene], dict[str, str]]] = {
    "the effect names its cause, which is the root": (
        SLOW_BY_HEAT,
        [look(0, heat=90.0, errors=1.0)],
        {"slow": "hot", "hot": ""},
    ),
    "nothing explains itself": (
        explained("hot", "gpu", "heat > 85", same("hot")),
        [look(0, heat=90.0)],
        {"hot": ""},
    ),
    "of a circle at one moment the lowest layer is the root": (
        CIRCLE,
        [look(0, heat=2.0, errors=2.0, up=False)],
        {"a": "c b", "b": "", "c": "b"},
    ),
    "of a circle the earlier is the root, whatever its layer": (
        CIRCLE,
        [look(0, heat=2.0, errors=0.0, up=True), look(15, heat=2.0, errors=2.0, up=False)],
        {"a": "", "b": "a", "c": "b a"},
    ),
    "what stands outside explains a circle, the strongest of all that do": (
        rule("early", "gpu", "events(io_error, within=1h) > 0")
        + rule("late", "gpu", "events(gpu_lost, within=1h) > 0")
        + explained("a", "gpu", "heat > 1", same("b"), same("late"), same("early"))
        + explained("b", "gpu", "errors > 1", same("a"), layer="driver"),
        [look(10, event("io_error", 1.0), event("gpu_lost", 2.0), heat=2.0, errors=2.0)],
        {"a": "early", "b": "a early"},
    ),
    "what followed from a fault does not explain its return": (
        explained("down", "gpu", "not up", same("errors"))
        + explained("errors", "gpu", "errors > 0", same("down")),
        [
            look(0, up=False, errors=0.0),
            look(15, up=False, errors=1.0),
            look(30, up=True, errors=1.0),
            look(900, up=False, errors=2.0),
        ],
        {"down": "", "errors": "down"},
    ),
    "what was told beats what was measured, although it came later": (
        HOT + TOLD + explained("slow", "gpu", "errors > 0", same("hot"), same("told")),
        [look(0, heat=90.0, errors=0.0), look(30, xid(48, 20), heat=90.0, errors=1.0)],
        {"slow": "told"},
    ),
    "what NVML tells without a line is told as well": (
        HOT
        + rule("told", "gpu", "errors > 0 or events(xid, within=1h) > 0")
        + explained("slow", "gpu", "not up", same("hot"), same("told")),
        [
            look(0, heat=90.0, errors=0.0, up=True),
            look(15, replace(xid(48, 15), raw=""), heat=90.0, errors=0.0, up=False),
        ],
        {"slow": "told"},
    ),
    "a line after its effect is no cause": (
        SHORTLY_BEFORE,
        [look(30, event("io_error", 10.0), xid(48, 20.5))],
        {"then": ""},
    ),
    "lines of ten seconds may have any order": (
        SHORTLY_BEFORE,
        [look(30, event("io_error", 10.0), xid(48, 19.5))],
        {"then": "told"},
    ),
    "a cause that is told later than that follows from the root that was shown": (
        SHORTLY_BEFORE,
        [look(10, event("io_error", 10.0)), look(25, xid(48, 21.0))],
        {"then": "", "told": "then"},
    ),
    "a cause before its window is none": (
        SHORTLY_BEFORE,
        [look(110, xid(48, 10.0), event("io_error", 100.0))],
        {"then": ""},
    ),
    "a cause within its window": (
        SHORTLY_BEFORE,
        [look(110, xid(48, 50.0), event("io_error", 100.0))],
        {"then": "told"},
    ),
    "the window counts from when a lasting cause was last seen": (
        SHORTLY_BEFORE,
        [look(10, xid(48, 5.0)), look(3610, xid(48, 3590.0), event("io_error", 3600.0))],
        {"then": "told"},
    ),
    "a symptom may show first within `ahead`": (
        EARLY_SYMPTOM,
        [look(0, event("io_error", 0.0)), look(59, xid(48, 59.0))],
        {"then": "told"},
    ),
    "a symptom beyond `ahead` is a root": (
        EARLY_SYMPTOM,
        [look(0, event("io_error", 0.0)), look(61, xid(48, 61.0))],
        {"then": ""},
    ),
    "what begins together with its cause is no effect within `after`": (
        LATE_EFFECT,
        [look(0, xid(48, 0.0)), look(59, event("io_error", 59.0))],
        {"then": ""},
    ),
    "what begins later than `after` is an effect": (
        LATE_EFFECT,
        [look(0, xid(48, 0.0)), look(61, event("io_error", 61.0))],
        {"then": "told"},
    ),
    "a threshold may be noticed half a minute late": (
        SLOW_BY_HEAT,
        [look(0, heat=40.0, errors=1.0), look(29, heat=90.0, errors=1.0)],
        {"slow": "hot"},
    ),
    "what was told as a root keeps what comes later": (
        SLOW_BY_HEAT,
        [look(0, heat=40.0, errors=1.0), look(31, heat=90.0, errors=1.0)],
        {"slow": "", "hot": "slow"},
    ),
    "what is measured may have been seen before a line": (
        TOLD + explained("slow", "gpu", "errors > 0", same("told")),
        [look(0, errors=1.0), look(20, xid(48, 20), errors=1.0)],
        {"slow": "told"},
    ),
    "a cause minutes later follows from what was told first": (
        explained("slow", "gpu", "heat > 85", same("lost", ahead="30m")) + LOST,
        [look(0, heat=90.0), look(300, heat=90.0, up=False)],
        {"lost": "slow", "slow": ""},
    ),
    "an alarm need not wait once its consequence is there": (
        rule("hot", "gpu", "heat > 85", **ALARM)
        + explained("slow", "gpu", "errors > 0", same("hot")),
        [look(0, heat=90.0, errors=0.0), look(10, heat=90.0, errors=1.0)],
        {"slow": "hot", "hot": ""},
    ),
    "a cause that ended while its effect waited is the root": (
        LOST + explained("slow", "gpu", "errors > 0", same("lost"), **ALARM),
        [look(at, errors=1.0, up=at > 0) for at in (0, 30, 60)],
        {"slow": "lost"},
    ),
    "what is worse than the fault before is its own incident": (
        HOT + rule("lost", "gpu", "not up", **CRITICAL),
        [look(0, heat=90.0), look(60, heat=90.0, up=False)],
        {"lost": ""},
    ),
    "the graver of two faults of one layer is the root": (
        rule("hot", "gpu", "heat > 85", layer="memory")
        + rule("lost", "gpu", "not up", layer="memory", **CRITICAL),
        [look(0, heat=90.0), look(60, heat=90.0, up=False)],
        {"hot": "lost", "lost": ""},
    ),
}
WAYS |= {
    f"on an ill component after {secs} s in the layer {layer}": (
        rule("hot", "gpu", "heat > 85", layer="memory") + rule("odd", "gpu", "not up", layer=layer),
        [look(0, heat=90.0), look(secs, heat=90.0, up=False)],
        {"odd": way},
    )
    for secs, layer, way in (
        *((60, "link", "hot"), (60, "memory", "hot")),
        *((900, "link", ""), (900, "memory", "hot")),
    )
}
"""By what it shows: rules, what is seen, and by fault the rules on its way to its root."""


@pytest.mark.parametrize(("rules", "looks", "ways"), WAYS.values(), ids=WAYS)
def test_a_fault_of_a_gpu_is_led_back_to_its_root(
    tmp_path: Path, rules: str, looks: list[Scene], ways: dict[str, str]
) -> None:
    """By the rules on its way, the nearest first; a root has no way."""
    judging = judge(tmp_path, rules)
    for each in looks:
        said = judging.evaluate(each)
    found = {name: path(said, name) for name in ways}
    assert {name: " ".join(step[0] for step in steps) for name, steps in found.items()} == ways
    assert {step[1:] for steps in found.values() for step in steps} <= {("u0", "same")}


@pytest.mark.parametrize(
    ("secs", "layer", "root"),
    [(20, "process", "hot"), (60, "process", "few"), (150, "process", ""), (150, "bus", "few")],
)
def test_a_fault_of_the_node_that_was_told_stays_the_root(
    tmp_path: Path, secs: float, layer: str, root: str
) -> None:
    """What would explain it at first leads it, later follows; much later only if of its layer."""
    because = {"rule": "hot", "via": "node"}
    judging = judge(
        tmp_path,
        rule("hot", "gpu", "heat > 85", layer=layer)
        + explained("few", "node", "pressure > 5", because, layer=layer),
    )
    node = thing("node", "n", pressure=9.0)
    judging.evaluate(scene(0, gpu(heat=40.0), node))
    said = judging.evaluate(scene(secs, gpu(heat=90.0), node))
    leads = {name: "".join(step[0] for step in path(said, name)) for name in ("hot", "few")}
    assert leads == {"hot": "few" * (root == "few"), "few": "hot" * (root == "hot")}


@pytest.mark.parametrize(("layer", "root"), [("link", "odd"), ("process", "")])
def test_a_told_fault_of_a_part_leads_later_ones_of_its_layer(
    tmp_path: Path, layer: str, root: str
) -> None:
    """What would explain it elsewhere on the node follows, but for programs."""
    judging = judge(
        tmp_path,
        rule("low", "node", "pressure > 5", layer=layer)
        + explained("odd", "gpu", "heat > 85", {"rule": "low", "via": "node"}, layer=layer),
    )
    judging.evaluate(scene(0, gpu(heat=90.0), thing("node", "n", pressure=1.0)))
    said = judging.evaluate(scene(150, gpu(heat=90.0), thing("node", "n", pressure=9.0)))
    assert "".join(step[0] for step in path(said, "low")) == root


def test_a_fault_that_its_rule_may_explain_has_plausible_causes_too(tmp_path: Path) -> None:
    """A rule that names itself, for another component, is no cause of the same fault."""
    judging = judge(
        tmp_path,
        rule("odd", "node", "pressure > 5", layer="link")
        + explained("hot", "gpu", "heat > 85", {"rule": "hot", "via": "node"}, layer="link"),
    )
    judging.evaluate(scene(0, gpu(heat=40.0), thing("node", "n", pressure=9.0)))
    said = judging.evaluate(scene(60, gpu(heat=90.0), thing("node", "n", pressure=9.0)))
    assert [step[0] for step in path(said, "hot")] == ["odd"]


def test_a_chain_is_followed_to_its_root(tmp_path: Path) -> None:
    """A port above explains the lost GPU, which explains the fault of its process.

    The root is shown as severe as the worst that follows from it, and so is its component.
    """
    lost = explained("lost", "gpu", "not up", {"rule": "aer", "via": "upstream_of"})
    text = (
        rule("aer", "pcie", "errors > 0")
        + lost.replace('"warning"', '"critical"')
        + explained("died", "process", "share == 0", {"rule": "lost", "via": "consumes"})
    )
    things = (
        gpu(up=False),
        thing("process", "7", share=0.0),
        thing("pcie", "card", errors=0.0),
        thing("pcie", "switch", errors=0.0),
        thing("pcie", "root", errors=3.0),
    )
    edges = [
        edge("part_of", ("gpu", "u0"), ("pcie", "card")),
        edge("below", ("pcie", "card"), ("pcie", "switch")),
        edge("below", ("pcie", "switch"), ("pcie", "root")),
        edge("consumes", ("process", "7"), ("gpu", "u0")),
    ]
    said = judge(tmp_path, text).evaluate(scene(0, *things, edges=edges))
    assert path(said, "died") == [("lost", "u0", "consumes"), ("aer", "root", "upstream_of")]
    assert [fault(said, name).severity for name in ("aer", "lost", "died")] == [
        *("critical", "critical", "warning")
    ]
    assert {subject.hw_id: status for subject, status in said.statuses}["root"] == "failed"
    assert not said.is_healthy


def test_what_is_near_explains_before_what_is_elsewhere(tmp_path: Path) -> None:
    """A fault of the component itself is the cause, although one of the node came first."""
    causes = ({"rule": "short", "via": "node"}, {"rule": "hot", "via": "same"})
    judging = judge(
        tmp_path,
        rule("short", "node", "pressure > 5")
        + rule("hot", "gpu", "heat > 85")
        + explained("slow", "gpu", "errors > 0", *causes),
    )
    node = Entity(("node", "n"), "n", {"pressure": 9.0})
    judging.evaluate(scene(0, node, gpu(heat=20.0, errors=0.0)))
    said = judging.evaluate(scene(15, node, gpu(heat=90.0, errors=1.0)))
    assert path(said, "slow") == [("hot", "u0", "same")]


def test_a_fault_whose_cause_has_ended_does_not_become_a_root(tmp_path: Path) -> None:
    """At recovery it keeps the cause it had, also over a restart, until it ends itself."""
    text = rule("link", "pcie", "errors > 0") + explained(
        "lost",
        "gpu",
        "events(xid, code=79, within=1h) > 0",
        {"rule": "link", "via": "upstream_of"},
        clear="up",
        clear_for="30s",
    )
    edges = [edge("part_of", ("gpu", "u0"), ("pcie", "card"))]

    def look(
        judging: Evaluator, now: float, errors: float, *, up: bool, lost: int = 0
    ) -> list[str]:
        things = (gpu(up=up), thing("pcie", "card", errors=errors))
        told = [xid(79, now)] * lost
        said = judging.evaluate(scene(now, *things, edges=edges, events=told))
        return [each.rule for each in said.active if each.is_root]

    first = judge(tmp_path, text)
    assert look(first, 10, 1.0, up=False, lost=1) == ["link"]
    assert look(first, 25, 0.0, up=True) == []
    kept = decode(json.loads(to_text(SavedFaults("boot", first.kept()))))
    second = judge(tmp_path, text)
    second.recall(kept.alerts)
    assert look(second, 40, 0.0, up=True) == []
    said = second.evaluate(scene(45, gpu(up=True)))
    assert [(each.rule, each.ended) for each in fault(said, "lost").causes] == [
        ("link", WALL + 25.0)
    ]
    assert look(second, 80, 0.0, up=True) == []


def test_a_process_that_has_ended_is_still_explained_by_what_it_used(tmp_path: Path) -> None:
    """Who used what is remembered for ten minutes; the graph that is shown does not."""
    text = rule("lost", "gpu", "not up") + explained(
        "crashed",
        "process",
        "events(segfault, within=1h) > 0",
        {"rule": "lost", "via": "consumes"},
    )
    judging = judge(tmp_path, text)
    edges = [edge("consumes", ("process", "7"), ("gpu", "u0"))]
    judging.evaluate(scene(0, gpu(up=True), thing("process", "7"), edges=edges))
    crash = event("segfault", 10.0, ("process", "7"))
    said = judging.evaluate(scene(15, gpu(up=False), events=[crash]))
    assert path(said, "crashed") == [("lost", "u0", "consumes")]
    assert dict(said.edges)["consumes"] == 0


def test_a_symptom_without_a_cause_is_only_information(tmp_path: Path) -> None:
    """What never is a cause by itself does not raise an alarm while nothing explains it."""
    text = rule("hot", "gpu", "heat > 85") + explained(
        "idle", "gpu", "errors > 0", {"rule": "hot", "via": "same"}, symptom=True
    )
    judging = judge(tmp_path, text)
    assert fault(judging.evaluate(scene(0, gpu(errors=1.0, heat=1.0))), "idle").severity == "info"
    assert (
        fault(judging.evaluate(scene(15, gpu(errors=1.0, heat=90.0))), "idle").severity == "warning"
    )


def test_what_is_only_plausible_explains_only_where_nothing_else_does(tmp_path: Path) -> None:
    """A weak explanation gives way to another one, although its cause came first."""
    causes = [
        {"rule": "trend", "via": "same", "weak": True},
        {"rule": "broken", "via": "node"},
    ]
    text = (
        rule("trend", "gpu", "errors > 10")
        + rule("broken", "node", "pressure > 5")
        + rule("repaired", "gpu", "not up", explained_by=causes)
    )
    judging = judge(tmp_path, text)
    judging.evaluate(scene(0, gpu(errors=20.0, up=True)))
    worn = judging.evaluate(scene(15, gpu(errors=20.0, up=False)))
    assert path(worn, "repaired") == [("trend", "u0", "same")]
    under = replace(
        scene(30), entities=(thing("node", "n", pressure=9.0), gpu(errors=20, up=False))
    )
    assert path(judging.evaluate(under), "repaired") == [("broken", "n", "node")]


def hung(pid: str, at: float, **owner: str) -> list[Event]:
    """What the kernel prints of a process that hangs, and of who holds the lock it wants."""
    told = [event("hung_task", at, ("process", pid))]
    return [*told, event("hung_task_owner", at, ("process", pid), **owner)] if owner else told


HANGS = "events(hung_task, within=10m) > 0"


def test_a_process_that_wants_a_lock_waits_for_its_owner(tmp_path: Path) -> None:
    """Not for the disk that is slow: for that its owner waits, whom the kernel names."""
    causes = ({"rule": "hangs", "via": "waits_on"}, {"rule": "errors", "via": "waits_on"})
    text = rule("errors", "disk", "events(io_error, within=1h) > 0")
    judging = judge(tmp_path, text + explained("hangs", "process", HANGS, *causes))
    told = [
        event("block_io_error", 5, ("physical_disk", "sda")),
        event("io_error", 5, ("physical_disk", "sda")),
        *hung("7", 9),
        *hung("8", 9, owner="trainer", owner_pid="7"),
    ]
    said = judging.evaluate(scene(10, thing("disk", "sda"), events=told))
    waits = {(edge.source[1], edge.target[1]) for edge in said.graph}
    assert waits == {("7", "sda"), ("8", "7")}
    roots = {each.subject.hw_id: each.causes[-1].rule for each in said.active if each.causes}
    assert roots == {"7": "errors", "8": "errors"}


def test_the_owner_of_a_lock_is_known_by_the_name_the_kernel_gives(tmp_path: Path) -> None:
    """Also one that no reading tells of; one that would wait for itself is not believed."""
    judging = judge(tmp_path, rule("any", "node", "pressure > 1"))
    told = [*hung("8", 9, owner="trainer", owner_pid="7"), *hung("9", 9, owner="x", owner_pid="9")]
    said = judging.evaluate(scene(10, events=told))
    assert "trainer (7)" in {subject.hw_name for subject in said.subjects}
    assert [(edge.source[1], edge.target[1]) for edge in said.graph] == [("8", "7")]


def test_two_that_wait_for_each_other_have_one_root(tmp_path: Path) -> None:
    """A deadlock is led back to the one that hung first."""
    text = explained("hangs", "process", HANGS, {"rule": "hangs", "via": "waits_on"})
    told = [*hung("7", 8, owner="b", owner_pid="8"), *hung("8", 9, owner="a", owner_pid="7")]
    said = judge(tmp_path, text).evaluate(scene(10, events=told))
    assert [each.subject.hw_id for each in said.active if each.is_root] == ["7"]


def test_what_was_told_as_a_root_is_the_root_of_what_would_explain_it(tmp_path: Path) -> None:
    """A symptom comes a quarter of an hour before its cause: the incident is told once.

    On another component, or when the symptom is long over, the cause is an incident of its own.
    """
    text = rule("dead", "gpu", "not up") + explained(
        "bad", "gpu", "events(xid, within=1h) > 0", {"rule": "dead", "via": "same", "within": "30m"}
    )
    judging = judge(tmp_path, text)
    judging.evaluate(scene(0, gpu(up=True), gpu(1, up=True), events=[xid(48, 0)]))
    judging.evaluate(scene(60, gpu(up=True), gpu(1, up=True)))
    said = judging.evaluate(scene(900, gpu(up=False), gpu(1, up=False)))
    assert [f.subject.hw_id for f in said.active if f.rule == "dead" and f.is_root] == ["u1"]
    late = judge(tmp_path, text)
    late.evaluate(scene(0, gpu(up=True), events=[xid(48, 0)]))
    late.evaluate(scene(60, gpu(up=True)))
    assert fault(late.evaluate(scene(2400, gpu(up=False))), "dead").is_root


def test_a_cause_is_kept_when_nothing_shows_the_relation_any_more(tmp_path: Path) -> None:
    """Both still hold; where the card sat is forgotten by then."""
    text = rule("link", "pcie", "errors > 0") + explained(
        "lost", "gpu", "not up", {"rule": "link", "via": "upstream_of"}
    )
    judging = judge(tmp_path, text)
    things = (gpu(up=False), thing("pcie", "card", errors=1.0))
    judging.evaluate(scene(0, *things, edges=[edge("part_of", ("gpu", "u0"), ("pcie", "card"))]))
    for now in (15, 700, 1400):
        said = judging.evaluate(scene(now, *things))
    assert path(said, "lost") == [("link", "card", "upstream_of")]


@pytest.mark.parametrize(
    ("link_ends", "lost_from", "is_alone"),
    [(90, 0, True), (120, 0, False), (120, 75, False), (120, 135, True)],
)
def test_a_fault_stands_alone_if_its_root_has_told_nobody_of_it(
    tmp_path: Path, link_ends: int, lost_from: int, *, is_alone: bool
) -> None:
    """The root was active for seconds, or had ended before the fault was shown."""
    text = rule("link", "gpu", "errors > 0", **{"for": "45s", "clear_for": "0s"}) + explained(
        "lost", "gpu", "not up", {"rule": "link", "via": "same"}, **{"for": f"{lost_from}s"}
    )
    judging = judge(tmp_path, text)
    for now in range(0, 240, 15):
        said = judging.evaluate(scene(now, gpu(up=False, errors=1.0 * (now < link_ends))))
        if now < link_ends:
            assert not any(each.stands_alone for each in said.active)
    lost = fault(said, "lost")
    assert [(each.rule, each.ended) for each in lost.causes] == [("link", WALL + link_ends)]
    assert lost.stands_alone is is_alone
    judging.evaluate(scene(240, gpu(up=False, errors=1.0)))
    said = judging.evaluate(scene(285, gpu(up=False, errors=1.0)))
    assert fault(said, "lost").causes[0].ended is None
    assert not fault(said, "lost").stands_alone


def test_what_is_missing_explains_what_happens_on_its_node(tmp_path: Path) -> None:
    """A GPU that is in no reading any more keeps its fault, and stays the cause of others."""
    text = rule("hot", "gpu", "heat > 85", clear="heat < 80") + explained(
        "slow", "process", "share < 5", {"rule": "hot", "via": "node"}
    )
    judging = judge(tmp_path, text)
    judging.evaluate(scene(0, gpu(heat=90.0)))
    said = judging.evaluate(scene(15, thing("process", "7", share=1.0)))
    assert path(said, "slow") == [("hot", "u0", "node")]


def test_what_is_plausible_does_not_explain_what_an_effect_would(tmp_path: Path) -> None:
    """Spare blocks that are used up are no consequence of a fan that stands still."""
    cards = (gpu(0, heat=90.0, up=False), gpu(1, up=True, errors=5.0))
    judging = judge(tmp_path, PLAUSIBLE + rule("c", "gpu", "errors > 1"))
    for secs in (0, 15):  # at the second look it is known what followed from what
        said = judging.evaluate(scene(secs, *cards))
        assert (path(said, "a"), path(said, "b")) == ([], [("a", "u0", "same")])


def test_the_same_fault_elsewhere_may_explain_what_its_own_effect_would(tmp_path: Path) -> None:
    """A port that reports the error of the device below it follows from that device."""
    cards = (gpu(0, heat=90.0, up=False), gpu(1, up=False))
    said = judge(tmp_path, PLAUSIBLE).evaluate(scene(0, *cards))
    assert path(said, "a") == [("b", "u1", "node")]


@pytest.mark.parametrize("more", ["weak", "explained", "follows"])
def test_an_alarm_goes_on_waiting(tmp_path: Path, more: str) -> None:
    """Where its consequence is only plausible, has a cause that is known, or is its own cause."""
    edge_to_alarm = {"rule": "alarm", "via": "same"} | ({"weak": True} if more == "weak" else {})
    known = [{"rule": "lost", "via": "same"}] if more == "explained" else []
    before = [{"rule": "slow", "via": "same"}] if more == "follows" else []
    text = (
        explained("alarm", "gpu", "heat > 85", *before, **ALARM)
        + rule("lost", "gpu", "not up")
        + rule("slow", "gpu", "clock[sm] < 5", explained_by=[*known, edge_to_alarm])
    )
    said = judge(tmp_path, text).evaluate(
        scene(0, gpu(heat=90.0, up=more != "explained", **{"clock[sm]": 1.0}))
    )
    assert "slow" in active(said)
    assert "alarm" not in active(said)


@pytest.mark.parametrize(
    ("secs", "edges", "root"),
    [
        (60, [edge("part_of", ("gpu", "u0"), ("pcie", "card")), BELOW], "aer"),
        (60, [BELOW], "lost"),  # nobody knows where the GPU sits
        (900, [edge("part_of", ("gpu", "u0"), ("pcie", "card")), BELOW], "lost"),
    ],
)
def test_a_device_is_lost_with_the_port_above(
    tmp_path: Path, secs: float, edges: list[Edge], root: str
) -> None:
    """Without a rule that says so, within minutes, and only for a port above the device."""
    text = rule("aer", "pcie", "errors > 0", layer="bus") + rule("lost", "gpu", "not up")
    port = thing("pcie", "port", errors=1.0)
    card = thing("pcie", "card", errors=0.0)
    judging = judge(tmp_path, text)
    judging.evaluate(scene(0, gpu(up=True), card, port, edges=edges))
    said = judging.evaluate(scene(secs, gpu(up=False), card, port, edges=edges))
    assert fault(said, "lost").root.rule == root


@pytest.mark.parametrize(
    ("more", "root"),
    [
        ({"layer": "link"}, "bad"),
        ({"layer": "driver", "concerns": "gpu"}, "bad"),
        ({"layer": "driver"}, "few"),
    ],
)
def test_a_fault_of_the_node_is_a_view_of_one_of_its_components(
    tmp_path: Path, more: dict[str, str], root: str
) -> None:
    """It is, if it is of the same layer or about such components, and begins with the other."""
    text = rule("bad", "gpu", "errors > 0", layer="link") + rule(
        "few", "node", "pressure > 5", **more
    )
    judging = judge(tmp_path, text)
    judging.evaluate(scene(0, gpu(errors=1.0), thing("node", "n", pressure=0.0)))
    said = judging.evaluate(scene(30, gpu(errors=1.0), thing("node", "n", pressure=9.0)))
    assert fault(said, "few").root.rule == root
    assert fault(said, "bad").is_root


@pytest.mark.parametrize(
    ("needs", "secs", "roots"),
    [
        (["storage"], 300, {"bad"}),
        (["disk"], 300, {"bad"}),
        (["storage"], 700, {"bad", "down"}),
        (["memory"], 300, {"bad", "down"}),
        ([], 300, {"bad", "down"}),
    ],
)
def test_what_a_component_needs_of_the_node(
    tmp_path: Path, needs: list[str], secs: float, roots: set[str]
) -> None:
    """A fault of a layer or kind that it needs is its cause, if that began minutes before."""
    more = {"needs": needs} if needs else {}
    text = rule("bad", "disk", "delay > 1", layer="storage") + rule("down", "gpu", "not up", **more)
    judging = judge(tmp_path, text)
    disk = thing("disk", "sda", delay=2.0)
    judging.evaluate(scene(0, gpu(up=True), disk))
    said = judging.evaluate(scene(secs, gpu(up=False), disk))
    assert {each.rule for each in said.active if each.is_root} == roots


@pytest.mark.parametrize(("secs", "roots"), [(300, 1), (700, 2)])
def test_a_component_that_needs_others_of_its_kind(tmp_path: Path, secs: float, roots: int) -> None:
    """One that fails minutes after another is its consequence, also by the same rule."""
    judging = judge(tmp_path, rule("down", "disk", "delay > 1", needs=["disk"]))
    first, second = thing("disk", "sda", delay=2.0), thing("disk", "sdb", delay=0.0)
    judging.evaluate(scene(0, first, second))
    said = judging.evaluate(scene(secs, first, thing("disk", "sdb", delay=2.0)))
    assert sum(each.is_root for each in said.active) == roots
    assert len(said.active) == 2


def test_faults_of_two_components_are_two_incidents(tmp_path: Path) -> None:
    """A fault of the node that follows from one GPU does not explain the fault of another."""
    text = (
        rule("lost", "gpu", "not up", layer="driver")
        + rule("bad", "gpu", "errors > 0", layer="driver")
        + rule("few", "node", "pressure > 5", layer="driver", concerns="gpu")
    )
    judging = judge(tmp_path, text)
    other = thing("gpu", "u1", errors=1.0, up=True)
    judging.evaluate(scene(0, gpu(up=False, errors=0.0), thing("node", "n", pressure=9.0)))
    said = judging.evaluate(
        scene(30, gpu(up=False, errors=0.0), other, thing("node", "n", pressure=9.0))
    )
    assert fault(said, "lost").is_root
    assert fault(said, "bad").is_root
    assert fault(said, "few").root.rule == "lost"


def test_causes_kept_in_a_circle_end(tmp_path: Path) -> None:
    """Causes kept from different times may lead in a circle: each fault is judged all the same."""
    text = "".join(
        explained(name, "gpu", "events(xid, within=1h) > 0", {"rule": other, "via": "same"})
        for name, other in (("hot", "slow"), ("slow", "hot"), ("odd", "hot"))
    )
    first = judge(tmp_path, text)
    said = first.evaluate(scene(10, gpu(), events=[xid(79, 10.0)]))
    steps = {
        name: (Cause(other, fault(said, other).subject, "same", "", 0.0),)
        for name, other in (("hot", "slow"), ("slow", "hot"))
    }
    kept = first.kept()
    second = judge(tmp_path, text)
    second.recall({key: replace(kept[key], causes=steps.get(key.rule, ())) for key in kept})
    said = second.evaluate(scene(25, gpu(), events=[xid(79, 24.0)]))
    assert len([each for each in said.active if each.is_root]) == 1
