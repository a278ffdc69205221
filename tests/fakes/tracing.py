"""The kernel's tracing as tests share it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir


@contextmanager
def traced_alone() -> Iterator[None]:
    """Trace while no other test does: probes see the programs of the whole machine."""
    with (Path(gettempdir()) / "hw-exporter-ebpf-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
