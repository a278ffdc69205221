"""The recordings themselves: enough of them, labels that name rules, the same in both formats."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.collectors.everything import EVERYTHING, rule_book
from exporter.faults.replay.steps import listed, merge
from tests.corpus.cases import (
    BATCHES,
    BENCHMARK,
    CASES,
    Case,
    Tree,
    case_of,
    folders,
    labels_of,
    readable,
)
from tests.corpus.publish import plain


def test_there_are_enough_recordings() -> None:
    """At least forty incidents and twenty healthy nodes, each with a name of its own."""
    assert sum(case.is_incident for case in CASES) >= 40
    assert sum(not case.is_incident for case in CASES) >= 20
    assert len({case.name for case in CASES}) == len(CASES)


def test_a_label_speaks_of_rules_that_exist() -> None:
    """A fault that is expected names a shipped rule: a renamed one would be missed in silence."""
    known = {rule.id for rule in rule_book().rules}
    labels = {label for case in CASES for label in (*case.expect, *case.root)}
    assert len(labels) > 100
    unknown = {
        label
        for label in labels
        if not any(each.partition("@")[0] in known for each in label.split("|"))
    }
    assert unknown == set()


BY_NAME = {case.name: case for case in CASES}


def test_there_is_a_folder_for_each_batch() -> None:
    """Some hundred recordings can be read, of all batches; none lacks its labels."""
    assert {folder.name for folder in folders()} == BATCHES.keys()
    names = [case.name for folder in folders() for case in readable(folder)]
    files = [path.stem for path in BENCHMARK.parent.glob("2*/*.jsonl") if path.stem != "labels"]
    assert sorted(names) == sorted(files)
    assert 350 <= len(names) <= 1500  # those of the newest batches until they join the benchmark


@pytest.mark.slow
@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_a_readable_recording_is_that_of_the_benchmark(folder: Path) -> None:
    """Its labels are the same, and at each moment so are readings, reports and events."""
    for case in readable(folder):
        of_benchmark = BY_NAME[case.name]
        assert replace(case, text="") == replace(of_benchmark, text="")
        for own, other in zip(_moments(case), _moments(of_benchmark), strict=True):
            assert own == other, case.name


def test_a_recording_is_published_as_it_is_read() -> None:
    """Its labels, and a line for each moment of its steps."""
    case = next(readable(BENCHMARK.parent / "2026-11-30-g"))
    text = "\n".join(plain(case))
    assert case_of(labels_of(case), case.batch, text) == case
    assert text.splitlines() == BY_NAME[case.name].recording()


def _moments(case: Case) -> Iterator[list[object]]:
    """Yield what each line changes, with the whole of the readings that it touches."""
    readings: Tree = {}
    reports: Tree = {}
    steps = EVERYTHING.recordings.steps
    lines = map(json.loads, case.recording())
    for row in (moment for line in lines for moment in steps.moments(line)):
        merge(readings, row["readings"])
        merge(reports, row.get("reports", {}))
        touched = [name for name in sorted(row["readings"]) if name in readings]
        events = [listed(row.get("kernel")), listed(row.get("xid"))]
        yield [
            row["at"],
            events,
            *(json.dumps(it) for it in (reports, *map(readings.get, touched))),
        ]
