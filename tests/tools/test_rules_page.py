"""docs/RULES.md: every rule and every name is on it, in tables that do not break."""

import re
from pathlib import Path

import pytest

from exporter.collectors.everything import VOCABULARY, rule_book
from tests.faults.scenes import VOCABULARY as SMALL
from tests.faults.scenes import book, rule
from tools.rules_page import rules_page

PAGE = rules_page(rule_book().rules, VOCABULARY)


def test_every_rule_has_one_row() -> None:
    """A row of eight cells, linked to its runbook."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| [")]
    assert len(rows) == len(rule_book().rules)
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {10}


def test_every_name_is_there() -> None:
    """Who writes a rule finds what can be spoken of."""
    for kind, names in VOCABULARY.names.items():
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {kind} |")]
        of_all = ("probe_", "repeated_")
        assert all(f"`{name}" in row for name in names if not name.startswith(of_all))
    assert "`probe_value[]` and `probe_metric[]`" in PAGE
    assert "`repeated_fault` and `repeated_faults`" in PAGE
    assert re.search(r"^Events: .*`nfs_not_responding`.*\.$", PAGE, re.MULTILINE)
    assert "| kind | fields |\n|---|---|\n" in PAGE
    assert re.search(r"^\| cpu \| [a-z ]*events[a-z ]* \|$", PAGE, re.MULTILINE)


def test_tables_are_apart() -> None:
    """A heading begins behind an empty line: a table would swallow it."""
    lines = PAGE.splitlines()
    headings = [place for place, line in enumerate(lines) if line.startswith("## ")]
    assert len(headings) > 3
    assert {lines[place - 1] for place in headings} == {""}


def rows(folder: Path, *rules: str) -> list[str]:
    """The rows of the tables about these rules."""
    written = rules_page(book(folder, "".join(rules)).rules, SMALL)
    return [line for line in written.splitlines() if line.startswith(("| [", "| one", "| two"))]


def test_a_row_says_when_a_rule_begins_and_ends(tmp_path: Path) -> None:
    """With its gate, what it may become, and each cause once."""
    causes = [{"rule": "two", "via": via} for via in ("same", "node")]
    one = rule(
        "one",
        "gpu",
        "heat > 85\\n  or up",
        escalate="up",
        only_if="known(heat)",
        explained_by=causes,
        **{"for": "90s", "clear": "heat < 80", "clear_for": "5m"},
    )
    two = rule("two", "gpu", "state != '|'", runbook="other")
    first = "| [one](runbooks/rules.md#one) | gpu | warning; critical if `up` | `heat > 85 or up`; "
    second = "| [two](runbooks/rules.md#other) | gpu | warning | `state != '\\|'` | 0s | "
    assert rows(tmp_path, one, two) == [
        f"{first}only if `known(heat)` | 90s | `heat < 80`, 5m | two | none |",
        f"{second}the condition is false, 0s |  | none |",
    ]


XID = "`xid` | kernel_log or nvml or xid_tracepoint"


@pytest.mark.parametrize(
    ("when", "more", "row"),
    [
        ("events(xid, within=5m) > 0", {"clear": "up"}, f"{XID} | `up`"),
        (
            "events(io_error, ended=no, within=5m) > 0",
            {},
            "`io_error` | a probe | the line that reports the end",
        ),
        (
            "events(hung_task, within=5m) > 0",
            {"ends_by_time": "nobody says it"},
            "`hung_task` | kernel_log | time: nobody says it",
        ),
        (
            "events(hung_task, within=5m) + events(xid, within=5m) > 0",
            {"until": ["gpu_lost", "xid"]},
            f"`hung_task`, {XID} | `gpu_lost`, `xid`",
        ),
        (
            "events(xid, within=5m) > 0",
            {"until": ["gpu_lost"], "clear": "state == '|'"},
            f"{XID} | `gpu_lost`; `state == '\\|'`",
        ),
        ("events(xid, within=5m) > 0", {}, f"{XID} | the end of its condition"),
    ],
)
def test_what_ends_a_fault_from_events_is_said(
    tmp_path: Path, when: str, more: dict[str, object], row: str
) -> None:
    """Its own condition, what repairs it, the line that ends it, or time and why."""
    assert f"| one | {row} |" in rows(tmp_path, rule("one", "gpu", when, **more))
