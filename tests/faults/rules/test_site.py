"""What a site makes of the rules: severities of its own, and rules that are switched off."""

import json
import time

import pytest

from exporter.collector import Collectors
from exporter.collectors import chosen
from exporter.collectors.demo.script import INCIDENTS
from exporter.collectors.everything import rule_book
from exporter.commands.rules import changes, replayed
from exporter.config import Config, Faults
from exporter.config.file import ConfigError, Layer, load
from exporter.faults.engine import RuleEngine
from exporter.faults.persistence import SavedFaults, decode, to_text
from exporter.faults.replay.snapshots import SnapshotReader
from exporter.model.verdict import Conclusions
from tests.fakes.virtual_node import demo_node
from tests.loaded_once import loaded_once

HUNG = "INFO: task kworker/u256:3:1234 blocked for more than 120 seconds."
STEPS = [{"base": "server", "wait": 30}, {"log": HUNG, "wait": 30}]


def collectors_of(config: Config) -> Collectors:
    """The collectors of this configuration; their shipped rules are read once."""
    return loaded_once(chosen(config))


def _config(table: dict[str, object]) -> Config:
    return load([Layer("site.toml", {"faults": table})])


def _said(config: Config) -> list[str]:
    """Return the faults that a recording shows under this configuration, with their severities."""
    collectors = collectors_of(config)
    book = collectors.rule_book_for(config)
    assert book.mistakes == ()
    lines = [*changes(map(json.dumps, STEPS), book, collectors)]
    return [line for line in lines if "hung_task" in line]


def test_a_severity_of_the_site_is_what_is_said() -> None:
    """The same event is said with the severity of the rule, with that of the site, or not."""
    by_default = _said(_config({}))
    assert by_default
    assert not any("critical" in line for line in by_default), by_default
    raised = _said(_config({"severity": {"hung_task": "critical"}}))
    assert any("critical" in line for line in raised), raised
    assert _said(_config({"off": ["hung_task"]})) == []


def test_a_severity_of_the_site_is_not_escalated() -> None:
    """What is at most a warning at a site does not become critical by itself."""
    before, after = (
        {rule.id: rule for rule in collectors_of(config).rule_book_for(config).rules}
        for config in (Config(), _config({"severity": {"filesystem_full": "warning"}}))
    )
    assert before["filesystem_full"].escalate is not None
    assert after["filesystem_full"].escalate is None
    assert after["filesystem_full"].status == "degraded"


@pytest.mark.parametrize("key", ["off", "severity"])
def test_a_name_that_does_not_exist_is_one_sentence(key: str) -> None:
    """Of a rule or an Xid: the name, the key and a name that is close; all rules count."""
    names = ["63", "hung_tsk", "sxid_7", "xid_1110"]
    config = _config({key: names if key == "off" else dict.fromkeys(names, "info")})
    book = collectors_of(config).rule_book_for(config)
    for name, mistake in zip(names, map(str, book.mistakes), strict=True):
        start = f"configuration: faults.{key}: there is no rule {name!r}; did you mean "
        assert mistake.startswith(start)
        assert ("hung_task" if name == "hung_tsk" else "xid_") in mistake.removeprefix(start)
    assert len(book.rules) == len(collectors_of(Config()).rule_book_for(Config()).rules)


def test_rules_of_a_collector_that_is_off_may_be_named() -> None:
    """A configuration for all nodes also fits nodes on which a collector is switched off."""
    names = {rule.id for rule in collectors_of(Config()).rule_book_for(Config()).rules}
    absent = next(rule.id for rule in rule_book().rules if rule.id not in names)
    config = Config(faults=Faults(off=(absent,)))
    assert collectors_of(config).rule_book_for(config).mistakes == ()


def test_a_severity_that_does_not_exist_stops_the_start() -> None:
    """One sentence names the rule, the severity and what is allowed."""
    says = 'severity.hung_task is "loud", but must be one of critical, warning, info'
    with pytest.raises(ConfigError, match=says):
        _config({"severity": {"gpu_lost": "info", "hung_task": "loud"}})


XID_110 = "NVRM: Xid (PCI:0000:17:00): 110, pid=77, name=train, security fault"
XID_62 = "NVRM: Xid (PCI:0000:17:00): 62, internal micro-controller halt"


def _of_xids(faults: dict[str, object], *lines: str) -> list[str]:
    """Return the severities of the fault of these kernel lines, from the first to the last."""
    config = _config(faults)
    collectors = collectors_of(config)
    book = collectors.rule_book_for(config)
    assert book.mistakes == ()
    steps = [{"base": "server", "wait": 30}, *({"log": line, "wait": 30} for line in lines)]
    moments = replayed(map(json.dumps, steps), book, collectors)
    active = [fault for _, said in moments for fault in said.active]
    return [fault.severity for fault in active if fault.rule == "gpu_xid_critical"]


@pytest.mark.parametrize(
    ("faults", "lines", "severity"),
    [
        ({}, (XID_110,), "critical"),
        ({"severity": {"xid_110": "info"}}, (XID_110,), "info"),
        ({"severity": {"xid_110": "warning", "gpu_xid_critical": "info"}}, (XID_110,), "warning"),
        ({"severity": {"xid_110": "info"}}, (XID_110, XID_62), "critical"),
        ({"off": ["xid_110"]}, (XID_62, XID_110), "critical"),
    ],
    ids=["default", "xid", "xid before rule", "two xids, the highest", "another xid is off"],
)
def test_an_xid_has_the_severity_of_the_site(
    faults: dict[str, object], lines: tuple[str, ...], severity: str
) -> None:
    """A severity by number counts for faults of this Xid alone, before that of the rule."""
    said = _of_xids(faults, *lines)
    assert said[-1] == severity


def test_an_xid_that_is_off_is_no_evidence() -> None:
    """No rule sees this Xid; another Xid of the same rule is seen as ever."""
    assert _of_xids({"off": ["xid_110"]}, XID_110) == []


def test_an_xid_before_a_restart_follows_the_new_configuration() -> None:
    """A fault that an earlier process kept has the severity of now, or is no fault any more."""
    collectors = collectors_of(Config())
    steps = [{"base": "server", "wait": 30}, {"log": XID_110, "wait": 30}, {"wait": 30}]
    *before, last = SnapshotReader(collectors.recordings).snapshots(map(json.dumps, steps))

    def engine(config: Config, kept: SavedFaults | None) -> RuleEngine:
        book = collectors.rule_book_for(config)
        return RuleEngine(book, collectors.subjects, time.perf_counter, "boot", kept=kept)

    def severities(config: Config, kept: SavedFaults) -> list[str]:
        return [fault.severity for fault in engine(config, kept).conclude(last).active]

    first = engine(Config(), None)
    for snapshot in before:
        said = first.conclude(snapshot)
    assert [fault.severity for fault in said.active] == ["critical"]
    kept = decode(json.loads(first.pending_state() or ""))
    assert severities(Config(), kept) == ["critical"]
    kept = decode(json.loads(to_text(kept)))
    assert severities(_config({"severity": {"xid_110": "info"}}), kept) == ["info"]
    assert severities(_config({"off": ["xid_110"]}), kept) == []


def test_a_cause_that_is_switched_off_is_forgotten() -> None:
    """What followed from it is a root itself after a reload or a restart."""
    collectors, off = collectors_of(Config()), _config({"off": ["pcie_link_down"]})
    book = collectors.rule_book_for(off)
    with demo_node(INCIDENTS[2].starts - 15, INCIDENTS[2]) as node:
        snapshots = node.snapshots("node-1", 60, rule_book())
    reloaded = RuleEngine(rule_book(), collectors.subjects, time.perf_counter, "boot")
    for snapshot in snapshots:
        said = reloaded.conclude(snapshot)
    assert {"pcie_link_down": True, "gpu_lost": False}.items() <= _roots(said).items()
    kept = decode(json.loads(reloaded.pending_state() or ""))
    restarted = RuleEngine(book, collectors.subjects, time.perf_counter, "boot", kept=kept)
    reloaded.take(book, collectors.subjects)
    for engine in (restarted, reloaded):
        assert _roots(engine.conclude(snapshots[-1])) == {"gpu_lost": True}


def _roots(said: Conclusions) -> dict[str, bool]:
    return {fault.rule: fault.is_root for fault in said.active}


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"gpu": {"backend": "off"}},
        {"gpu": {"backend": "nvidia-smi"}},
        {"ebpf": {"enabled": True}},
        {"ebpf": {"enabled": True}, "gpu": {"backend": "off"}},
        {"detectors": {"siblings": True}},
        {"sources": {"enabled": ["imex"]}},
        {"expect": {"learn": True}},
    ],
    ids=str,
)
def test_no_shipped_rule_needs_a_collector_that_is_off(table: dict[str, object]) -> None:
    """Whatever is switched on, each rule of it is loaded: none names a kind that is not there."""
    config = load([Layer("site.toml", table)])
    assert collectors_of(config).rule_book_for(config).mistakes == ()
