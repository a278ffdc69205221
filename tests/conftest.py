"""What every test may use."""

import contextlib
import gc
import logging
import os
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from zlib import crc32

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

pytest_plugins = ("tests.fakes.fixtures", "tests.processes", "tests.scoreboard.plugin")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-golden` writes the expected pages instead of comparing them.

    `--all-scenes` also plays the scenes that start a driver's library in a child process, and all
    schedules of a driver in trouble.
    """
    parser.addoption("--rewrite-golden", action="store_true", help="rewrite the expected pages")
    parser.addoption("--all-scenes", action="store_true", help="also play the scenes with GPUs")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Spare the garbage collector ten thousand tests, which all stay: a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)  # once `system` is marked
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let files that wait for programs and files that compute take turns, the long ones first."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    marks = {
        path: {mark.name for it in some for mark in it.iter_markers()}
        for path, some in files.items()
    }

    def place(file: Path) -> tuple[bool, bool, int]:
        return "slow" not in marks[file], "system" not in file.parts, -len(files[file])

    first = sorted(files, key=place)
    waiting = [file for file in first if "system" in marks[file]]
    computing = [file for file in first if "system" not in marks[file]]
    turns = (path for pair in zip_longest(waiting, computing) for path in pair if path is not None)
    items[:] = [item for path in turns for item in files[path]]


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a worker whole files; those that trace programs, which wait for each other, are as one.

    All scenes are given out in parts: they are one file, and would be played one after the other.
    """

    def _split_scope(self, nodeid: str) -> str:
        if "/ebpf/system/" in nodeid or "/xid_tracepoint/test_live" in nodeid:
            return "traced"
        file: str = super()._split_scope(nodeid)
        if not self.config.getoption("--all-scenes"):
            return file
        return f"{file} {crc32(nodeid.encode()) % SCENE_PARTS}"


SCENE_PARTS = 48


@pytest.hookimpl(optionalhook=True)  # `make mutants` runs without pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFile:
    """Distribute tests over workers."""
    return ByFile(config, log)


AUTOGROUP = Path("/proc/self/autogroup")
"""The kernel divides processors between sessions first (sched(7)); programs have their own."""


MEMORY = "/dev/shm"
ROOM_BYTES = 4 * 2**30
"""Where temporary files are if there is such room, and programs can be run there."""


def pytest_configure(config: pytest.Config) -> None:
    """Let the programs that tests start come before the tests, which wait for their answers.

    Their files are in memory: they wait longer for a disk that writes each of them than for those.
    """
    if not hasattr(config, "workerinput"):
        _give_way(10)
        if "TMPDIR" not in os.environ and _has_room():
            os.environ["TMPDIR"] = tempfile.tempdir = MEMORY


def _has_room() -> bool:
    if not os.access(MEMORY, os.W_OK):
        return False
    about = os.statvfs(MEMORY)
    return about.f_bavail * about.f_frsize > ROOM_BYTES and not about.f_flag & os.ST_NOEXEC


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let the session of the shell be as it was."""
    if not hasattr(config, "workerinput"):
        _give_way(0)


def _give_way(nice: int) -> None:
    if os.geteuid() == 0 and AUTOGROUP.exists():  # nobody else can take it back
        with contextlib.suppress(OSError):  # no rights in a container: they stay side by side
            AUTOGROUP.write_text(str(nice))


PRIORITY = os.getpriority(os.PRIO_PROCESS, 0)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let tests that compute give way to programs, which have to answer in time.

    The log is on, whatever a command of the test before has done to it.
    """
    logging.disable(logging.NOTSET)
    if os.geteuid() == 0:  # nobody else can take it back
        gives_way = item.get_closest_marker("system") is None
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY + 10 * gives_way)
