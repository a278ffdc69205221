"""What the tests of sources have in hand."""

from pathlib import Path

import pytest

from tests.collectors.small_node import SmallNode


@pytest.fixture
def node(tmp_path: Path) -> SmallNode:
    """A node in files with nothing in them yet."""
    return SmallNode(tmp_path / "node")
