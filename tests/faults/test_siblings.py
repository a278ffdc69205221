"""The same fault of most siblings is one fault of their parent."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from exporter.collectors.everything import KINDS
from exporter.collectors.exporter.incidents import incidents_of
from exporter.faults.evaluate import Evaluator
from exporter.faults.subject import Subjects
from exporter.faults.values import Entity
from exporter.model.verdict import Conclusions, Edge, Naming
from tests.faults.scenes import TRAITS, book, edge, gpu, rule, scene, thing

NODE = "n"
HOT = rule("hot", "gpu", "heat > 85", summary="{name} is too hot: {heat:.0f} °C")

GPUS = Naming("GPUs", is_numbered=True)


class _WithSiblings(Subjects):
    """The few kinds of scenes built by hand; GPUs have siblings, processes have none."""

    traits = replace(TRAITS, with_siblings=frozenset({"gpu"}), namings={"gpu": GPUS})


def judge(folder: Path, text: str = HOT) -> Evaluator:
    """A judge by these rules."""
    return Evaluator(book(folder, text), _WithSiblings(KINDS.rows), stopwatch=lambda: 0.0)


def gpus(*hot: int, of: int = 8) -> tuple[Entity, ...]:
    """So many GPUs, of which these are hot."""
    return tuple(gpu(n, heat=90.0 + n if n in hot else 40.0) for n in range(of))


def roots(said: Conclusions) -> list[str]:
    """The components of the roots."""
    return sorted(fault.subject.hw_id for fault in said.active if fault.is_root)


def see(judge: Evaluator, now: float, *hot: int, edges: Sequence[Edge] = ()) -> Conclusions:
    """What is said of eight GPUs at this boot time."""
    return judge.evaluate(scene(now, *gpus(*hot), edges=edges))


def test_most_of_the_siblings_have_one_root(tmp_path: Path) -> None:
    """Eight hot GPUs are one fault of the node with one text; each GPU follows from it."""
    said = see(judge(tmp_path), 0, *range(8))
    assert roots(said) == [NODE]
    (told,) = incidents_of(said)
    assert told.summary == "8 of 8 GPUs: each is too hot"
    assert len(told.follows) == 8
    (root,) = told.roots
    assert {it.hw_id for it in root.affected} >= {f"u{n}" for n in range(8)}
    assert all(fault.causes[0].via == "siblings" for fault in told.follows)


def test_two_of_sixteen_stay_two(tmp_path: Path) -> None:
    """A minority has no common cause; half of the siblings may hang on one of two feeds."""
    asked = judge(tmp_path)
    assert roots(asked.evaluate(scene(0, *gpus(3, 11, of=16)))) == ["u11", "u3"]
    some = judge(tmp_path)
    assert len(roots(some.evaluate(scene(0, *gpus(*range(7), of=16))))) == 7
    half = judge(tmp_path)
    assert roots(half.evaluate(scene(0, *gpus(*range(8), of=16)))) == [NODE]


def test_what_begins_far_apart_is_not_together(tmp_path: Path) -> None:
    """Six GPUs that get hot one every two minutes are six incidents."""
    asked = judge(tmp_path)
    for number in range(6):
        said = see(asked, 120.0 * number, *range(number + 1))
    assert roots(said) == [f"u{n}" for n in range(6)]


def test_a_sibling_that_joins_later_belongs_to_it_an_earlier_one_does_not(tmp_path: Path) -> None:
    """The fault of the parent began with its first part; what was there long before is another."""
    asked = judge(tmp_path)
    see(asked, 0, 7)
    assert roots(see(asked, 600, 0, 1, 2, 3, 4, 7)) == [NODE, "u7"]
    assert roots(see(asked, 900, 0, 1, 2, 3, 4, 5, 7)) == [NODE, "u7"]


def test_it_ends_with_its_last_sibling(tmp_path: Path) -> None:
    """While some are still ill it goes on: none of them becomes a root at recovery."""
    asked = judge(tmp_path)
    see(asked, 0, *range(8))
    assert roots(see(asked, 30, 5, 6)) == [NODE]
    assert roots(see(asked, 60, 6)) == [NODE]
    over = see(asked, 90)
    assert roots(over) == []
    assert NODE in {fault.subject.hw_id for fault in over.faults}


def test_it_outlives_a_restart(tmp_path: Path) -> None:
    """The faults that are taken over know the fault of their parent."""
    before, after = judge(tmp_path), judge(tmp_path)
    see(before, 0, *range(8))
    after.recall({key: before.store.alerts[key] for key in list(before.store.alerts)[:2]})
    assert roots(see(after, 30, 0, 1)) == [NODE]


def test_the_parent_is_the_nearest_whose_children_are_ill(tmp_path: Path) -> None:
    """Four GPUs below one switch of two are a fault of this switch."""
    edges = [
        each
        for n in range(8)
        for each in (
            edge("part_of", ("gpu", f"u{n}"), ("pcie", f"card{n}")),
            edge("below", ("pcie", f"card{n}"), ("pcie", f"switch{n // 4}")),
        )
    ]
    ports = [
        thing("pcie", name) for name in (*(f"card{n}" for n in range(8)), "switch0", "switch1")
    ]
    asked = judge(tmp_path)
    said = asked.evaluate(scene(0, *gpus(4, 5, 6, 7), *ports, edges=edges))
    assert roots(said) == ["switch1"]
    both = asked.evaluate(scene(30, *gpus(*range(8)), *ports, edges=edges))
    assert "switch1" in roots(both)
    most = judge(tmp_path).evaluate(scene(0, *gpus(0, 1, 4, 5, 6, 7), *ports, edges=edges))
    assert roots(most) == [NODE]
    everywhere = judge(tmp_path).evaluate(scene(0, *gpus(*range(8)), *ports, edges=edges))
    assert roots(everywhere) == [NODE]


def test_a_parent_that_has_the_fault_itself_stands_for_its_parts(tmp_path: Path) -> None:
    """Two devices below a port that reports the same: the port is the root, once."""

    class WithPorts(Subjects):
        traits = replace(TRAITS, with_siblings=frozenset({"pcie"}))

    rules = book(tmp_path, rule("aer", "pcie", "errors > 0"))
    asked = Evaluator(rules, WithPorts(KINDS.rows), stopwatch=lambda: 0.0)
    names = ("port", "card0", "card1", *(f"other{n}" for n in range(9)))
    things = [thing("pcie", n, errors=float(not n.startswith("other"))) for n in names]
    edges = [edge("below", ("pcie", f"card{n}"), ("pcie", "port")) for n in range(2)]
    for now in (0.0, 30.0):
        assert roots(asked.evaluate(scene(now, *things, edges=edges))) == ["port"]


def test_what_has_a_cause_is_not_put_together(tmp_path: Path) -> None:
    """Where another fault explains the siblings, also later, that is the root."""
    slow = rule("slow", "gpu", "clock[sm] < 5", explained_by=[{"rule": "pressed", "via": "node"}])
    asked = judge(tmp_path, slow + rule("pressed", "node", "pressure > 1"))
    cards = [gpu(n, **{"clock[sm]": 1.0}) for n in range(4)]
    things = scene(0, *cards)
    assert roots(asked.evaluate(things)) == [NODE]
    node = thing("node", NODE, pressure=5.0)
    said = asked.evaluate(replace(things, now=20.0, entities=(node, *cards)))
    assert [fault.rule for fault in said.active if fault.is_root] == ["pressed"]
    assert not [f for f in said.active if f.rule == "slow" and f.subject.hw_id == NODE]


def test_an_instruction_that_names_one_sibling_says_so(tmp_path: Path) -> None:
    """What to do is told for the first as an example where it differs, and once where not."""
    for advice, told in (
        ("Reset {name}.", "For each, as here for the first: Reset GPU 0."),
        ("Check the fans.", "Check the fans."),
    ):
        asked = judge(tmp_path, rule("hot", "gpu", "heat > 85", advice=advice))
        (incident,) = incidents_of(see(asked, 0, *range(8)))
        assert incident.action == told


def test_other_owners_are_never_put_together(tmp_path: Path) -> None:
    """Processes have no siblings: each that fails is a case of its own."""
    asked = judge(tmp_path, rule("died", "process", "share == 0"))
    said = asked.evaluate(scene(0, *(thing("process", str(n), share=0.0) for n in range(3))))
    assert roots(said) == ["0", "1", "2"]
