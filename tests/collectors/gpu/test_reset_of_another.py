"""A reset ends what the driver said of a GPU by its number only where it was that GPU's."""

import json

import pytest

from exporter.collectors.everything import rule_book
from exporter.commands.rules import concluded
from exporter.faults.rules.loader import RuleBook

SILENT = "NVRM: GPU1 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 1 heartbeat 0"
SILENT_OF_NONE = f"NVRM: _kgspLogXid119: {'*' * 33} GSP Timeout {'*' * 34}"
LOCKED = "NVRM: GPU1 krcWatchdog_IMPL: RC watchdog: GPU is probably locked!"
LOCKED_OF_NONE = "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!"
LOADED = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05"
CASES = (("gpu_gsp_silent", SILENT, SILENT_OF_NONE), ("gpu_locked", LOCKED, LOCKED_OF_NONE))
RULES = pytest.mark.parametrize(("rule", "named", "unnamed"), CASES, ids=[it[0] for it in CASES])


@pytest.fixture(scope="module", name="rules")
def _rules() -> RuleBook:
    return rule_book()


def reset(pci: str) -> str:
    """Return what the driver says when a GPU needs no recovery any more."""
    return (
        f"NVRM: Xid (PCI:{pci}): 154, GPU recovery action changed from 0x1 (GPU Reset Required)"
        " to 0x0 (None)"
    )


OWN, ANOTHER = reset("0000:3b:00"), reset("0000:9b:00")


def is_active_after(rules: RuleBook, rule: str, *lines: str) -> bool:
    """Play a minute of health and these kernel lines a minute apart; whether the fault is there."""
    steps = [{"base": "h100_4", "wait": 60}, *({"log": line, "wait": 60} for line in lines)]
    active: set[str] = set()
    for _, conclusions in concluded([json.dumps(step) for step in steps], rules):
        active = {fault.rule for fault in conclusions.active}
    return rule in active


@RULES
def test_a_reset_of_another_gpu_ends_nothing(
    rules: RuleBook, rule: str, named: str, unnamed: str
) -> None:
    """The GPU that the line names is as silent as before; its own reset is the end."""
    assert is_active_after(rules, rule, named)
    assert is_active_after(rules, rule, named, ANOTHER)
    assert not is_active_after(rules, rule, named, ANOTHER, OWN)
    assert not is_active_after(rules, rule, named, OWN)
    assert not is_active_after(rules, rule, unnamed, ANOTHER)  # which it was cannot be known


@RULES
def test_each_gpu_that_was_named_needs_its_reset(
    rules: RuleBook, rule: str, named: str, unnamed: str
) -> None:
    """One of two is half of the repair; a driver load is the whole."""
    other = named.replace("GPU1", "GPU2")
    assert is_active_after(rules, rule, named, other, ANOTHER)
    assert not is_active_after(rules, rule, named, other, ANOTHER, OWN)
    assert is_active_after(rules, rule, named, unnamed, ANOTHER)
    assert not is_active_after(rules, rule, named, other, LOADED)
