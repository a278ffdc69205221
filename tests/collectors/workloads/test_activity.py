"""Which processes compute, read or write."""

from pathlib import Path

import pytest

from exporter.collectors.workloads.activity import WINDOW_SECS, Activity
from exporter.collectors.workloads.processes import ProcessFacts
from exporter.reading.cgroup import NOBODY

PID = 42
MEGABYTE = 1_000_000


def facts(cpu_secs: float) -> ProcessFacts:
    """The process after so much processor time."""
    return ProcessFacts(PID, "trainer", "sleeping", 1.0, NOBODY, cpu_secs=cpu_secs)


def moved(proc: Path, read: int, written: int) -> None:
    """The process has read and written so many bytes."""
    (proc / str(PID)).mkdir(exist_ok=True)
    lines = (f"rchar: {read}", f"wchar: {written}", "syscr: 9", "read_bytes: 77")
    (proc / str(PID) / "io").write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("cpu_secs", "read", "written", "is_busy"),
    [
        (0.1, 0, 0, False),
        (1.0, 0, 0, False),
        (1.4, 0, 0, True),
        (0.0, 3 * MEGABYTE, 2 * MEGABYTE, False),
        (0.0, 4 * MEGABYTE, 3 * MEGABYTE, True),
    ],
)
def test_a_process_is_busy_by_its_processor_or_its_bytes(
    tmp_path: Path, cpu_secs: float, read: int, written: int, *, is_busy: bool
) -> None:
    """More than a fifth of a processor, or a megabyte a second read and written together."""
    activity = Activity(tmp_path)
    moved(tmp_path, 500, 500)
    assert activity.look([facts(100.0)], 0.0) == {}
    moved(tmp_path, 500 + read, 500 + written)
    assert activity.look([facts(100.0 + cpu_secs)], WINDOW_SECS) == {PID: is_busy}


@pytest.mark.parametrize(("waited_secs", "is_busy"), [(1.0, False), (1.1, True)])
def test_a_process_that_gets_no_cpu_is_busy(
    tmp_path: Path, waited_secs: float, *, is_busy: bool
) -> None:
    """On a full node it is ready most of the time and computes little of it."""
    activity = Activity(tmp_path)
    schedstat = tmp_path / str(PID) / "schedstat"
    schedstat.parent.mkdir()
    schedstat.write_text("5000000000 7000000000 31\n")
    assert activity.look([facts(100.0)], 0.0) == {}
    schedstat.write_text(f"5150000000 {7_000_000_000 + waited_secs * 1e9:.0f} 77\n")
    assert activity.look([facts(100.15)], WINDOW_SECS) == {PID: is_busy}


@pytest.mark.parametrize("text", ["", "1", "1 -5 2", "a b c", "\x00", f"1 {'9' * 400} 2"])
def test_a_strange_schedstat_counts_nothing(tmp_path: Path, text: str) -> None:
    """Only processor time decides then."""
    activity = Activity(tmp_path)
    (tmp_path / str(PID)).mkdir()
    (tmp_path / str(PID) / "schedstat").write_text(text)
    for at in (0.0, WINDOW_SECS):
        busy = activity.look([facts(at)], at)
    assert busy == {PID: True}


def test_the_last_window_counts(tmp_path: Path) -> None:
    """One that stops is not busy any more after the next window; until then it is as before.

    Without bytes that we may see processor time alone decides.
    """
    activity = Activity(tmp_path)
    for at in (0.0, WINDOW_SECS):
        busy = activity.look([facts(at)], at)
    assert busy == {PID: True}
    for at in (WINDOW_SECS + 2, WINDOW_SECS + 4):
        assert activity.look([facts(WINDOW_SECS)], at) == {PID: True}
    assert activity.look([facts(WINDOW_SECS)], 2 * WINDOW_SECS) == {PID: False}


def test_a_process_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    """Another process of its number begins anew."""
    activity = Activity(tmp_path)
    for at in (0.0, WINDOW_SECS):
        activity.look([facts(at)], at)
    assert activity.look([], WINDOW_SECS) == {}
    assert activity.look([facts(1.0)], 2 * WINDOW_SECS) == {}
