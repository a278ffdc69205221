"""What every test may use."""

import gc
import logging
from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path

import pytest

pytest_plugins = ("tests.fakes.fixtures", "tests.processes", "tests.scoreboard.plugin")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-golden` writes the expected pages instead of comparing them.

    `--all-scenes` also plays the scenes that start a driver's library in a child process.
    """
    parser.addoption("--rewrite-golden", action="store_true", help="rewrite the expected pages")
    parser.addoption("--all-scenes", action="store_true", help="also play the scenes with GPUs")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Spare the garbage collector ten thousand tests, which all stay: a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take turns: a file of whole programs, which wait, then a file that only computes.

    Workers that all wait at a time leave the cores idle.
    """
    whole: dict[Path, list[pytest.Item]] = {}
    others: dict[Path, list[pytest.Item]] = {}
    for item in items:
        is_whole = item.get_closest_marker("system") is not None
        (whole if is_whole else others).setdefault(item.path, []).append(item)
    waiting = sorted(whole.values(), key=lambda some: "/system/" not in some[0].nodeid)
    computing = sorted(others.values(), key=lambda some: "/corpus/" not in some[0].nodeid)
    turns = chain.from_iterable(zip_longest(waiting, computing, fillvalue=()))
    items[:] = chain.from_iterable(turns)


@pytest.fixture(autouse=True)
def _logging_is_on_again() -> Iterator[None]:
    """Let a command that switches the log off do so for its own test only."""
    yield
    logging.disable(logging.NOTSET)
