"""The batches since the eleventh, of newer sources too."""

import pytest

from tests.corpus.promises import (
    test_no_gauge_is_bad_in_silence,
    test_nothing_begins_because_something_got_well,
    test_nothing_grave_is_said,
    test_the_figures_hold,
    test_verdict_severity_and_status_agree,
)

__all__ = [
    "test_no_gauge_is_bad_in_silence",
    "test_nothing_begins_because_something_got_well",
    "test_nothing_grave_is_said",
    "test_the_figures_hold",
    "test_verdict_severity_and_status_agree",
]
pytestmark = pytest.mark.slow
JUDGED = (
    "2026-11-22-h",
    "2026-11-22-i",
    "2026-11-22-j",
    "2026-11-22-k",
    "2026-11-23",
)
