"""What the tests of traced programs share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.collectors.ebpf.trace_loop import not_met
from tests.fakes.tracing import traced_alone


@pytest.fixture(scope="module", autouse=True)
def _alone() -> Iterator[None]:
    """Let one file after the other trace."""
    reason = not_met(Path("/proc"), Path("/sys"))
    if reason is not None:
        pytest.skip(f"calls cannot be counted: {reason}")
    with traced_alone():
        yield
