"""The card descriptions in tests/captures are written in words that the fakes know."""

import re
from pathlib import Path

import pynvml
import pytest

from tests.fakes.nvml_library import CAPTURES

ALL = sorted(path.name for path in CAPTURES.glob("*.scenario"))


@pytest.mark.parametrize("capture", ALL)
def test_every_line_means_something(capture: str) -> None:
    """No key of a capture is misspelt: the fakes know every part of it."""
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("*/*.c"))
    literals = " ".join(re.findall(r'"([^"]*)"', sources))
    known = {"device", "profile", *re.findall(r"\w+", literals), *dir(pynvml)}
    for line in (CAPTURES / capture).read_text().splitlines():
        if line and not line.startswith("#"):
            key, equals, _ = line.partition(" =")
            assert equals, line
            assert {part for part in key.split(".") if not part.isdigit()} <= known, line
