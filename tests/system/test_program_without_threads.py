"""The real program where hardly a process may be started: one sentence, no traceback."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.running import run_program

pytestmark = pytest.mark.system


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
    limited = ("/bin/sh", "-c", script, "sh", str(group), str(most))
    ended = run_program("run", "--port=0", under=limited)
    assert ended.returncode == 1
    assert ended.stderr.startswith("hw-exporter: no thread can be started: the limit of processes")
    assert ended.stderr.count("\n") == 1
