"""Every shipped rule about GPUs: it holds, does not hold, cannot be judged, and clears."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.everything import TRAITS, VOCABULARY, rule_book
from exporter.collectors.kernel_log.events import KernelLines
from exporter.collectors.workloads.jobs import GpuJobs
from exporter.faults.evaluate import Evaluator
from exporter.faults.replay.snapshots import START_BOOTTIME, START_WALL
from exporter.faults.rules.loader import RuleBook
from exporter.faults.rules.rule import Rule
from exporter.faults.values import Entity, Scene
from exporter.model.verdict import Conclusions
from tests.faults import gpu_rule_cases
from tests.faults.events.feeding import interpreted
from tests.faults.gpu_rule_cases import GPU_PCI, Case, Rise
from tests.faults.rules.trials import repaired, tables_of_collectors

TABLES = (gpu_rule_cases, *tables_of_collectors("rule_cases"))
CASES: dict[str, Case] = {name: case for table in TABLES for name, case in table.CASES.items()}

STEP = 15.0
WARM_UP = 20
HOUR = 3600.0


@cache
def shipped() -> RuleBook:
    """The shipped rules, read once."""
    return rule_book()


def by_id(name: str) -> Rule:
    """One shipped rule."""
    return next(rule for rule in shipped().rules if rule.id == name)


class Run:
    """One rule alone, judged step by step."""

    def __init__(self, rule: Rule, case: Case) -> None:
        self.rule = rule
        self.case = case
        self.judge = Evaluator(RuleBook((rule,)), TRAITS, stopwatch=lambda: 0.0)
        self.kernel = KernelLines()
        self.now = START_BOOTTIME
        self.counters: dict[str, float] = {}
        self.event_sources = frozenset({"kernel_log", "nvml"})

    def step(
        self,
        fields: dict[str, Any],
        lines: tuple[str, ...] = (),
        secs: float = STEP,
        *,
        repair: str = "",
    ) -> bool:
        """One judgement; whether the rule holds for the entity."""
        self.now += secs
        seen = self.scene(fields, lines)
        if repair:
            seen = replace(seen, events=(*seen.events, repaired(repair, self.now)))
        said = self.judge.evaluate(seen)
        return any(fault.rule == self.rule.id for fault in said.active)

    def said(self, fields: dict[str, Any]) -> Conclusions:
        """One judgement with all that is concluded."""
        self.now += STEP
        return self.judge.evaluate(self.scene(fields, ()))

    def scene(self, fields: dict[str, Any], lines: tuple[str, ...]) -> Scene:
        """What is seen at this moment."""
        kind = self.rule.entity
        name = self.case.id or {"gpu": GPU_PCI, "node": "node"}.get(kind, "thing")
        hw_type = TRAITS.traits.hw_types[kind]
        address = ("node", "") if kind == "node" else (hw_type, name)
        entities = [Entity((kind, name), name, dict(self.valued(fields)), (address,))]
        if kind != "node":
            entities.append(Entity(("node", "node"), "node", self.case.node, (("node", ""),)))
        told = (
            event
            for line in lines
            for event in map(interpreted, self.kernel.events(line, self.now))
        )
        events = map(GpuJobs().interpret, told)
        return Scene(
            node="node",
            now=self.now,
            wall=START_WALL + self.now - START_BOOTTIME,
            entities=tuple(entities),
            events=tuple(events),
            event_sources=self.event_sources,
            read_kinds=frozenset(VOCABULARY.names),
        )

    def valued(self, fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """The fields with counters moved on."""
        for name, value in fields.items():
            if isinstance(value, Rise):
                self.counters[name] = self.counters.get(name, 1000.0) + value.by
                yield name, self.counters[name]
            else:
                yield name, value

    def until_it_holds(self) -> bool:
        """The bad state until the rule holds, for as long as it may wait."""
        holds = self.step(self.case.bad, self.case.lines)
        for _ in range(int(self.rule.for_secs / STEP) + 8):
            holds = holds or self.step(self.case.bad)
        return holds


def looks_back_secs(rule: Rule) -> float:
    """The longest window of the rule."""
    windows = [secs for _, secs in rule.windows]
    windows += [wanted.within_secs for part in rule.conditions for wanted in part.looks_at_events()]
    return max(windows, default=0.0)


@pytest.fixture(name="run", params=sorted(CASES))
def fixture_run(request: pytest.FixtureRequest) -> Run:
    """One rule with its case, after a good time."""
    run = Run(by_id(request.param), CASES[request.param])
    for _ in range(WARM_UP):
        assert not run.step(run.case.good), "holds although nothing is wrong"
    return run


def test_every_rule_is_tested_here() -> None:
    """No rule ships without its row, and no row is about a rule that does not ship."""
    assert not shipped().mistakes
    about_gpus = {r.id for r in shipped().rules if Path(r.file).stem.startswith("gpu_")}
    assert about_gpus == set(CASES)


def test_it_holds_and_says_why(run: Run) -> None:
    """In the bad state the rule holds, with a sentence and evidence."""
    assert run.until_it_holds()
    (fault,) = (alert for alert in run.judge.alerts.values() if alert.is_active)
    assert fault.summary
    assert fault.evidence
    assert 0 < fault.confidence <= 1


def test_it_does_not_hold(run: Run) -> None:
    """In the good state it stays silent."""
    for _ in range(int(run.rule.for_secs / STEP) + 8):
        assert not run.step(run.case.good)


def test_it_cannot_be_judged_without_evidence(run: Run) -> None:
    """Where nothing is said and nobody listens it neither holds nor passes for well."""
    unheard = Run(run.rule, Case(id=run.case.id))
    unheard.event_sources = frozenset()
    for _ in range(int(run.rule.for_secs / STEP) + 2):
        said = unheard.said({})
        assert not said.active
    is_unknown = any(run.rule.id in rules for rules in said.unknown.values())
    assert is_unknown or run.rule.only_if is not None


def test_it_clears(run: Run) -> None:
    """Back in the good state it ends, within its windows and its time to clear.

    What only a repair ends stays for a day without one, and is gone at the look that sees it.
    """
    assert run.until_it_holds()
    if run.rule.until:
        needs_repair = run.rule.clear is None
        assert not needs_repair or all(run.step(run.case.good, secs=HOUR) for _ in range(25))
        assert run.rule.until == ("boot",) or not run.step(run.case.good, repair=run.rule.until[0])
        return
    secs = looks_back_secs(run.rule) * 1.05 + run.rule.clear_for_secs + 300
    stride = STEP if secs < 2 * 3600 else 60.0
    for _ in range(int(secs / stride) + 2):
        if not run.step(run.case.good, secs=stride):
            return
    pytest.fail("still active")


def test_severity_and_action_agree() -> None:
    """What is critical always has something to be done."""
    for rule in shipped().rules:
        assert rule.severity != "critical" or rule.action != "none", rule.id
