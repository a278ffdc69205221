"""The real program where hardly a process may be started: one sentence, no traceback."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group that limits processes."""
    for mount in (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")):
        group = mount / f"hw-exporter-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / "pids.max").exists():
            yield group
            group.rmdir()
            return
        group.rmdir()
    pytest.skip("no control group for the number of processes may be made here")


@pytest.mark.parametrize("most", [1, 2])
def test_too_low_a_limit_of_processes_is_one_sentence(group: Path, most: int) -> None:
    """Threads count as processes: without them nothing can be read under a deadline."""
    script = 'echo $$ > "$1/cgroup.procs" && echo "$2" > "$1/pids.max" && shift 2 && exec "$@"'
    command = [sys.executable, "-m", "exporter", "run", "--port=0"]
    ended = subprocess.run(
        ["/bin/sh", "-c", script, "sh", str(group), str(most), *command],
        capture_output=True,
        check=False,
        cwd=ROOT,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("hw-exporter: no thread can be started: the limit of processes")
    assert ended.stderr.count("\n") == 1
