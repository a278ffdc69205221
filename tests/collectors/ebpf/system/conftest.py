"""What the tests of traced programs share."""

import fcntl
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import pytest

from exporter.collectors.ebpf.trace_loop import not_met


@pytest.fixture(scope="module", autouse=True)
def _alone() -> Iterator[None]:
    """Let one file after the other trace: probes see the programs of the whole machine."""
    reason = not_met(Path("/proc"), Path("/sys"))
    if reason is not None:
        pytest.skip(f"calls cannot be counted: {reason}")
    with (Path(gettempdir()) / "hw-exporter-ebpf-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
