"""What is remembered of scenes: events told twice, names of what is gone, who used what."""

import json
import math
from dataclasses import replace
from itertools import permutations

import pytest

from exporter.collectors.everything import rule_book
from exporter.commands.rules import replayed
from exporter.faults.entities.graph import AliasIndex
from exporter.faults.events.query import Events
from exporter.faults.observation import Observer, View
from exporter.faults.timeseries import Series
from exporter.faults.values import Entity
from exporter.model.event import Event
from exporter.model.verdict import Edge, Key
from tests.faults.scenes import SUBJECTS, TRAITS, edge, event, gpu, scene, thing, xid

XIDS = Events("xid", (), 3600.0, 0)
AT_ADDRESS = ("gpu", "0000:00:00.0")
GPU, CARD, USER = ("gpu", "u0"), ("pcie", "card"), ("process", "7")


def observer() -> Observer:
    """One that knows the kinds of scenes built by hand."""
    kinds = {kind: kind for kind in TRAITS.hw_types} | {"physical_disk": "disk", "nvlink": "nvlink"}
    return Observer((), SUBJECTS, AliasIndex(kinds))


def seen(*events: Event, now: float = 1000.0, log: str = "kernel_log") -> View:
    """One look at a GPU with these events; the driver's messages come by `log`, if at all."""
    sources = frozenset({log, "nvml"})
    return observer().observe(scene(now, gpu(), events=events, event_sources=sources))


def count(view: View) -> int:
    """How many Xids of the GPU there are."""
    return len(view.matching_events(view.entities[GPU], XIDS, -1.0) or ())


SPARE = {"device": "nvme1n1", "transport": "nvme", "size_bytes": 3_840_755_982_336}
BAD_SECTOR = "blk_update_request: critical medium error, dev nvme1n1, sector 1234"


@pytest.mark.parametrize(("serial", "has_fault"), [("OLD", True), ("NEW", False)])
def test_a_new_disk_has_no_errors_of_the_one_before(
    serial: str,
    has_fault: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """What the kernel said of nvme1n1 was said of the disk that is out; the same one has it."""
    steps: list[dict[str, object]] = [
        {"base": "h100_8", "set": {"Disks.disks.nvme1n1": {"serial": "OLD"}}, "wait": 60},
        {"log": [BAD_SECTOR] * 5, "wait": 60},
        {"set": {"Disks.disks.nvme1n1": None}, "wait": 60},
        {"set": {"Disks.disks.nvme1n1": {**SPARE, "serial": serial}}, "wait": 60},
    ]
    rules = [
        {fault.rule for fault in conclusions.active}
        for _, conclusions in replayed(map(json.dumps, steps), rule_book())
    ]
    assert any("disk_io_errors" in each for each in rules)
    assert ("disk_io_errors" in rules[-1]) is has_fault


def test_a_counter_of_a_new_component_has_not_risen() -> None:
    """The series of the one before it ends: the first sample of the new one is a beginning."""
    series = Series(600.0)
    series.take(0.0, 3.0)
    series.take(15.0, 4.0)
    assert series.over("increase", 600.0, 15.0) == 1.0
    series.forget()
    series.take(30.0, 900.0)
    assert series.over("increase", 600.0, 30.0) is None
    series.take(45.0, 902.0)
    assert series.over("increase", 600.0, 45.0) == 2.0


@pytest.mark.parametrize(("apart", "number"), [(0.0, 1), (5.0, 1), (5.1, 2)])
def test_one_xid_of_two_sources_is_one_within_five_seconds(apart: float, number: int) -> None:
    """Whichever tells it first; another code, the same source or a later time is another one."""
    told = [xid(13, 900.0, AT_ADDRESS), xid(13, 900.0 + apart, source="nvml")]
    assert count(seen(*told)) == number
    other = [xid(13, 900.0, AT_ADDRESS), xid(31, 900.0 + apart, source="nvml")]
    assert count(seen(*other)) == 2
    same = [xid(13, 900.0), xid(13, 900.0 + apart)]
    assert count(seen(*same)) == 2
    again = [xid(13, 920.0, source="nvml"), xid(13, 920.1, AT_ADDRESS)]
    assert count(seen(*told, *again)) == number + 1


def test_an_xid_of_three_sources_is_one() -> None:
    """Whichever tells it first; the message of the first that has one is kept."""
    bare = replace(xid(13, 900.0, source="nvml"), raw="")
    told = [
        replace(event("xid", 900.0, AT_ADDRESS, code="13", pid=pid), source=source)
        for source, pid in (("kernel_log", "7"), ("xid_tracepoint", "8"))
    ]
    for order in permutations([bare, *told]):
        view = seen(*order)
        assert count(view) == 1
        first = next(it for it in order if it.raw)
        assert {it.fields.get("pid") for it in view.memory.all()} == {first.fields["pid"]}


def test_a_recovery_that_the_driver_asks_for_is_one() -> None:
    """The kernel log and the tracepoint both say it."""
    asked = event("gpu_recovery_action", 900.0, AT_ADDRESS, code="154", action="reset")
    view = seen(asked, replace(asked, source="xid_tracepoint"))
    assert len([*view.memory.all()]) == 1


def test_what_the_log_says_more_of_replaces_what_nvml_said() -> None:
    """Once: the source stays that of the first; a line that says nothing more does not."""
    bare = replace(xid(13, 900.0, source="nvml"), raw="")
    line = event("xid", 900.1, AT_ADDRESS, code="13", pid="7")
    view = seen(bare, line)
    assert [(e.source, e.fields.get("pid")) for e in view.memory.all()] == [("nvml", "7")]
    view = seen(bare, replace(line, raw=""))
    assert [e.fields.get("pid") for e in view.memory.all()] == [None]


@pytest.mark.parametrize(
    ("code", "log", "number"),
    [(74, "kernel_log", 0), (74, "xid_tracepoint", 0), (74, "", 1), (79, "kernel_log", 1)],
)
def test_errors_of_links_are_left_to_the_log(code: int, number: int, log: str) -> None:
    """It names the link as well; where nobody reads it NVML is believed."""
    assert count(seen(xid(code, 900.0, source="nvml"), log=log)) == number
    assert count(seen(xid(code, 900.0), log=log)) == 1


def test_an_event_may_be_five_seconds_ahead() -> None:
    """One that is further ahead is dated so; the clock of all that follows is never behind it."""
    view = seen(xid(13, 1005.0), xid(31, 5000.0))
    assert {e.boottime for e in view.memory.all()} == {1005.0}
    assert view.now == 1005.0
    assert seen(xid(13, 900.0)).now == 1000.0


@pytest.mark.parametrize(
    ("about", "name"),
    [
        (("nvlink", "0000:00:00.0/7"), "GPU 0 link 7"),
        (("nvlink", "0000:99:00.0/7"), "0000:99:00.0/7"),
        (("pcie", "0000:00:00.0"), "0000:00:00.0"),
        (("process", "7"), "7"),
    ],
)
def test_what_only_events_know_has_a_name(about: Key, name: str) -> None:
    """A link is called after its GPU where that is known, all else by its id."""
    view = seen(event("error", 900.0, about))
    assert view.entities[about].name == name
    assert about in view.entities[about].addresses


def test_links_and_members_known_by_events_are_part_of_something() -> None:
    """A link of the GPU at its address, a disk of the array that lost it."""
    array = Entity(("md_array", "md0"), "md0", addresses=(("md_array", "md0"),))
    told = [
        event("error", 900.0, ("nvlink", "0000:00:00.0/7")),
        event("error", 900.0, ("nvlink", "0000:99:00.0/1")),
        event("md_disk_failure", 900.0, ("md_array", "md0"), member="sda1"),
    ]
    view = observer().observe(scene(1000.0, gpu(), array, events=told))
    parts = {(e.source, e.target) for e in view.scene.edges if e.relation == "part_of"}
    assert parts == {
        (("nvlink", "0000:00:00.0/7"), GPU),
        (("disk", "sda"), ("md_array", "md0")),
    }


def test_an_edge_that_is_known_already_is_there_once() -> None:
    """Also where names say it a second time."""
    said = Edge("part_of", GPU, ("pcie", "0000:00:00.0"))
    bus = thing("pcie", "0000:00:00.0")
    view = observer().observe(scene(1000.0, gpu(), bus, edges=[said]))
    assert list(view.scene.edges) == [said]
    assert list(observer().observe(scene(1000.0, gpu(), bus)).scene.edges) == [said]


@pytest.mark.parametrize(
    ("relation", "source", "target", "secs"),
    [("consumes", USER, GPU, 3600.0), ("part_of", GPU, CARD, 600.0)],
)
def test_what_is_gone_is_remembered_for_its_time(
    relation: str, source: Key, target: Key, secs: float
) -> None:
    """Who used a GPU for an hour, where it sat for ten minutes; the present does not show it."""
    known = observer()
    things = (gpu(), thing("process", "7"), thing("pcie", "card"))
    known.observe(scene(0.0, *things, edges=[edge(relation, source, target)]))
    left = [each for each in things if each.key != source]
    for now, is_known in ((100.0, True), (100.0 + secs, True), (100.1 + secs, False)):
        view = known.observe(scene(now, *left))
        assert (view.past_graph.count(relation), view.graph.count(relation)) == (int(is_known), 0)
    assert known.observe(scene(100.0, *things)).past_graph.count(relation) == 0


def test_the_graph_of_the_past_is_the_same_while_nothing_else_has_ended() -> None:
    """Another graph means that all causes are found anew."""
    known = observer()
    both = (gpu(), thing("process", "7"), thing("process", "8"))
    uses = tuple(edge("consumes", each.key, GPU) for each in both[1:])
    first = uses[:1]
    known.observe(scene(0.0, *both, edges=uses))
    graphs = [known.observe(scene(now, *both[:2], edges=first)).past_graph for now in (15.0, 30.0)]
    later = [known.observe(scene(now, gpu(), edges=())).past_graph for now in (45.0, 60.0)]
    assert [graph.count("consumes") for graph in (*graphs, *later)] == [2] * 4
    assert (graphs[0] is graphs[1], later[0] is later[1]) == (True, True)
    assert graphs[1] is not later[0]


def test_uses_that_are_remembered_have_a_bound() -> None:
    """Five thousand: the latest."""
    known = observer()
    many = [thing("process", str(number)) for number in range(5001)]
    uses = [edge("consumes", each.key, GPU) for each in many]
    known.observe(scene(0.0, gpu(), *many, edges=uses))
    view = known.observe(scene(15.0, gpu()))
    assert view.past_graph.count("consumes") == 5000
    assert (many[0].key in view.past_graph.users(GPU), many[1].key) == (
        False,
        view.past_graph.users(GPU)[0],
    )


@pytest.mark.parametrize(
    ("about", "is_repaired"),
    [(GPU, True), (CARD, True), (("node", ""), True), (("gpu", "u1"), False), (USER, False)],
)
def test_what_repairs_the_whole_repairs_its_parts(about: Key, *, is_repaired: bool) -> None:
    """An event about the component, what it is part of, or the node; not about who uses it."""
    known = observer()
    things = (gpu(), gpu(1), thing("pcie", "card"), thing("process", "7"))
    edges = [edge("part_of", GPU, CARD), edge("consumes", USER, GPU)]
    told = [event("gpu_lost", 900.0, about)]
    view = known.observe(scene(1000.0, *things, edges=edges, events=told))
    repaired = math.nextafter(900.0, 0.0) if is_repaired else -math.inf
    assert view.repaired_at(view.entities[GPU], ["gpu_lost"]) == repaired
    assert view.repaired_at(view.entities[GPU], ["gpu_reset"]) == -math.inf


def test_the_node_has_the_events_of_all() -> None:
    """What was found once is found again until the oldest of it leaves the window."""
    known = observer()
    wanted = XIDS._replace(within_secs=60.0)
    known.observe(scene(100.0, gpu(), gpu(1), events=[xid(13, 90.0), xid(31, 95.0, ("gpu", "u1"))]))
    for now, number in ((149.0, 2), (150.0, 2), (151.0, 1), (156.0, 0)):
        view = known.observe(scene(now, gpu(), gpu(1)))
        for _ in range(2):
            found = view.matching_events(view.entities["node", "n"], wanted, float("-inf"))
            assert len(found or ()) == number, now


@pytest.mark.parametrize(
    ("what", "sources", "found"),
    [
        ("xid", {"nvml"}, []),
        ("xid", set(), None),
        ("hung_task", {"nvml"}, None),
        ("hung_task", {"kernel_log"}, []),
        ("probe", set(), []),
    ],
)
def test_no_event_is_unknown_where_nobody_would_tell_of_it(
    what: str, sources: set[str], found: list[Event] | None
) -> None:
    """What only probes tell may be told or not: none is none."""
    sources_now = frozenset(sources)
    view = observer().observe(scene(1000.0, gpu(), event_sources=sources_now))
    wanted = XIDS._replace(what=what)
    assert view.matching_events(view.entities[GPU], wanted, -1.0) == found
    told = (
        [xid(13, 990.0)] if what == "xid" else [event(what, 990.0, GPU, "probe:npu", probe="npu")]
    )
    view = observer().observe(scene(1000.0, gpu(), events=told, event_sources=sources_now))
    assert len(view.matching_events(view.entities[GPU], wanted, -1.0) or ()) == 1


def test_the_history_of_what_is_gone_is_forgotten() -> None:
    """Also that of disks, which are watched for who waits for them."""
    known = observer()
    moving = {"reads_completed": 5.0, "writes_completed": 5.0, "queue_time_seconds": 1.0}
    known.observe(scene(0.0, thing("disk", "sda", **moving)))
    assert known.history.series(("disk", "sda"), "reads_completed", 60.0) is not None
    known.observe(scene(15.0))
    assert known.history.series(("disk", "sda"), "reads_completed", 60.0) is None
