"""Files of patterns that an operator adds: used, or refused with one sentence each."""

import json
from pathlib import Path

import pytest

from exporter.collectors import chosen, every_for
from exporter.collectors.kernel_log.pattern_checks import lines_with
from exporter.collectors.kernel_log.pattern_file import shipped_lines
from exporter.collectors.kernel_log.table import Table
from exporter.commands.rules import changes
from exporter.config import Config, Faults, KernelLogConfig
from tests.collectors.kernel_log.feeding import pipeline, record
from tests.fakes.manifests import ROOT

EXAMPLE = str(ROOT / "examples/kernel_log.toml")
RULES = str(ROOT / "examples/rules.toml")
LINE = "watchdog: watchdog0: watchdog did not stop!"
GOOD = '[[line]]\nkind = "xid"\ncontains = "acme"\npattern = "acme (?P<pci>@PCI@): dead"\n'


def test_the_example_makes_its_event_and_its_fault() -> None:
    """A line, its kind and a rule on it, from two files and without a line of code."""
    config = Config(
        kernel_log=KernelLogConfig(patterns_dirs=(EXAMPLE,)), faults=Faults(rules_dirs=(RULES,))
    )
    collectors = every_for(config)
    book = collectors.rule_book(config.faults.rules_dirs)
    assert book.mistakes == ()
    steps = [{"base": "server", "wait": 30}, {"log": LINE, "wait": 30}]
    said = list(changes(map(json.dumps, steps), book, collectors))
    assert any("watchdog_left_running" in line for line in said), said


def test_its_event_is_seen_by_the_pipeline() -> None:
    """The lines of a file stand behind the shipped ones."""
    lines, mistakes = lines_with((EXAMPLE,))
    assert mistakes == ()
    taker = pipeline(table=Table(lines))
    taker.take(record(LINE))
    (event,) = taker.counters.ring.events()
    assert (event.kind, dict(event.fields)) == ("watchdog_left_running", {"watchdog": "watchdog0"})
    assert lines.rows[: len(shipped_lines().rows)] == shipped_lines().rows


def test_without_the_key_nothing_is_added() -> None:
    """By default the collector knows the shipped lines only."""
    assert "watchdog_left_running" not in chosen(Config()).subjects.event_sources


WRONG = {
    "not [toml": "is not valid TOML",
    "[rules]": "'rules' is not known; there are [kinds], [parts] and [[line]]",
    "line = 3": "lines must be written as [[line]]",
    "parts = 3": "[parts] must be a table of texts",
    "[kinds.heat]\na = 'b'": 'kinds must be in [kinds."error.hw"]',
    '[kinds]\n"error.hw" = 3': 'kinds must be in [kinds."error.hw"]',
    "[kinds.'error.hw']\nxid = 'b'": "xid: exists already",
    "[kinds.'error.hw']\nX = 'b'": "X: must be lower-case letters",
    "[kinds.'error.hw']\nx = 3": "x: must have its meaning as a text",
    "[[line]]\nkind = 'xid'\npattern = 'a'": ":1: contains: is missing",
    GOOD + "colour = 1": ":1: colour: is not a key of a line",
    GOOD.replace("xid", "xidd"): "kind: 'xidd' has no meaning in [kinds]; did you mean xid",
    GOOD.replace("@PCI@", "@PCIE@"): "pattern: is no regular expression: there is no part @PCIE@",
    GOOD.replace("(?P", "((?P"): "pattern: is no regular expression: missing )",
    GOOD.replace("dead", "(a+)+b"): "pattern: takes too long for a line in which 'a' is repeated",
    GOOD.replace("dead", ".*.*.*b"): "pattern: takes too long for a line in which",
    GOOD.replace("dead", "x" * 2001): "pattern: is longer than 2000 characters",
    GOOD.replace("dead", "a" * 9 + "{99999999999}"): "pattern: is no regular expression",
    GOOD + "about = 'gpu'": "about: must be a type and a field",
    GOOD + "about = 'gpu uuid'": "about: there is no field 'uuid'; fields are pci",
    GOOD + "opens = 'cperr'": "opens: 'cperr' has no meaning in [kinds]",
    GOOD + "role = 'first'": "role: must be one of continuation, dropped, ended",
    GOOD + "convert = 'eval'": "convert: must be one of aer_bit",
    GOOD + "convert = ['eval']": "convert: must be one of aer_bit",
    GOOD + "convert = 'mce_status'": "convert: there is no field 'status', which 'mce_status'",
    GOOD + "set = {a = 1}": "set: must be a table of texts",
    GOOD + "user_words = ['me']": "user_words: must be a list of cgroup, comm",
    GOOD + "further_lines = 'yes'": "further_lines: must be true or false",
    GOOD + "fields = 'pci'": "fields: must be a list of texts",
    "[parts]\nA = '@B@'\nB = '@A@'\n" + GOOD.replace("dead", "@A@"): "nested too deeply",
    GOOD * 501: "the last 1 lines are left out: there may be 500 in all",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[-40:])
def test_what_is_wrong_is_refused_with_one_sentence(text: str, tmp_path: Path) -> None:
    """The sentence names file, line and key; lines that are right are used."""
    file = tmp_path / "a.toml"
    file.write_text(text)
    lines, (mistake,) = lines_with((str(tmp_path),))
    assert str(mistake).startswith(f"{file}:")
    assert WRONG[text] in str(mistake)
    assert len(lines.rows) == len(shipped_lines().rows) + 500 * (len(text) > 9_000)


VAGUE = """
[[line]]
kind = "xid"
contains = "acme"
pattern = "acme (?P<code>.*)"
[[line]]
kind = "gpu_uuid"
contains = "name"
pattern = "name (?P<pid>.*)"
[[line]]
contains = "left out"
pattern = "left out (?P<count>.*)"
role = "dropped"
kind = "xid"
[[line]]
kind = "edac"
contains = "dimm"
pattern = "dimm(?: (?P<error_type>CE|UE) (?P<dimm>.*))?"
convert = "edac_class"
"""


def test_a_line_that_says_less_than_its_kind_does_not_end_the_reading(tmp_path: Path) -> None:
    """What an event lacks is not counted, what cannot be converted is counted as malformed."""
    file = tmp_path / "a.toml"
    file.write_text(VAGUE)
    lines, mistakes = lines_with((str(file),))
    assert mistakes == ()
    taker = pipeline(table=Table(lines))
    for text in ("acme dead", "name \u00b2", "left out many", "dimm", "dimm CE A1"):
        taker.take(record(text))
    counters = taker.counters
    assert dict(counters.kinds) == {"xid": 1, "gpu_uuid": 1, "edac": 1}
    assert (counters.xids, counters.gpu_uuids, counters.suppressed) == ({}, {}, 1)
    assert dict(counters.rejected) == {"malformed": 1}


def test_a_file_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    """A directory without files is none."""
    _, (mistake,) = lines_with((str(tmp_path / "none.toml"),))
    assert "cannot be read: No such file" in str(mistake)
    assert lines_with((str(tmp_path),))[1] == ()
