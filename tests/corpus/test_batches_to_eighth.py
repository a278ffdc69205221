"""The batches up to the eighth."""

import pytest

from tests.corpus.promises import test_the_figures_hold, test_what_is_said_holds

__all__ = ["test_the_figures_hold", "test_what_is_said_holds"]
pytestmark = pytest.mark.slow
JUDGED = (
    "2026-11-20",
    "2026-11-21-a",
    "2026-11-21-b",
    "2026-11-22-a",
    "2026-11-22-b",
    "2026-11-22-c",
    "2026-11-22-d",
    "2026-11-22-e",
)
