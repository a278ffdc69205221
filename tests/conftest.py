"""What every test may use."""

import gc
import logging
from collections.abc import Iterator

import pytest

pytest_plugins = ("tests.fakes.fixtures", "tests.processes", "tests.scoreboard.plugin")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-golden` writes the expected pages instead of comparing them.

    `--all-scenes` also plays the scenes that start a driver's library in a child process, and all
    schedules of a driver in trouble.
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
    """Begin with the tests of whole programs: they wait long, while others have work to do."""
    items.sort(key=lambda item: "/system/" not in item.nodeid)


@pytest.fixture(autouse=True)
def _logging_is_on_again() -> Iterator[None]:
    """Let a command that switches the log off do so for its own test only."""
    yield
    logging.disable(logging.NOTSET)
