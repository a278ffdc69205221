"""The batches since the eleventh, of newer sources too."""

import pytest

from tests.corpus.promises import test_the_figures_hold, test_what_is_said_holds

__all__ = ["test_the_figures_hold", "test_what_is_said_holds"]
pytestmark = pytest.mark.slow
JUDGED = (
    "2026-11-22-h",
    "2026-11-22-i",
    "2026-11-22-j",
    "2026-11-22-k",
    "2026-11-23",
    "2026-11-23-b",
    "2026-11-23-c",
    "2026-11-25-a",
    "2026-11-25-b",
    "2026-11-25-c",
    "2026-11-26-a",
    "2026-11-26-b",
    "2026-11-27-a",
)
