"""Files that hang in the kernel, as their readers meet them."""

import errno
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.fakes.fuse import StuckFiles


def state_of(pid: int) -> str:
    """The letter of a process's state, as /proc/PID/stat has it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_reader_cannot_be_killed(stuck_files: StuckFiles) -> None:
    """After SIGKILL the reader stays, in state D, until the file system lets it go."""
    path = stuck_files.hang("stat")
    with subprocess.Popen(["cat", path], stderr=subprocess.DEVNULL) as reader:
        stuck_files.wait_until_stuck("stat")
        reader.kill()
        with pytest.raises(subprocess.TimeoutExpired):
            reader.wait(0.1)
        assert state_of(reader.pid) == "D"
        stuck_files.close()
        assert reader.wait(5) == -signal.SIGKILL


def test_files_can_be_read_and_listed(stuck_files: StuckFiles) -> None:
    """A file without a fault behaves like any other."""
    path = stuck_files.hold("meminfo", "MemTotal: 1 kB\n")
    assert path.read_text() == "MemTotal: 1 kB\n"
    assert list(stuck_files.folder.iterdir()) == [path]
    assert os.statvfs(stuck_files.folder).f_blocks == 1000
    with pytest.raises(FileNotFoundError):
        (stuck_files.folder / "other").read_text()


@pytest.mark.parametrize("operation", ["lookup", "open", "read"])
@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.ENODEV])
def test_an_errno_of_choice(stuck_files: StuckFiles, operation: str, code: int) -> None:
    """Each operation on a file can fail with any errno."""
    stuck_files.hold("temp1_input", "45000\n")
    path = stuck_files.fail("temp1_input", code, operation)
    with pytest.raises(OSError, match=os.strerror(code)) as caught:
        path.read_text()
    assert caught.value.errno == code


def test_a_hung_file_may_come_back(stuck_files: StuckFiles) -> None:
    """After a release who waited gets EIO and who comes later gets the text."""
    path = stuck_files.hang("uptime")
    stuck_files.hold("uptime", "1.0 1.0\n")
    with subprocess.Popen(["cat", path], stderr=subprocess.PIPE, text=True) as reader:
        stuck_files.wait_until_stuck("uptime")
        stuck_files.release("uptime")
        assert reader.wait(5) == 1
    assert path.read_text() == "1.0 1.0\n"


def test_a_file_system_that_does_not_answer(stuck_files: StuckFiles) -> None:
    """The whole mount can hang at statfs, as a dead network share does."""
    folder = stuck_files.hang("/", "statfs")
    with subprocess.Popen(["df", folder], stdout=subprocess.DEVNULL) as reader:
        stuck_files.wait_until_stuck("/")
        stuck_files.release("/")
        assert reader.wait(5) != 0
