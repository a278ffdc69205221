"""Keeps `make unit` quick: only tests marked `system` may start a process."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SYSTEM_FOLDERS = {"deploy", "fakes", "gpu", "system"}
"""Folders of tests that are about programs, containers and machines as a whole."""

STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.system"}
"""What Python audits when a process is started (PEP 578)."""


class ProcessStartedError(RuntimeError):
    """A test without the marker `system` has started a process."""


class Guard:
    """Refuses to start a process while a test runs that may not."""

    def __init__(self) -> None:
        self._is_closed = False
        sys.addaudithook(self._audit)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Close the guard for the tests that may start nothing."""
        self._is_closed = item.get_closest_marker("system") is None
        try:
            return (yield)
        finally:
            self._is_closed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        """Open the guard for what is built once for all tests, whichever of them comes first."""
        is_closed = self._is_closed
        self._is_closed = is_closed and fixturedef.scope != "session"
        try:
            return (yield)
        finally:
            self._is_closed = is_closed

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_closed and event in STARTS:
            self._is_closed = False  # the report of the failure may need a process itself
            raise ProcessStartedError(
                f"{arguments[0]} was started: mark the test with pytest.mark.system"
            )


def pytest_configure(config: pytest.Config) -> None:
    """Watch this run."""
    config.pluginmanager.register(Guard(), "processes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in the folders of whole programs."""
    above = len(Path(__file__).parent.parts)
    for item in items:
        parts = item.path.parts[above:]
        if parts[0] in SYSTEM_FOLDERS or "system" in parts:
            item.add_marker(pytest.mark.system)
