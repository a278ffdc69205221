"""The batches whose misses are mended by class."""

import pytest

from tests.corpus.cases import BATCHES, NOT_MENDED
from tests.corpus.promises import test_the_figures_hold, test_what_is_said_holds

__all__ = ["test_the_figures_hold", "test_what_is_said_holds"]
pytestmark = pytest.mark.slow
BATCHES_JUDGED = tuple(name for name in BATCHES if name not in NOT_MENDED)
