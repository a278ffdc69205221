"""The ninth and the tenth batch."""

import pytest

from tests.corpus.promises import test_the_figures_hold, test_what_is_said_holds

__all__ = ["test_the_figures_hold", "test_what_is_said_holds"]
pytestmark = pytest.mark.slow
JUDGED = (
    "2026-11-22-f",
    "2026-11-22-g",
)
