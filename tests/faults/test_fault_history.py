"""The history of faults: 14 days, bounded, over kills, full disks and damaged files."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.collectors import chosen
from exporter.config import Config
from exporter.faults.engine import RuleEngine
from exporter.faults.fault_history import (
    MAX_BYTES,
    MAX_OF_ONE_FAULT,
    MAX_ROWS,
    RETURN_SECS,
    FaultHistory,
    load,
    state_file,
)
from exporter.faults.replay.snapshots import SnapshotReader
from exporter.model.transition import KEPT_SECS, Transition
from exporter.model.verdict import Conclusions, Fault, Subject
from exporter.reports.faults import lasted
from exporter.reports.units import times_text
from tests.faults.conclusions import GPU, NODE, fault

WALL = 1_700_000_000.0
HOT = fault("gpu_hot", GPU, "critical")


def said(history: FaultHistory, at: float, *faults: Fault) -> Conclusions:
    """Take faults that are active at this second of a boot."""
    return history.take(Conclusions(faults=faults), WALL + at, at)


def changes(history: FaultHistory) -> list[tuple[float, str, str, str]]:
    """Return time, change, rule and severity of all rows."""
    return [(row.at - WALL, row.change, row.rule, row.severity) for row in history.rows]


def saved(history: FaultHistory, folder: Path) -> FaultHistory:
    """Save a history and load it in the next process."""
    assert state_file(folder).save(history.pending_text() or "")
    return load(state_file(folder))


def test_what_begins_ends_and_changes_is_noted_once() -> None:
    """One row for each transition, and none while nothing changes."""
    history = FaultHistory()
    worse = fault("gpu_hot", GPU, "critical")
    said(history, 0, fault("gpu_hot", GPU))
    said(history, 15, fault("gpu_hot", GPU))
    said(history, 30, worse)
    said(history, 45)
    said(history, 60)
    assert changes(history) == [
        (0, "began", "gpu_hot", "warning"),
        (30, "severity", "gpu_hot", "critical"),
        (45, "ended", "gpu_hot", "critical"),
    ]
    spans = lasted(history.rows, WALL + 60)
    assert spans == [(("gpu_hot", "gpu", "GPU-a"), "critical", WALL, WALL + 45)]


def test_a_fault_says_how_often_it_began() -> None:
    """The third beginning within 14 days is the third time; after that they are forgotten."""
    history = FaultHistory()
    times = []
    for day in (0, 5, 10, 22):
        times.append(said(history, day * 86_400, HOT).faults[0].times)
        said(history, day * 86_400 + 60)
    assert times == [1, 2, 3, 2]
    assert (times_text(1), times_text(3)) == ("", "third time in 14 days")


def test_a_restart_goes_on_with_the_same_fault(tmp_path: Path) -> None:
    """What is still there began before; what is not seen again for five minutes has ended."""
    first = FaultHistory()
    said(first, 0, HOT, fault("node_full", NODE))
    history = saved(first, tmp_path)
    again = said(history, 100)
    assert (len(again.history), again.faults) == (2, ())
    said(history, 110, HOT)
    said(history, 100 + RETURN_SECS, HOT)
    assert changes(history) == [
        (0, "began", "gpu_hot", "critical"),
        (0, "began", "node_full", "warning"),
        (400, "ended", "node_full", "warning"),
    ]


def test_a_long_id_is_the_same_after_a_restart(tmp_path: Path) -> None:
    """Rows have the beginning of an id, such as the path of a volume of a pod."""
    share = Subject("filesystem", "filesystem", "nfs:/" + "volume/" * 40, "share")
    full = fault("node_full", share)
    first = FaultHistory()
    for at in (0, 100):
        assert said(first, at, full).faults[0].times == 1 + at // 100
        said(first, at + 50)
    said(first, 200, full)
    history = saved(first, tmp_path)
    assert said(history, 300, full).faults[0].times == 3
    said(history, 300 + RETURN_SECS, full)
    assert history.rows == first.rows


def test_a_fault_that_must_hold_for_long_does_not_begin_again_at_a_restart(tmp_path: Path) -> None:
    """A filesystem that is full for ten minutes before it is told was full all the time."""
    nearly_full = {"free_bytes": 10**9, "available_bytes": 10**9}
    steps = [
        {"base": "h100_8"},
        {"set": {"Filesystems.filesystems./data": nearly_full}, "wait": 1000, "every": 15},
    ]
    collectors, history = chosen(Config()), FaultHistory()
    book = collectors.rule_book_for(Config())
    snapshots = [*SnapshotReader(collectors.recordings).snapshots(map(json.dumps, steps))]
    for start in (0.0, 1000.0):
        history = saved(history, tmp_path) if start else history
        engine = RuleEngine(book, collectors.subjects, time.perf_counter, "boot", history=history)
        for seen in snapshots:
            at, since_boot = seen.taken_at + start, seen.taken_boottime + start
            found = engine.conclude(replace(seen, taken_at=at, taken_boottime=since_boot))
        assert [(it.rule, it.times) for it in found.active] == [("filesystem_full", 1)]
    said(history, 10**6)
    assert [row.change for row in history.rows] == ["began", "ended"]


def test_it_is_bounded_in_rows_bytes_and_time(tmp_path: Path) -> None:
    """Flapping costs no other fault; hostile names cost old rows; fourteen days are kept."""
    history = FaultHistory()
    said(history, 0, fault("node_full", NODE))
    said(history, 1)
    for second in range(2, 4 * MAX_OF_ONE_FAULT, 2):
        said(history, second, HOT)
        said(history, second + 1)
    assert len(history.rows) == MAX_OF_ONE_FAULT + 2
    wide = "\U0001f525" * 500
    for first in range(0, MAX_ROWS, 100):
        these = [Subject("gpu", "gpu", f"{it}{wide}", wide) for it in range(first, first + 100)]
        said(history, 600 + first, *(fault("gpu_hot", it, summary=wide) for it in these))
    assert len(history.rows) == MAX_ROWS
    text = history.pending_text() or ""
    assert MAX_BYTES - 5000 < len(text) <= MAX_BYTES
    assert state_file(tmp_path).save(text)
    assert load(state_file(tmp_path)).rows[-1] == history.rows[-1]
    said(history, KEPT_SECS + 10_000)
    assert {row.change for row in history.rows} == {"ended"}


def test_a_row_leaves_after_fourteen_days_also_where_nothing_changes() -> None:
    """Each at its time; if the clock is set back, it is there again."""
    history = FaultHistory()
    said(history, 0, HOT)
    said(history, 50)
    lasting = Conclusions(faults=(fault("node_full", NODE),))
    looks = ((100, 3), (KEPT_SECS - 1, 3), (KEPT_SECS + 1, 2), (KEPT_SECS + 51, 1), (200, 3))
    for at, left in looks:
        assert len(history.take(lasting, WALL + at, at).history) == left


def test_a_clock_that_is_wrong_for_a_moment_costs_nothing(tmp_path: Path) -> None:
    """Years ahead or behind, also over a restart: only transitions near the time are shown."""
    history = FaultHistory()
    for at in (0, 100, 200):
        said(history, at, HOT)
        said(history, at + 50)
    for years in (70, -50):
        wrong = years * 365 * 86_400
        assert said(history, wrong, HOT).faults[0].times == 1
        said(history, wrong + 50)
    for seen in (history, saved(history, tmp_path)):
        assert said(seen, 300, HOT).faults[0].times == 4
        assert [at for at, *_ in changes(seen)] == [0, 50, 100, 150, 200, 250, 300]


ROW = [*Transition(WALL, "began", "gpu_hot", "info", "gpu", "gpu", "a", "a", True, "hot")]  # noqa: FBT003 - as it is in the file


@pytest.mark.parametrize(
    "line",
    [
        *("", "{", "null", "[]", "[1]", "\x00\x00", "[" * 10_000, json.dumps(ROW)[:40]),
        json.dumps([float("nan"), *ROW[1:]]),
        json.dumps([True, *ROW[1:]]),
        json.dumps(["soon", *ROW[1:]]),
        json.dumps([*ROW[:8], "yes", *ROW[9:]]),
        json.dumps([1e300, *ROW[1:]]),
        json.dumps([*ROW[:1], "exploded", *ROW[2:]]),
        json.dumps([*ROW[:3], "loud", *ROW[4:]]),
        json.dumps([*ROW[:-1], 5]),
        json.dumps([*ROW[:-1], "x" * 1000]),
    ],
)
def test_a_damaged_line_costs_itself(tmp_path: Path, line: str) -> None:
    """The lines before and after it are kept."""
    good = json.dumps(ROW)
    (tmp_path / "fault_history.jsonl").write_text(f"{good}\n{line}\n{good}\n{good[:30]}")
    (tmp_path / "fault_history.jsonl").chmod(0o600)
    assert len(load(state_file(tmp_path)).rows) == 2


def test_bytes_that_are_no_text_cost_their_line(tmp_path: Path) -> None:
    """A block of a broken disk does not lose the rest."""
    good = json.dumps(ROW).encode()
    (tmp_path / "fault_history.jsonl").write_bytes(good + b"\n\xff\xfe\x00garbage\n" + good + b"\n")
    assert len(load(state_file(tmp_path)).rows) == 2
