"""The judge in the program: what is kept over a restart, and what a bad disk costs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from exporter.config import Config, Faults, Sources, State
from exporter.judging import Judging
from exporter.model.kernel_log import KernelLog
from exporter.model.snapshot import Snapshot
from tests.faults.scenes import event

T = TypeVar("T")


async def at_once(function: Callable[[], T]) -> T:
    """How a blocking function is called here."""
    await asyncio.sleep(0)
    return function()


def call(function: Callable[[], T]) -> Awaitable[T]:
    """The same as an awaitable, as the program has it."""
    return at_once(function)


def config(folder: Path, **more: object) -> Config:
    """A configuration that keeps its state here."""
    (folder / "proc/sys/kernel/random").mkdir(parents=True, exist_ok=True)
    (folder / "proc/sys/kernel/random/boot_id").write_text("boot-1\n")
    (folder / "state").mkdir(exist_ok=True)
    made = Config(
        sources=Sources(proc_root=str(folder / "proc")), state=State(dir=str(folder / "state"))
    )
    return replace(made, **more)  # type: ignore[arg-type]  # fields by name


def snapshot(now: float, *oopses: float) -> Snapshot:
    """A snapshot in which the kernel has told of these errors of its own."""
    events = tuple(
        replace(event("kernel_oops", at, ("node", "")), number=number)
        for number, at in enumerate(oopses, start=1)
    )
    log = KernelLog("kmsg", "ok", 0, 0, 0, events=events)
    return Snapshot("n", 1, 1e9 + now, now, 0.1, readings={KernelLog: log})


def judging(made: Config) -> Judging:
    """The judge of this configuration."""
    return Judging(made, call, stopwatch=lambda: 0.0)


async def test_a_fault_is_kept_over_a_restart(tmp_path: Path) -> None:
    """The next process of this boot shows the same fault since the same moment."""
    first = judging(config(tmp_path))
    said = first.conclude(snapshot(100.0, 90.0))
    (fault,) = said.active
    await asyncio.sleep(0.01)
    (again,) = judging(config(tmp_path)).conclude(snapshot(200.0)).active
    assert (again.rule, again.since) == (fault.rule, fault.since)


async def test_what_is_said_during_a_write_is_written_before_the_end(tmp_path: Path) -> None:
    """A fault that is found while the disk is slow is kept when the program is stopped then."""
    disk_answers = asyncio.Event()

    async def slowly(function: Callable[[], T]) -> T:
        await disk_answers.wait()
        return function()

    made = config(tmp_path)
    judge = Judging(made, slowly, stopwatch=lambda: 0.0)
    judge.conclude(snapshot(100.0, 90.0))
    await asyncio.sleep(0)
    judge.conclude(snapshot(101.0, 90.0, 100.5))
    disk_answers.set()
    await judge.close()
    assert "100.5" in (tmp_path / "state/faults.json").read_text()
    (again,) = judging(made).conclude(snapshot(200.0)).active
    assert again.rule == "kernel_oops"


async def test_a_judge_that_keeps_nothing_ends_at_once(tmp_path: Path) -> None:
    """Without a directory for state there is nothing to wait for."""
    await judging(replace(config(tmp_path), state=State())).close()


async def test_another_boot_begins_anew(tmp_path: Path) -> None:
    """What was kept of another boot is not shown."""
    made = config(tmp_path)
    judging(made).conclude(snapshot(100.0, 90.0))
    await asyncio.sleep(0.01)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("boot-2\n")
    assert not judging(made).conclude(snapshot(200.0)).active


async def test_a_directory_that_cannot_be_written_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Judging goes on without keeping anything."""
    made = replace(config(tmp_path), state=State(dir=str(tmp_path / "none")))
    judge = judging(made)
    for number in range(3):
        said = judge.conclude(snapshot(100.0 + number, *(90.0 + n for n in range(number + 1))))
        await asyncio.sleep(0.01)
    assert said.active
    assert sum("cannot be kept" in record.message for record in caplog.records) == 1


async def test_mistakes_in_rules_are_logged_and_the_rest_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A bad file of the operator leaves the shipped rules."""
    (tmp_path / "bad.toml").write_text("[[rule]]\nid = 5\n")
    made = replace(config(tmp_path), faults=Faults(rules_dirs=(str(tmp_path / "bad.toml"),)))
    said = judging(made).conclude(snapshot(100.0))
    assert said.rules_loaded > 60
    assert dict(said.rules_skipped)["invalid"] == 1
    assert any("bad.toml" in record.message for record in caplog.records)
