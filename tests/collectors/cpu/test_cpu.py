"""Processors: what `/proc/stat` and the topology say."""

from pathlib import Path

import pytest

from exporter.collectors.cpu.usage import (
    CpuReader,
    CpuTimes,
    count_cores,
    parse_stat,
    usage_percent,
)
from exporter.reading.source import SourceFailed
from tests.collectors.small_node import SmallNode

STAT = """cpu  100 5 50 800 40 3 2 0 7 0
cpu0 50 2 25 400 20 2 1 0 3 0
cpu1 50 3 25 400 20 1 1 0 4 0
intr 123 0 0
ctxt 456
btime 1700000000
"""


def test_times_are_summed_and_iowait_is_idle() -> None:
    """Guest time is in user time already and is not counted twice."""
    times = parse_stat(STAT)
    assert (times.busy, times.total, times.threads) == (160, 1000, 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "intr 1",
        "cpu",
        "cpu  1 2 3\ncpu0 1 2 3",
        "cpu  a b c d e f\ncpu0 1 2 3 4 5",
        "cpu  1 2 3 4 5 6 7 8\n",
        "cpu  -1 2 3 4 5\ncpu0 1 2 3 4 5",
        "\x00\xff garbage",
    ],
)
def test_garbage_is_a_failure_and_never_a_number(text: str) -> None:
    """What cannot be read says so in the words of a source."""
    with pytest.raises(SourceFailed):
        parse_stat(text)


@pytest.mark.parametrize(
    ("before", "now", "percent"),
    [
        (None, CpuTimes(160, 1000, 2), None),
        (CpuTimes(100, 1000, 2), CpuTimes(150, 1100, 2), 50.0),
        (CpuTimes(100, 1000, 2), CpuTimes(100, 1100, 2), 0.0),
        (CpuTimes(100, 1000, 2), CpuTimes(100, 1000, 2), None),
        (CpuTimes(100, 1000, 4), CpuTimes(150, 1100, 2), None),
        (CpuTimes(100, 1000, 2), CpuTimes(90, 900, 2), None),
        (CpuTimes(100, 1000, 2), CpuTimes(90, 1100, 2), 0.0),
        (CpuTimes(100, 1000, 2), CpuTimes(300, 1100, 2), 100.0),
    ],
)
def test_usage_is_over_our_own_interval(
    before: CpuTimes | None, now: CpuTimes, percent: float | None
) -> None:
    """Absent before the second sample, when a processor went, and when time stood still."""
    assert usage_percent(before, now) == percent


def test_cores_are_counted_by_their_siblings(node: SmallNode) -> None:
    """Two threads of one core are one core."""
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        node.write(f"sys/cpu{cpu}/topology/thread_siblings_list", f"{siblings}\n")
    assert count_cores(node.sys) == 2


def test_without_a_topology_cores_are_not_said(node: SmallNode) -> None:
    """They are absent with a reason, never zero."""
    node.write("proc/stat", STAT)
    reading = CpuReader(node.proc, node.sys).read()
    assert reading.value.cores is None
    assert [missing.field for missing in reading.missing] == ["cores", "load"]
    assert (reading.value.threads, reading.value.usage_percent) == (2, None)


def test_used_cores_follow_the_usage(tmp_path: Path) -> None:
    """The second look says how many of the two processors were busy."""
    (tmp_path / "stat").write_text(STAT)
    reader = CpuReader(tmp_path, tmp_path)
    reader.read()
    (tmp_path / "stat").write_text(STAT.replace("cpu  100", "cpu  175").replace(" 800 ", " 825 "))
    cpu = reader.read().value
    assert (cpu.usage_percent, cpu.used_cores) == (75.0, 1.5)


def test_seconds_are_by_mode_and_load_is_beside_them(tmp_path: Path) -> None:
    """Ticks become seconds; guest time is in user time already."""
    (tmp_path / "stat").write_text(STAT + "procs_running 3\nprocs_blocked 1\n")
    (tmp_path / "loadavg").write_text("0.50 1.25 2.00 3/456 7890\n")
    cpu = CpuReader(tmp_path, tmp_path).read().value
    seconds = dict(cpu.seconds)
    assert (seconds["user"], seconds["idle"], seconds["iowait"]) == (1.0, 8.0, 0.4)
    assert (cpu.load1, cpu.load5, cpu.load15) == (0.5, 1.25, 2.0)
    assert (cpu.context_switches, cpu.boot_time) == (456, 1700000000)
    assert (cpu.processes_running, cpu.processes_blocked) == (3, 1)


def test_idle_time_that_steps_back_is_held(tmp_path: Path) -> None:
    """Kernels take back a little idle time, or all of one processor: the sum is not reset."""
    reader = CpuReader(tmp_path, tmp_path)
    idle = []
    for ticks in (800, 790, 805, 10, 110):
        (tmp_path / "stat").write_text(STAT.replace(" 800 ", f" {ticks} "))
        idle.append(dict(reader.read().value.seconds)["idle"])
    assert idle == pytest.approx([8.0, 8.0, 8.05, 8.05, 9.05])


@pytest.mark.parametrize("text", ["", "x y z", "-1 nan inf", "0.1"])
def test_a_load_of_garbage_is_not_said(tmp_path: Path, text: str) -> None:
    """What is a number is kept, nothing else becomes one."""
    (tmp_path / "stat").write_text(STAT)
    (tmp_path / "loadavg").write_text(text)
    cpu = CpuReader(tmp_path, tmp_path).read().value
    assert cpu.load1 in (None, 0.1)
    assert (cpu.load5, cpu.load15) == (None, None)


def test_processors_that_go_and_come_back_cause_no_jump(tmp_path: Path) -> None:
    """From four to two and back: neither use nor seconds are said across the change."""
    reader = CpuReader(tmp_path, tmp_path)
    seen = []
    for threads, user in ((4, 1000), (2, 10), (2, 30), (4, 1040), (4, 1050)):
        lines = "".join(f"cpu{number} 1 1 1 1 1\n" for number in range(threads))
        (tmp_path / "stat").write_text(f"cpu  {user} 0 0 {user * 3} 0 0 0 0\n{lines}")
        seen.append(reader.read().value)
    assert [cpu.usage_percent for cpu in seen] == [None, None, 25.0, None, 25.0]
    users = [dict(cpu.seconds)["user"] for cpu in seen]
    assert users == pytest.approx([10.0, 10.0, 10.2, 10.2, 10.3])
