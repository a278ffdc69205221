"""When faults begin and end: by fields, by events, by what repairs them."""

from dataclasses import replace
from pathlib import Path

import pytest

from exporter.faults.values import Scene
from tests.faults.scenes import active, event, fault, gpu, judge, look, rule, scene, thing, xid

REPAIRED = "gpu_lost"
"""The kind of events that ends a fault here."""

DEAD = rule("dead", "gpu", "events(xid, code=119, within=1h) > 0", until=[REPAIRED])
DIED = (look(0, xid(119, 0)), "dead")
HOT = rule("hot", "gpu", "heat > 85", clear="heat < 80")
BOTH, CARD = (gpu(), gpu(1)), gpu()


def stale(now: float, heat: float | None) -> Scene:
    """A GPU whose value was not read lately."""
    return scene(now, replace(gpu(heat=heat), is_fresh=False))


LOOKS: dict[str, tuple[str, list[tuple[Scene, str]]]] = {
    "an event outlives its window where an end is said": (
        rule("lost", "gpu", "events(gpu_lost, within=60s) > 0", clear="up"),
        [
            (look(100, event("gpu_lost", 99), up=False), "lost"),
            (look(1000, up=False), "lost"),
            (look(1015, up=True), ""),
        ],
    ),
    "events leave their window although nothing else happens": (
        rule("often", "gpu", "events(xid, within=60s) >= 2"),
        [
            (scene(50, CARD, events=[xid(13, 10), xid(13, 50)]), "often"),
            (scene(70, CARD), "often"),
            (scene(71, CARD), ""),
        ],
    ),
    "the node has the events of all components": (
        rule("any", "node", "events(error.hw, within=1h) > 0"),
        [(look(100, xid(13, 99.0)), "any")],
    ),
    "a process that is gone has no fault, as far as processes were looked at": (
        rule("slow", "process", "share < 5"),
        [
            (scene(0, thing("process", "1", share=1.0)), "slow"),
            (scene(15, read_kinds=frozenset({"gpu"})), "slow"),
            (scene(30), ""),
        ],
    ),
    "a GPU that is in no reading is doubted for five minutes": (
        HOT,
        [(look(0, heat=90.0), "hot"), *((scene(at), "hot") for at in (15, 315)), (scene(316), "")],
    ),
    "a closed gate ends no fault whose evidence is unknown": (
        rule("hot", "gpu", "heat > 85", only_if="known(heat)"),
        [(look(0, heat=90.0), "hot"), *((look(at), "hot") for at in (15, 315)), (look(316), "")],
    ),
    "an old value can begin a fault and cannot end one": (
        HOT,
        [
            *((stale(0, 20.0), ""), (stale(15, 90.0), "hot"), (stale(30, 20.0), "hot")),
            *((stale(330, None), "hot"), (stale(331, None), "")),
        ],
    ),
    "what adds nothing is shown while none of its causes is": (
        rule("hot", "gpu", "heat > 85")
        + rule(
            *("off", "gpu", "not up"),
            explained_by=[{"rule": "hot", "via": "same"}],
            unless_explained=True,
        ),
        [
            (look(at, heat=heat, up=False), shown)
            for at, heat, shown in ((0, 50.0, "off"), (15, 90.0, "hot"), (30, 50.0, "off"))
        ],
    ),
    "time alone ends nothing that a repair ends": (
        DEAD,
        [DIED, *((look(hour * 3600), "dead") for hour in range(1, 49))],
    ),
    "a repair ends a fault at once": (
        DEAD,
        [DIED, (look(60, event(REPAIRED, 60)), ""), (look(75), "")],
    ),
    "a repair needs no time to clear": (
        rule(
            *("dead", "gpu", "events(xid, within=1h) > 0"),
            until=[REPAIRED],
            clear="up",
            clear_for="10m",
        ),
        [
            (look(0, xid(119, 0), up=False), "dead"),
            (look(15, up=True), "dead"),
            (look(30, event(REPAIRED, 30), up=False), ""),
        ],
    ),
    "a repair of the node is one of its components": (
        DEAD,
        [
            (scene(0, *BOTH, events=[xid(119, 0)]), "dead"),
            (scene(60, *BOTH, events=[event(REPAIRED, 60, about=("node", ""))]), ""),
        ],
    ),
    "a repair of another component is none": (
        DEAD,
        [
            (scene(0, *BOTH, events=[xid(119, 0)]), "dead"),
            (scene(60, *BOTH, events=[event(REPAIRED, 60, about=("gpu", "u1"))]), "dead"),
        ],
    ),
    "what comes after a repair begins anew": (
        DEAD,
        [
            (look(0, xid(119, 0), event(REPAIRED, 30)), ""),
            (look(45), ""),
            (look(60, xid(119, 60)), "dead"),
        ],
    ),
    "a repair ends what was counted before": (
        rule("counted", "gpu", "increase(heat, 10m) > 0", until=[REPAIRED]),
        [
            *((look(0, heat=5.0), ""), (look(15, heat=6.0), "counted")),
            *((look(30, heat=6.0), "counted"), (look(30, event(REPAIRED, 30), heat=6.0), "")),
            *((look(45, heat=6.0), ""), (look(60, heat=7.0), "counted")),
        ],
    ),
}
"""By what it shows: rules, and what is active after each look."""


@pytest.mark.parametrize(("rules", "looks"), LOOKS.values(), ids=LOOKS)
def test_a_fault_begins_and_ends(
    tmp_path: Path, rules: str, looks: list[tuple[Scene, str]]
) -> None:
    """After each look the rules of these names are active, and no other."""
    judging = judge(tmp_path, rules)
    shown = [" ".join(active(judging.evaluate(seen))) for seen, _ in looks]
    assert shown == [names for _, names in looks]


def test_an_event_says_what_the_field_does_not(tmp_path: Path) -> None:
    """`{a|b}` shows the field where it was said, else the other one."""
    said = rule("asks", "gpu", "events(gpu_lost, within=1h) > 0", summary="{state|event.code}")
    happened = [event("gpu_lost", 0, code="reboot")]
    judging = judge(tmp_path, said)
    assert fault(judging.evaluate(scene(0, gpu(), events=happened)), "asks").summary == "reboot"
    judging = judge(tmp_path, said)
    known = judging.evaluate(scene(0, gpu(state="reset"), events=happened))
    assert fault(known, "asks").summary == "reset"
