"""Finding functions in libraries, whole and broken."""

import itertools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from exporter.collectors.ebpf.elf import (
    MAX_TABLE_BYTES,
    BadLibrary,
    functions_of,
    functions_starting,
)
from tests.fakes.fixtures import built
from tests.fakes.hostile_library import hostile_library
from tests.fakes.native import CUDART, TORCH, build_cudart, build_torch

pytestmark = pytest.mark.system
WANTED = ("cudaMalloc", "cudaFree", "cuLaunchKernel", "clock_gettime", "Malloc")


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """The file, open."""
    descriptor = os.open(path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def sections(library: bytes | bytearray) -> range:
    """Where the rows of the table of sections are."""
    start = int.from_bytes(library[0x28:0x30], "little")
    return range(start, start + 64 * int.from_bytes(library[0x3C:0x3E], "little"), 64)


@pytest.fixture(scope="session")
def library() -> Path:
    """A library that defines cudaMalloc and calls clock_gettime."""
    return built(build_cudart) / CUDART


def test_functions_are_found_that_are_defined(library: Path) -> None:
    """What is only called, not there, or the end of another name is not found."""
    with opened(library) as file:
        assert functions_of(file, WANTED) == {"cudaMalloc", "cudaFree"}


def test_functions_are_found_by_how_they_begin() -> None:
    """Each with its whole name; another that begins alike is not taken for it."""
    mm, add, none = (f"_ZN2at4_ops{name}4callE" for name in ("2mm", "10add_Tensor", "4relu"))
    with opened(built(build_torch) / TORCH) as file:
        assert functions_starting(file, [mm, add, none]) == {
            mm: f"{mm}RKNS_6TensorES4_",
            add: f"{add}RKNS_6TensorES4_RKN3c106ScalarE",
        }


def test_stripping_leaves_them(library: Path, tmp_path: Path) -> None:
    """A stripped library offers the same functions."""
    stripped = tmp_path / "stripped.so"
    subprocess.run(["strip", "-o", str(stripped), str(library)], check=True)
    with opened(stripped) as file:
        assert functions_of(file, WANTED) == {"cudaMalloc", "cudaFree"}


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    """A text, an empty file and a folder are refused in one sentence."""
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\n" * 20)
    empty = tmp_path / "empty"
    empty.touch()
    for path in (text, empty, tmp_path):
        with opened(path) as file, pytest.raises(BadLibrary):
            functions_of(file, WANTED)


def test_a_library_cut_anywhere_is_refused_or_read(library: Path, tmp_path: Path) -> None:
    """Cut at any of 200 places, or with noise in its header, it raises nothing else."""
    whole = library.read_bytes()
    cut = tmp_path / "cut.so"
    for place in range(0, len(whole), max(1, len(whole) // 200)):
        for content in (whole[:place], whole[:place] + b"\xff" * 8 + whole[place + 8 :]):
            cut.write_bytes(content)
            with opened(cut) as file, suppress(BadLibrary):
                functions_of(file, WANTED)


def test_too_many_symbols_are_refused(library: Path, tmp_path: Path) -> None:
    """A library whose tables say that they are huge is refused before they are read."""
    content = bytearray(library.read_bytes())
    for place in sections(content):
        content[place + 32 : place + 40] = (1 << 40).to_bytes(8, "little")
    huge = tmp_path / "huge.so"
    huge.write_bytes(content)
    with opened(huge) as file, pytest.raises(BadLibrary, match="too many symbols"):
        functions_of(file, WANTED)


def test_symbols_that_repeat_or_take_too_long_are_refused(tmp_path: Path) -> None:
    """Whoever writes the tables decides how much there is to read; time and repeats are bounded."""
    repeats = hostile_library(tmp_path / "repeats", MAX_TABLE_BYTES, b"ncclSend")
    others = hostile_library(tmp_path / "others", MAX_TABLE_BYTES, b"ncclOther")
    large = hostile_library(tmp_path / "large", 2 * MAX_TABLE_BYTES, b"ncclSend")
    seconds = itertools.count()
    with opened(repeats) as file, pytest.raises(BadLibrary, match="again and again"):
        functions_of(file, ["ncclSend"])
    with opened(others) as file, pytest.raises(BadLibrary, match="too long"):
        functions_of(file, ["ncclSend"], lambda: float(next(seconds)))
    with opened(large) as file, pytest.raises(BadLibrary, match="too many symbols"):
        functions_of(file, ["ncclSend"])


@pytest.mark.parametrize("place", [2**63, 2**64 - 1])
@pytest.mark.parametrize("at", [0x28, "section"])
def test_tables_beyond_any_file_are_refused(
    library: Path, tmp_path: Path, at: int | str, place: int
) -> None:
    """A place that no file can have is a bad library, as is any other nonsense."""
    content = bytearray(library.read_bytes())
    changed = [at] if isinstance(at, int) else [each + 24 for each in sections(content)]
    for where in changed:
        content[where : where + 8] = place.to_bytes(8, "little")
    (tmp_path / "far.so").write_bytes(content)
    with opened(tmp_path / "far.so") as file, pytest.raises(BadLibrary, match="cannot be read"):
        functions_of(file, WANTED)
