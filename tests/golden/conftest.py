"""What the tests of pages have in hand."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.golden.node_under_test import NodeUnderTest
from tests.golden.openmetrics import PAGES


@pytest.fixture
def is_as_expected(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the page of this file name; `--rewrite-golden` writes the page first."""

    def compare(name: str, text: str) -> None:
        path = PAGES / name
        if request.config.getoption("--rewrite-golden"):
            path.write_text(text, "utf-8")
        assert text == path.read_text("utf-8"), f"{name} changed: `make golden`, read the diff"

    return compare


@pytest.fixture
async def node(
    tmp_path: Path, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi
) -> AsyncIterator[NodeUnderTest]:
    """A node without a driver yet."""
    under_test = NodeUnderTest(tmp_path, nvml, nvidia_smi)
    yield under_test
    await under_test.close()
