"""What is started by hand says how, and does nothing then."""

import re
import subprocess
import sys

import pytest

from tests.program import ROOT

STARTED_BY_HAND = re.compile(r"\$\(BIN\)/python -m ((?:bench|tools)[\w.]*)")
TOOLS = sorted(set(STARTED_BY_HAND.findall((ROOT / "Makefile").read_text("utf-8"))))

pytestmark = pytest.mark.system


@pytest.mark.parametrize("module", TOOLS)
def test_help_is_all_that_is_printed(module: str) -> None:
    """With --help each tool of the Makefile prints its usage, and nothing is measured or built."""
    ended = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("usage: ")
