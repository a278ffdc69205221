"""What the tests of sources have in hand."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collectors.small_node import SmallNode


@pytest.fixture
def node(tmp_path: Path) -> SmallNode:
    """A node in files with nothing in them yet."""
    return SmallNode(tmp_path / "node")


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a short name: the address of a socket has 108 bytes."""
    with tempfile.TemporaryDirectory(prefix="hw-") as name:
        yield Path(name)
