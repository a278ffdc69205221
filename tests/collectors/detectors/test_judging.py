"""The detectors in the program: when they are built, what is kept, and when they are trained."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from exporter.config import Config, DetectorsConfig, State
from tests.test_rule_runner import OF_FAULTS, config, judging, snapshot

T = TypeVar("T")


def detectors(*wanted: str) -> DetectorsConfig:
    """The settings with these detectors on."""
    return replace(Config().detectors, **dict.fromkeys(wanted, True))


@pytest.mark.parametrize("wanted", [(), ("siblings",), ("anomaly",), ("siblings", "anomaly")])
def test_each_detector_is_there_where_it_is_on(tmp_path: Path, wanted: tuple[str, ...]) -> None:
    """One alone is enough; without any nothing is loaded for them."""
    runner = judging(config(tmp_path, detectors=detectors(*wanted)))
    assert (runner._detectors is not None) is bool(wanted)


@pytest.mark.parametrize(("wanted", "files"), [((), []), (("siblings",), ["detectors.json"])])
async def test_what_detectors_have_learned_is_kept_where_they_are_on(
    tmp_path: Path, wanted: tuple[str, ...], files: list[str]
) -> None:
    """In a file of its own, beside that of the faults, which is written when there is one."""
    judge = judging(config(tmp_path, detectors=detectors(*wanted)))
    await judge.conclude(snapshot(100.0))
    await judge.close()
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == files
    await judge.conclude(snapshot(101.0, 90.0))
    await judge.close()
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == [
        *files,
        *OF_FAULTS,
    ]


async def test_without_a_folder_nothing_that_was_learned_is_written(tmp_path: Path) -> None:
    """Neither faults nor what was learned: a judgement is the only call that is made."""
    calls = 0

    async def counted(function: Callable[[], T]) -> T:
        nonlocal calls
        calls += 1
        return function()

    made = replace(config(tmp_path, detectors=detectors("siblings")), state=State())
    judge = judging(made, counted)
    assert (await judge.conclude(snapshot(100.0, 90.0))).active
    await judge.close()
    assert calls == 2  # the judgement, and a look whether there is anything to fit


async def test_one_fit_at_a_time(tmp_path: Path) -> None:
    """While one goes on judgements begin no other; the next one after it does."""
    calls, is_quick = 0, asyncio.Event()

    async def second_is_slow(function: Callable[[], T]) -> T:
        nonlocal calls
        calls += 1
        if calls == 2:
            await is_quick.wait()
        return function()

    made = replace(config(tmp_path, detectors=detectors("siblings")), state=State())
    judge = judging(made, second_is_slow)
    for number in range(3):
        await judge.conclude(snapshot(100.0 + number))
        await asyncio.sleep(0)
    assert calls == 4  # three judgements, and the fit after the first
    is_quick.set()
    await asyncio.sleep(0.01)
    await judge.conclude(snapshot(104.0))
    await asyncio.sleep(0.01)
    assert calls == 6
