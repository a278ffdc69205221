"""What the tests of pages have in hand."""

from collections.abc import Callable

import pytest

from tests.golden.openmetrics import PAGES


@pytest.fixture
def is_as_expected(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the page of this file name; `--rewrite-golden` writes the page first."""

    def compare(name: str, text: str) -> None:
        path = PAGES / name
        if request.config.getoption("--rewrite-golden"):
            path.write_text(text, "utf-8")
        assert text == path.read_text("utf-8"), f"{name} changed: `make golden`, read the diff"

    return compare
