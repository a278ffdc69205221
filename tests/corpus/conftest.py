"""Which recordings a file of tests judges: those of the batches that it names as JUDGED."""

import pytest

from tests.corpus.cases import BATCHES, NOT_MENDED


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each promise the recordings, or the batches, of the file that it is asked in."""
    judged = getattr(metafunc.module, "JUDGED", ())
    if "case" in metafunc.fixturenames:
        cases = [case for name in judged for case in BATCHES[name]]
        metafunc.parametrize("case", cases, ids=lambda case: case.name)
    if "batch" in metafunc.fixturenames:
        mended = [name for name in judged if name not in NOT_MENDED]
        metafunc.parametrize("batch", mended)
