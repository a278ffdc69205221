"""`python -m tools.scale`: nothing that was measured is lost."""

import subprocess
import sys

import pytest

from tools.sizing import FIGURES, ROOT

pytestmark = pytest.mark.system


def test_no_figures_are_overwritten() -> None:
    """A file that is there is refused before anything is started."""
    before = FIGURES.read_bytes()
    ended = subprocess.run(
        [sys.executable, "-m", "tools.scale"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, "is there already" in ended.stderr) == (2, True)
    assert FIGURES.read_bytes() == before
