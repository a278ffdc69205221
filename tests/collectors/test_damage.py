"""Damaged files: whatever a file holds, only the sources' own two words come out."""

import asyncio
import errno
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exporter.reading.source import Source, SourceAbsent, SourceFailed
from tests.collectors.whole_node import look_around, source_of, sources
from tests.fakes.fuse import StuckFiles
from tests.fakes.host_tree import HostTree, cpu_node, gpu_node, minimal

pytestmark = pytest.mark.slow

Damage = Callable[[bytes], bytes]


def _cut(share: float) -> Damage:
    return lambda text: text[: int(len(text) * share)]


DAMAGES: dict[str, Damage] = {
    "emptied": lambda _text: b"",
    "cut at a tenth": _cut(0.1),
    "cut at a third": _cut(0.34),
    "cut in the middle": _cut(0.5),
    "cut at nine tenths": _cut(0.9),
    "cut by one byte": lambda text: text[:-1],
    "binary": lambda _text: bytes(range(256)) * 4,
    "one number, negative": lambda _text: b"-1\n",
    "one number, too large": lambda _text: b"99999999999999999999999999\n",
    "all numbers negative": lambda text: text.replace(b" ", b" -"),
    "all digits nines": lambda text: bytes(57 if 48 <= byte <= 57 else byte for byte in text),
    "all blanks gone": lambda text: text.replace(b" ", b""),
    "all separators doubled": lambda text: text.replace(b":", b"::").replace(b" - ", b" - - "),
    "not UTF-8": lambda text: text.replace(b"e", b"\xff"),
    "a word": lambda _text: b"Unknown\n",
    "lines reversed": lambda text: b"\n".join(reversed(text.split(b"\n"))),
    "nothing but line ends": lambda _text: b"\n" * 50,
    "other digits": lambda text: text.replace(b"1", "١".encode()),
}


class OpenedFiles:
    """Remembers which files are opened while it listens: hooks stay for ever."""

    def __init__(self) -> None:
        self.paths: set[str] | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and self.paths is not None and isinstance(arguments[0], (str, Path)):
            self.paths.add(str(arguments[0]))


OPENED = OpenedFiles()


async def read(source: Source) -> None:
    """One read, of which the sources' own words are expected and everything else is a bug."""
    said = "read"
    try:
        await source.read()
    except (SourceAbsent, SourceFailed) as expected:
        said = str(expected)
    assert said


async def opened_by(source: Source, tree: HostTree) -> list[Path]:
    """The files of the tree that one read opens."""
    OPENED.paths = set()
    await read(source)
    paths, OPENED.paths = OPENED.paths, None
    return sorted(Path(path) for path in paths if path.startswith(str(tree.folder)))


def one_of_a_kind(files: list[Path]) -> Iterator[Path]:
    """Of files with one name in folders side by side, one: the others are read the same way."""
    seen: set[str] = set()
    for file in files:
        if file.name not in seen:
            seen.add(file.name)
            yield file


ASKED_OF_THE_KERNEL = {"Clock"}
"""Readings that come from calls and not from files."""
MAY_GO_WITHOUT_A_WORD = {"core_cpus_list", "os-release", "speed"}
"""Another file says the same, or drivers refuse it wherever there is nothing to say."""
NAMES = [source.name for source in sources(HostTree(Path("/nowhere")))]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("build", [cpu_node, partial(gpu_node, gpus=2)], ids=["cpu", "gpu"])
async def test_damage_is_never_more_than_absent_or_failed(
    name: str, build: Callable[[Path], HostTree], tmp_path: Path
) -> None:
    """Each file that a source reads is damaged in eighteen ways, then taken away, then a folder."""
    tree = build(tmp_path)
    source = source_of(tree, name)
    opened = await opened_by(source, tree)
    for file in one_of_a_kind([path for path in opened if path.is_file()]):
        whole = file.read_bytes()
        for damage in DAMAGES.values():
            file.write_bytes(damage(whole))
            await read(source)
        file.unlink()
        await read(source)
        file.mkdir()
        await read(source)
        file.rmdir()
        file.write_bytes(whole)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.system
async def test_a_file_that_may_not_be_read_is_absent_with_a_reason(
    name: str, tmp_path: Path, stuck_files: StuckFiles
) -> None:
    """Each file that a source reads refuses to be opened: the source says so, and which it was."""
    folder = tmp_path / "node"
    tree = gpu_node(folder, gpus=2) if name == "infiniband" else cpu_node(folder)
    denied = stuck_files.fail("denied", errno.EACCES, "open")
    source = source_of(tree, name)
    opened = await opened_by(source, tree)
    for file in one_of_a_kind([path for path in opened if path.is_file()]):
        kept = file.rename(tmp_path / "kept")
        file.symlink_to(denied)
        assert file.name in MAY_GO_WITHOUT_A_WORD or await reasons(source_of(tree, name))
        file.unlink()
        kept.rename(file)


async def reasons(source: Source) -> str:
    """Why one read is incomplete, or did not come about."""
    try:
        missing = (await source.read()).missing
    except (SourceAbsent, SourceFailed) as refused:
        return str(refused)
    return " ".join(f"{gap.field}: {gap.reason}" for gap in missing)


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Let no further file be opened: the limit is the first descriptor that is free."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def is_absent(source: Source, loop: asyncio.AbstractEventLoop) -> bool:
    """Whether one read finds nothing to read on this node."""
    try:
        loop.run_until_complete(source.read())
    except SourceAbsent:
        return True
    except SourceFailed:
        return False
    return False


def test_without_a_free_descriptor_nothing_is_absent(tmp_path: Path) -> None:
    """Files that could not be opened are not taken for hardware that is not there."""
    tree = gpu_node(tmp_path, gpus=2)
    with closing(asyncio.new_event_loop()) as loop:
        there = {source.name for source in sources(tree) if not is_absent(source, loop)}
        fresh = [source for source in sources(tree) if source.name in there]
        with no_descriptor_left():
            absent = [source.name for source in fresh if is_absent(source, loop)]
    assert len(there) > 20
    assert absent == []


def test_the_least_of_a_kernel_gives_what_it_has(tmp_path: Path) -> None:
    """With stat, meminfo and uptime only, processors, memory and names are there and no more."""
    kinds = {kind.__name__ for kind in look_around(minimal(tmp_path)).readings}
    assert kinds - ASKED_OF_THE_KERNEL == {"Host", "Cpu", "Memory", "KernelNumbers"}
