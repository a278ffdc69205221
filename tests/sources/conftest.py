"""What the tests of sources may use."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a short name: the address of a socket has 108 bytes."""
    with tempfile.TemporaryDirectory(prefix="hw-") as name:
        yield Path(name)
