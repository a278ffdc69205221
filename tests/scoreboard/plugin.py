"""Ends a run of the tests with one line about the cases of the scoreboard."""

from collections import defaultdict
from collections.abc import Generator

import pytest

from tests.scoreboard.table import function_of, summary


class Scoreboard:
    """Takes down how each test ended."""

    def __init__(self) -> None:
        self._outcomes: defaultdict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test has passed when its body did; it has failed or was skipped in any phase."""
        if report.when == "call" or not report.passed:
            self._outcomes[function_of(report.nodeid)].add(report.outcome)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """The line itself, behind everything else that a run ends with."""
        yield
        if line := summary(self._outcomes):
            terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Watch this run."""
    config.pluginmanager.register(Scoreboard(), "scoreboard")
