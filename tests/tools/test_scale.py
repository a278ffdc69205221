"""`python -m tools.scale`: nothing that was measured is lost."""

import subprocess
import sys

import pytest

from tools.sizing import FIGURES
from tools.tables import ROOT

pytestmark = pytest.mark.system


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], f"{FIGURES} is there already; remove it, or name another with --out"),
        (["--nodes", "many"], "argument --nodes: invalid int value: 'many'"),
        (["--node=3", "x"], "unrecognized arguments: x"),
    ],
)
def test_mistakes_are_one_sentence_and_start_nothing(words: list[str], sentence: str) -> None:
    """No figures are overwritten, and no usage stands before what is wrong."""
    before = FIGURES.read_bytes()
    ended = subprocess.run(
        [sys.executable, "-m", "tools.scale", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (2, f"tools.scale: {sentence}\n")
    assert FIGURES.read_bytes() == before
