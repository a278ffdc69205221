"""Which rules are evaluated anew: those that read something that has changed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from exporter.faults.entities.components import Components
from exporter.faults.values import Entity, Value
from tests.faults.scenes import active, book, gpu, judge, rule, scene

RULES = rule("hot", "gpu", "heat > 85") + rule("broken", "gpu", "errors > 1")


def changed(tmp_path: Path, *looks: list[Entity]) -> list[list[str]]:
    """The rules that read something new at each look, after that at an idle GPU."""
    parts, rules = Components(), book(tmp_path, RULES).rules
    parts.learn({each.id: each.reads({}) for each in rules}, ())
    found = []
    for entities in ([gpu(heat=40.0, errors=0.0)], *looks):
        parts.look(entities)
        parts.complete([])
        found.append([each.id for each in rules if each.id in parts.rules])
    return found[1:]


def test_a_rule_reads_something_new_when_one_of_its_fields_changes(tmp_path: Path) -> None:
    """Another field, and equal values of another reading, concern other rules only."""
    hot, failed = gpu(heat=90.0, errors=0.0), gpu(heat=90.0, errors=2.0)
    assert changed(tmp_path, [hot], [replace(hot)], [failed], []) == [
        ["hot"],
        [],
        ["broken"],
        ["hot", "broken"],
    ]


def test_another_component_or_name_concerns_every_rule(tmp_path: Path) -> None:
    """One more GPU, one that is stale, and one with another address."""
    idle = gpu(heat=40.0, errors=0.0)
    stale, moved = replace(idle, is_fresh=False), replace(idle, addresses=(("gpu", "u9"),))
    assert changed(tmp_path, [idle, gpu(1)], [stale], [moved]) == [["hot", "broken"]] * 3


class Unreadable:
    """Fields of which `heat` cannot be read."""

    def __init__(self, rest: Mapping[str, Value]) -> None:
        self._rest = rest

    def get(self, name: str, /) -> Value:
        """Return a field, or fail."""
        if name == "heat":
            raise ArithmeticError(name)
        return self._rest.get(name)


def test_a_field_that_cannot_be_read_costs_its_rules_only(tmp_path: Path) -> None:
    """The others are judged, and the lost rule is counted."""
    judging = judge(tmp_path, RULES)
    unreadable = replace(gpu(), fields=Unreadable({"errors": 5.0}))
    said = judging.evaluate(scene(0, unreadable))
    assert active(said) == ["broken"]
    assert dict(said.rules_skipped)["broken"] == 1
