"""Which recordings a file of tests judges: a share of those of the batches that it names."""

import pytest

from tests.corpus.cases import BATCHES, JUDGED_EVERY


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each promise the recordings of the file that it is asked in."""
    batches = getattr(metafunc.module, "BATCHES_JUDGED", ())
    cases = tuple(case for name in batches for case in BATCHES[name][::JUDGED_EVERY])
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", cases, ids=lambda case: case.name)
    if "cases" in metafunc.fixturenames:
        metafunc.parametrize("cases", [cases], ids=[f"{len(cases)} recordings"])
