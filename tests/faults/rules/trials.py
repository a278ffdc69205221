"""One shipped rule tried on one component: fields that stay, rise or go, and kernel lines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from exporter.collectors.everything import SHIPPED, TRAITS, VOCABULARY
from exporter.collectors.kernel_log.events import KernelLines
from exporter.collectors.workloads.jobs import GpuJobs
from exporter.faults.evaluate import Evaluator
from exporter.faults.events.query import Events
from exporter.faults.expr.syntax import Window, walk
from exporter.faults.rules.loader import RuleBook, load_rules
from exporter.faults.rules.rule import Rule
from exporter.faults.values import Address, Entity, Scene, Value
from exporter.model.event import Event, EventType
from exporter.model.verdict import Conclusions, FaultState
from tests.faults.events.feeding import interpreted

START = 10_000.0
WALL = 1_700_000_000.0
STEP_SECS = 15.0
LONG_SECS = 600.0
LONGEST_SECS = 93_600.0
EVENT_SOURCES = frozenset({"kernel_log", "nvml"})


@dataclass(frozen=True, slots=True)
class Rises:
    """A counter that grows by so much in a second, from what it was."""

    by: float


@dataclass(frozen=True, slots=True)
class Goes:
    """A value that is first the one and, from the third look on, the other."""

    before: Value
    after: Value


NODE = "node."
Given = Mapping[str, "Value | Rises | Goes"]
"""Fields by name, those of its node after `node.`; `kernel` is what the kernel prints once."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule: where it holds, where it does not, where it cannot tell, and how it clears.

    `unknown` of None means that the kernel log is not read; with `is_gated` the rule is off there
    and says nothing. `severity` is what the fault is said to be where it holds.
    """

    rule: str
    kind: str
    holds: Given
    holds_not: Given
    clears: Given = field(default_factory=dict)
    unknown: Given | None = None
    is_gated: bool = False
    about: str = "it"
    severity: str = ""
    summary: str = ""


@cache
def shipped() -> RuleBook:
    """All rules that ship."""
    return load_rules(SHIPPED, VOCABULARY)


def shipped_rule(name: str) -> Rule:
    """The shipped rule of this name."""
    (found,) = [rule for rule in shipped().rules if rule.id == name]
    return found


class Trial:
    """Looks at one component again and again, and judges by one rule."""

    def __init__(self, row: Row, *, has_source: bool = True) -> None:
        self.rule = shipped_rule(row.rule)
        self._row = row
        self._heard = EVENT_SOURCES if has_source else frozenset()
        self._judge = Evaluator(RuleBook((self.rule,)), TRAITS, stopwatch=lambda: 0.0)
        self._lines = KernelLines()
        self._fields: dict[str, Value] = {}
        self._at = START

    @property
    def window_secs(self) -> float:
        """The longest time the rule needs to see before it can hold, as far as a test waits."""
        windows = [
            node.secs if isinstance(node, Window) else 0.0
            for node in walk(self.rule.when.tree)
            if isinstance(node, (Window, Events))
        ]
        return self.rule.for_secs + min(max(windows, default=0.0), LONG_SECS) + 4 * STEP_SECS

    def after(self, repair: str) -> Conclusions:
        """What is concluded at the look that sees this kind of repair."""
        self._at += STEP_SECS
        seen = self._scene("")
        return self._judge.evaluate(replace(seen, events=(repaired(repair, self._at),)))

    def look(self, given: Given, secs: float) -> Iterator[Conclusions]:
        """What is concluded at each look, for so long; after some minutes looks become rare."""
        end, looks = self._at + secs, 0
        began = self._at
        kernel = given.get("kernel")
        while self._at < end:
            step = STEP_SECS if self._at - began < LONG_SECS else LONG_SECS / 2
            self._at += step
            looks += 1
            self._update(given, step, looks)
            text = str(kernel) if kernel and looks == 1 else ""
            yield self._judge.evaluate(self._scene(text))

    def is_active(self, said: Conclusions) -> bool:
        """Whether the rule holds for the component."""
        return any(fault.subject.hw_id == self._row.about for fault in said.active)

    def is_unknown(self, said: Conclusions) -> bool:
        """Whether the rule could not be judged for the component."""
        return any(self.rule.id in rules for rules in said.unknown.values())

    def _update(self, given: Given, step: float, looks: int) -> None:
        for name, value in given.items():
            if isinstance(value, Rises):
                before = self._fields.get(name) or 0.0
                assert isinstance(before, (int, float))
                self._fields[name] = before + value.by * step
            elif isinstance(value, Goes):
                self._fields[name] = value.before if looks <= 2 else value.after
            elif name != "kernel":
                self._fields[name] = value

    def _scene(self, text: str) -> Scene:
        address: Address = (TRAITS.traits.hw_types[self._row.kind], self._row.about)
        key = (self._row.kind, self._row.about)
        aliases: tuple[Address, ...] = (address, key)
        if self._row.kind == "node":
            aliases = (("node", ""),)
        own = {name: value for name, value in self._fields.items() if not name.startswith(NODE)}
        of_node = {
            name.removeprefix(NODE): self._fields[name] for name in self._fields.keys() - own
        }
        entities: tuple[Entity, ...] = (Entity(key, self._row.about, own, aliases),)
        if of_node:
            entities += (Entity(("node", "n"), "n", of_node, (("node", ""), ("node", "n"))),)
        told = map(interpreted, self._lines.events(text, self._at) if text else ())
        events = tuple(map(GpuJobs().interpret, told))
        kinds = frozenset(VOCABULARY.names)
        return Scene("n", self._at, WALL + self._at, entities, (), events, self._heard, kinds)


def repaired(kind: str, at: float) -> Event:
    """Return an event of this kind about the whole node."""
    return Event(WALL + at, at, EventType.ACTION_EXEC, kind, "node", "", "looks")


def first_holding(trial: Trial, given: Given) -> Conclusions:
    """The first conclusion in which the rule holds; it must come in time."""
    for said in trial.look(given, trial.window_secs):
        if trial.is_active(said):
            return said
    raise AssertionError(f"{trial.rule.id} does not hold")


def clearing(trial: Trial, given: Given) -> FaultState:
    """How the fault ends; it must within a day and its window."""
    for said in trial.look(given, LONGEST_SECS):
        if not trial.is_active(said):
            return said.faults[0].state
    raise AssertionError(f"{trial.rule.id} does not clear")


ROOMS = Path(__file__).parents[2] / "collectors"
"""The tests of each collector, which go with it."""


def pinned_file(rule: Rule, name: str) -> Path:
    """The file of this name beside the tests of the collector that has the rule."""
    return ROOMS / Path(rule.file).parents[1].name / name


def pinned_lines(name: str) -> list[str]:
    """The lines of the files of this name beside the tests of all collectors."""
    files = sorted(ROOMS.glob(f"*/{name}"))
    return [line for file in files for line in file.read_text("utf-8").splitlines()]


def tables_of_collectors(name: str) -> Iterator[ModuleType]:
    """The modules of this name beside the tests of collectors."""
    for path in sorted(ROOMS.glob(f"*/{name}.py")):
        yield import_module(f"tests.collectors.{path.parent.name}.{name}")
