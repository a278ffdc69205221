"""The shipped rules, what is pinned of them beside their collectors' tests, and a first look."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from exporter.collectors.everything import TRAITS, VOCABULARY
from exporter.faults.evaluate import Evaluator
from exporter.faults.rules.loader import RuleBook
from exporter.faults.rules.rule import Rule
from exporter.faults.values import Address, Entity, Scene, Value
from exporter.model.verdict import Conclusions

START = 10_000.0
WALL = 1_700_000_000.0
IT = "it"
"""The component that is looked at."""


def at_first_look(rule: Rule, fields: Mapping[str, Value]) -> Conclusions:
    """What is concluded of one component with these fields, where nobody reads events.

    The rule needs no second look: how long a condition must hold is set to nothing.
    """
    address: Address = (TRAITS.traits.hw_types[rule.entity], IT)
    aliases = (("node", ""),) if rule.entity == "node" else (address,)
    entity = Entity((rule.entity, IT), IT, fields, aliases)
    kinds = frozenset(VOCABULARY.names)
    scene = Scene("n", START, WALL + START, (entity,), (), (), frozenset(), kinds)
    judge = Evaluator(RuleBook((replace(rule, for_secs=0.0),)), TRAITS, stopwatch=lambda: 0.0)
    return judge.evaluate(scene)


ROOMS = Path(__file__).parents[2] / "collectors"
"""The tests of each collector, which go with it."""


def pinned_file(rule: Rule, name: str) -> Path:
    """The file of this name beside the tests of the collector that has the rule."""
    return ROOMS / Path(rule.file).parents[1].name / name


def pinned_lines(name: str) -> list[str]:
    """The lines of the files of this name beside the tests of all collectors."""
    files = sorted(ROOMS.glob(f"*/{name}"))
    return [line for file in files for line in file.read_text("utf-8").splitlines()]
