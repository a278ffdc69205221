"""Faults that end with what repairs them, and what stands in where a field is not said."""

from pathlib import Path

from tests.faults.scenes import active, event, fault, gpu, judge, rule, scene, xid

DEAD = rule("dead", "gpu", "events(xid, code=119, within=1h) > 0", until=["gpu_lost"])
AHEAD = [{"rule": "later", "via": "same", "ahead": "60s"}]
FIRST = rule("first", "gpu", "events(xid, code=109, within=1h) > 0", explained_by=AHEAD)
LATER = rule("later", "gpu", "events(xid, code=119, within=1h) > 0")
COUNTED = rule("counted", "gpu", "increase(heat, 10m) > 0", until=["gpu_lost"])
HOUR = 3600.0


def test_time_alone_does_not_end_it(tmp_path: Path) -> None:
    """Two days after the line, with nothing repaired, the fault is as active as before."""
    judging = judge(tmp_path, DEAD)
    judging.evaluate(scene(0, gpu(), events=[xid(119, 0)]))
    said = [judging.evaluate(scene(hour * HOUR, gpu())) for hour in range(1, 49)]
    assert all(active(each) == ["dead"] for each in said)


def test_a_repair_ends_it_at_once(tmp_path: Path) -> None:
    """The look that hears of the repair is the one at which the fault is over."""
    judging = judge(tmp_path, DEAD)
    judging.evaluate(scene(0, gpu(), events=[xid(119, 0)]))
    assert active(judging.evaluate(scene(60, gpu(), events=[event("gpu_lost", 60)]))) == []
    assert active(judging.evaluate(scene(75, gpu()))) == []


def test_a_repair_of_the_whole_node_ends_it_too(tmp_path: Path) -> None:
    """An event about the node, such as a driver load, is about each of its components."""
    judging = judge(tmp_path, DEAD)
    judging.evaluate(scene(0, gpu(), gpu(1), events=[xid(119, 0)]))
    ended = event("gpu_lost", 60, about=("node", ""))
    assert active(judging.evaluate(scene(60, gpu(), gpu(1), events=[ended]))) == []


def test_what_comes_after_a_repair_begins_anew(tmp_path: Path) -> None:
    """A line after the repair is a fault of its own; one before it does not count again."""
    judging = judge(tmp_path, DEAD)
    judging.evaluate(scene(0, gpu(), events=[xid(119, 0), event("gpu_lost", 30)]))
    assert active(judging.evaluate(scene(45, gpu()))) == []
    assert active(judging.evaluate(scene(60, gpu(), events=[xid(119, 60)]))) == ["dead"]


def test_a_repair_ends_what_was_counted_before(tmp_path: Path) -> None:
    """An increase of before the repair, though in the window, keeps no fault; a new one does."""
    judging = judge(tmp_path, COUNTED)
    said = [
        active(judging.evaluate(scene(at, gpu(heat=count), events=events)))
        for at, count, events in (
            *((0, 5.0, []), (15, 6.0, []), (30, 6.0, [])),
            *((30, 6.0, [event("gpu_lost", 30)]), (45, 6.0, []), (60, 7.0, [])),
        )
    ]
    assert said == [[], ["counted"], ["counted"], [], [], ["counted"]]


def test_a_repair_of_another_component_is_none_of_this(tmp_path: Path) -> None:
    """A reset of one GPU leaves the fault of its neighbour where it is."""
    judging = judge(tmp_path, DEAD)
    judging.evaluate(scene(0, gpu(), gpu(1), events=[xid(119, 0)]))
    ended = event("gpu_lost", 60, about=("gpu", "u1"))
    assert active(judging.evaluate(scene(60, gpu(), gpu(1), events=[ended]))) == ["dead"]


def test_an_event_says_what_the_field_does_not(tmp_path: Path) -> None:
    """`{a|b}` shows the field where it was said, else the other one."""
    said = rule("asks", "gpu", "events(gpu_lost, within=1h) > 0", summary="{state|event.code}")
    happened = [event("gpu_lost", 0, code="reboot")]
    judging = judge(tmp_path, said)
    assert fault(judging.evaluate(scene(0, gpu(), events=happened)), "asks").summary == "reboot"
    judging = judge(tmp_path, said)
    known = judging.evaluate(scene(0, gpu(state="reset"), events=happened))
    assert fault(known, "asks").summary == "reset"
