"""What every test may use."""

import pytest

pytest_plugins = ("tests.fakes.fixtures", "tests.processes", "tests.scoreboard.plugin")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-golden` writes the expected pages instead of comparing them."""
    parser.addoption("--rewrite-golden", action="store_true", help="rewrite the expected pages")
