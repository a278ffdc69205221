"""What the tests of traced programs share."""

import fcntl
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import pytest


@pytest.fixture(scope="module", autouse=True)
def _alone() -> Iterator[None]:
    """Let one file after the other trace: probes see the programs of the whole machine."""
    with (Path(gettempdir()) / "hw-exporter-ebpf-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
