"""The table of cases is about tests that exist, and counts honestly."""

import re
from pathlib import Path

import pytest

from tests.program import ROOT
from tests.scoreboard.table import FOLDER, TOPICS, Case, cases, function_of, summary, verdict

CASE = Case("a", "It breaks.", "Nothing.", "It goes on.", ("t.py::one", "t.py::two"))


def _tests_in(path: Path) -> set[str]:
    return set(re.findall(r"^(?:async )?def (\w+)", path.read_text("utf-8"), re.MULTILINE))


def test_every_test_of_the_table_exists() -> None:
    """A test that is renamed or removed takes its promise along, unless the table follows."""
    for case in cases():
        assert case.tests, case.name
        for test in case.tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).is_file(), f"{case.name}: {path}"
            assert name in _tests_in(ROOT / path), f"{case.name}: {test}"


def test_every_case_has_its_own_name_and_says_all() -> None:
    """Names are there once, and each case tells what breaks, what it costs and what is promised."""
    names = [case.name for case in cases()]
    assert len(names) == len(set(names))
    for case in cases():
        for text in (case.case, case.data, case.promise):
            assert text.endswith("."), case.name
            assert "|" not in text, case.name


def test_no_file_is_forgotten() -> None:
    """Every file of cases beside the table is in the list."""
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(TOPICS)


@pytest.mark.parametrize(
    ("one", "two", "word"),
    [
        ({"passed"}, {"passed"}, "passed"),
        ({"passed"}, {"passed", "skipped"}, "passed"),
        ({"passed"}, {"skipped"}, "skipped"),
        ({"passed"}, {"passed", "failed"}, "failed"),
        ({"failed"}, set(), "failed"),
        ({"passed"}, set(), "not run"),
    ],
)
def test_a_case_is_as_good_as_its_worst_test(one: set[str], two: set[str], word: str) -> None:
    """It has passed when each of its tests did; one that was skipped is never counted as good."""
    assert verdict(CASE, {"t.py::one": one, "t.py::two": two}) == word


def test_runs_of_one_test_are_one() -> None:
    """Parameters belong to the test."""
    assert function_of("t.py::one[a::b]") == "t.py::one"


def test_the_line_names_what_did_not_pass() -> None:
    """Skipped and failed cases are named; a run without any case says nothing."""
    first, second, third = cases()[:3]
    outcomes = {test: {"passed"} for case in (first, second, third) for test in case.tests}
    outcomes[second.tests[-1]] = {"skipped"}
    outcomes[third.tests[0]] = {"failed"}
    rest = len(cases()) - 3
    assert summary(outcomes) == (
        f"scoreboard: 1 of 3 cases passed, 1 failed: {third.name}, 1 skipped: {second.name}, "
        f"{rest} not in this run"
    )
    assert summary({}) == ""
