"""What a site makes of the rules: severities of its own, and rules that are switched off."""

import json

import pytest

from exporter.collectors import chosen
from exporter.commands.rules import changes
from exporter.config import Config, Faults
from exporter.config.file import ConfigError, Layer, load

HUNG = "INFO: task kworker/u256:3:1234 blocked for more than 120 seconds."
STEPS = [{"base": "server", "wait": 30}, {"log": HUNG, "wait": 30}]


def _config(table: dict[str, object]) -> Config:
    return load([Layer("site.toml", {"faults": table})])


def _said(config: Config) -> list[str]:
    """Return the faults that a recording shows under this configuration, with their severities."""
    collectors = chosen(config)
    book = collectors.rule_book_for(config)
    assert book.mistakes == ()
    lines = [*changes(map(json.dumps, STEPS), book, collectors)]
    return [line for line in lines if "hung_task" in line]


def test_a_severity_of_the_site_is_what_is_said() -> None:
    """The same event is said with the severity of the rule, and with that of the site."""
    by_default = _said(_config({}))
    raised = _said(_config({"severity": {"hung_task": "critical"}}))
    assert by_default != raised
    assert any("critical" in line for line in raised), raised


def test_a_rule_that_is_off_says_nothing() -> None:
    """Its event is read, and no fault begins."""
    assert _said(_config({}))
    assert _said(_config({"off": ["hung_task"]})) == []


def test_a_severity_of_the_site_is_not_escalated() -> None:
    """What is at most a warning at a site does not become critical by itself."""
    before, after = (
        {rule.id: rule for rule in chosen(config).rule_book_for(config).rules}
        for config in (Config(), _config({"severity": {"filesystem_full": "warning"}}))
    )
    assert before["filesystem_full"].escalate is not None
    assert after["filesystem_full"].escalate is None
    assert after["filesystem_full"].status == "degraded"


@pytest.mark.parametrize("key", ["off", "severity"])
def test_a_rule_that_does_not_exist_is_one_sentence(key: str) -> None:
    """The name, the key and a name that is close; all other rules count."""
    named: object = ["hung_tsk"] if key == "off" else {"hung_tsk": "info"}
    config = _config({key: named})
    book = chosen(config).rule_book_for(config)
    (mistake,) = map(str, book.mistakes)
    assert mistake.startswith(f"configuration: faults.{key}: there is no rule 'hung_tsk'; did you")
    assert len(book.rules) == len(chosen(Config()).rule_book_for(Config()).rules)


def test_rules_of_a_collector_that_is_off_may_be_named() -> None:
    """A configuration for all nodes also fits nodes on which a collector is switched off."""
    config = Config(faults=Faults(off=("gpu_unlike_siblings",)))
    names = {rule.id for rule in chosen(Config()).rule_book_for(Config()).rules}
    assert "gpu_unlike_siblings" not in names
    assert chosen(config).rule_book_for(config).mistakes == ()


def test_a_severity_that_does_not_exist_stops_the_start() -> None:
    """One sentence says what is allowed."""
    with pytest.raises(ConfigError, match="must be one of critical, warning, info"):
        _config({"severity": {"hung_task": "loud"}})
