"""Finding libraries in the memory maps of a tree of processes."""

import mmap
import os
from pathlib import Path

import pytest

from exporter.collectors.ebpf.calls import LIBRARIES
from exporter.collectors.ebpf.libraries import (
    LONGEST_PAUSE_SECS,
    LOOK_SECS,
    MAX_LOOKS,
    MAX_MAPS_BYTES,
    MAX_OF_PROCESS,
    Found,
    LibraryFinder,
    open_library,
)
from exporter.collectors.ebpf.tenant_files import Progress

CODE = "7f00000{n}000-7f00000{n}fff r-xp 00001000 fe:00 {inode}      {path}\n"
DATA = "7f00000{n}000-7f00000{n}fff r--p 00001000 fe:00 {inode}      {path}\n"


class Tree:
    """A proc root with processes that map files."""

    def __init__(self, folder: Path) -> None:
        self.root = folder

    def add(self, pid: int, *paths: str, state: str = "S", line: str = CODE) -> None:
        """A process that maps these files."""
        folder = self.root / str(pid)
        folder.mkdir(exist_ok=True)
        (folder / "stat").write_text(f"{pid} (a) b) {state} 50 1 1 0")
        maps = [line.format(n=n, inode=7 + n, path=path) for n, path in enumerate(paths)]
        (folder / "maps").write_text("".join(maps))

    def finder(self) -> LibraryFinder:
        """A finder that has seen nothing yet."""
        return LibraryFinder(self.root, LIBRARIES)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty proc root."""
    return Tree(tmp_path)


def test_libraries_are_found_by_the_name_of_their_file(tree: Tree) -> None:
    """With and without a version, and replaced; nothing that sounds alike, no data of one."""
    tree.add(1, "/usr/lib/libcudart.so.12", "/opt/my libs/libnccl.so.2.19.3", "/lib/libc.so.6")
    tree.add(2, "/usr/lib/libcuda.so.1", "/usr/lib/libcudart_static.so", "/libnccl.so.2 (deleted)")
    tree.add(3, "/usr/lib/libcudart.so.12", line=DATA)
    tree.add(4)
    found = tree.finder().look(0.0)
    names = {pid: [(one.layer, one.path) for one in user.libraries] for pid, user in found.items()}
    assert names == {
        1: [("cuda", "/usr/lib/libcudart.so.12"), ("nccl", "/opt/my libs/libnccl.so.2.19.3")],
        2: [("cuda", "/usr/lib/libcuda.so.1"), ("nccl", "/libnccl.so.2")],
    }
    assert found[1].libraries[0].file == ("fe:00", "7")
    assert found[1].parent == 50


def test_a_library_loaded_later_is_found_at_a_later_look(tree: Tree) -> None:
    """A young process is looked at again at once, one that has lived long within a minute."""
    finder = tree.finder()
    tree.add(1)
    for now in (0.0, 2.0):
        assert not finder.look(now)
    tree.add(1, "/usr/lib/libcudart.so.12")
    assert finder.look(4.0)
    tree.add(2)
    for now in range(6, 4000, 2):
        finder.look(float(now))
    tree.add(2, "/usr/lib/libcudart.so.12")
    looks = [now for now in range(4000, 4100, 2) if 2 in finder.look(float(now))]
    assert looks
    assert looks[0] - 4000 <= LONGEST_PAUSE_SECS + 2


def test_who_has_ended_is_gone_at_once(tree: Tree) -> None:
    """A process that is not listed any more uses nothing."""
    finder = tree.finder()
    tree.add(1, "/usr/lib/libcudart.so.12")
    assert finder.look(0.0)
    for name in ("stat", "maps"):
        (tree.root / "1" / name).unlink()
    (tree.root / "1").rmdir()
    assert not finder.look(0.1)


def test_the_maps_of_who_waits_in_the_kernel_are_not_read(tree: Tree) -> None:
    """They may be locked: what was known of it stays, and it is looked at later."""
    tree.add(1, "/usr/lib/libcudart.so.12", state="D")
    finder = tree.finder()
    assert not finder.look(0.0)
    tree.add(1, "/usr/lib/libcudart.so.12")
    assert finder.look(10.0)
    tree.add(1, state="D")
    assert finder.look(20.0)


def test_a_look_is_bounded(tree: Tree) -> None:
    """Of very many processes some are looked at now and the others at the next look."""
    for pid in range(1, MAX_LOOKS + 200):
        tree.add(pid, "/usr/lib/libcudart.so.12")
    finder = tree.finder()
    assert len(finder.look(0.0)) == MAX_LOOKS
    assert len(finder.look(0.1)) == MAX_LOOKS + 199


def test_the_libraries_of_one_process_are_bounded(tree: Tree) -> None:
    """A process that maps more chose their names itself."""
    tree.add(1, *(f"/opt/{n}/libnccl.so.2" for n in range(MAX_OF_PROCESS + 5)))
    assert len(tree.finder().look(0.0)[1].libraries) == MAX_OF_PROCESS


def test_so_much_of_the_maps_is_read_and_no_more(tree: Tree) -> None:
    """A tenant chooses how long its maps are: what stands behind the limit is not seen."""
    (tree.root / "1").mkdir()
    (tree.root / "1/stat").write_text("1 (a) S 50 1 1 0")
    line = CODE.format(n=1, inode=7, path="/usr/lib/libcudart.so.12")
    other = CODE.format(n=2, inode=8, path="/usr/lib/libc.so.6")
    filler = other * (MAX_MAPS_BYTES // len(other))
    (tree.root / "1/maps").write_text(line + filler)
    assert tree.finder().look(0.0)
    (tree.root / "1/maps").write_text(filler + other + line)
    assert not tree.finder().look(0.0)


def test_maps_that_cost_too_much_time_wait_for_the_next_look(tree: Tree) -> None:
    """Those that have waited longest come first then, so that everybody has a turn."""
    spent = iter(range(100))
    finder = LibraryFinder(tree.root, LIBRARIES, lambda: next(spent) * LOOK_SECS * 0.75)
    for pid in (1, 2, 3):
        tree.add(pid, "/usr/lib/libcudart.so.12")
    seen = [frozenset(finder.look(now)) for now in (0.0, 0.1, 0.2)]
    assert [len(each) for each in seen] == [1, 2, 3]


def in_root(tree: Tree, file: Path) -> Found:
    """A file that process 1 sees as /lib.so of its own root."""
    (tree.root / "1").mkdir(exist_ok=True)
    root = tree.root / "1" / "root"
    root.mkdir()
    (root / "lib.so").symlink_to(file)
    return Found("cuda", "/lib.so", ("fe:00", str(file.stat().st_ino)))


def test_a_library_is_opened_through_the_root_of_its_process(tree: Tree, tmp_path: Path) -> None:
    """Its identity is that of the file, by whatever path it was found."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100)
    library = open_library(tree.root, 1, in_root(tree, file))
    assert library is not None
    assert library.identity[:2] == (file.stat().st_ino, 100)
    assert os.fstat(library.descriptor).st_size == 100
    library.close()


def test_what_is_not_the_mapped_file_is_not_opened(tree: Tree, tmp_path: Path) -> None:
    """Another file under the same path, a pipe, nothing at all: none is attached to."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert open_library(tree.root, 1, in_root(tree, pipe)) is None
    other = Found("cuda", "/lib.so", ("fe:00", "1"))
    assert open_library(tree.root, 1, other) is None
    assert open_library(tree.root, 1, Found("cuda", "/nothing", ("fe:00", "1"))) is None
    assert open_library(tree.root, 1, Found("cuda", "/a\0b", ("fe:00", "1"))) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may open what others have mapped")
def test_a_replaced_library_is_opened_where_it_is_mapped(tmp_path: Path) -> None:
    """An upgrade leaves its processes the old file, which is no longer at the path."""
    file = tmp_path / "libcudart.so.12"
    file.write_bytes(b"x" * 100)
    with file.open("rb") as opened:
        mapping = mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC)
    old = file.stat()
    (tmp_path / "new").write_bytes(b"y")
    (tmp_path / "new").rename(file)
    user = LibraryFinder(Path("/proc"), LIBRARIES).look(0.0)[os.getpid()]
    (found,) = [one for one in user.libraries if one.path == str(file)]
    library = open_library(Path("/proc"), os.getpid(), found)
    mapping.close()
    assert library is not None
    assert library.identity[:3] == (old.st_ino, 100, old.st_mtime_ns)
    library.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_closed_folder_is_said(tree: Tree, tmp_path: Path) -> None:
    """Without the right to pass it the layer is named, until a look finds nothing closed."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o700)
    file = folder / "libcudart.so.12"
    file.touch()
    library = in_root(tree, file)
    finder = tree.finder()
    os.seteuid(65534)
    try:
        assert finder.open((1, library), Progress()) is None
    finally:
        os.seteuid(0)
    finder.look(0.0)
    (said,) = finder.problems
    assert said == "a library of cuda cannot be opened: permission denied (CAP_DAC_READ_SEARCH)"
    finder.look(1.0)
    assert not finder.problems


def test_containers_of_one_image_share_a_file(tree: Tree, tmp_path: Path) -> None:
    """Through layers the device is another for each container: it does not count there."""
    file = tmp_path / "file"
    file.write_bytes(b"x")
    found = in_root(tree, file)
    device = file.stat().st_dev
    plain = open_library(tree.root, 1, found)
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = tree.root / "1" / "mountinfo"
    mounts.write_text(f"36 35 {number} / /mnt rw,noatime - overlay overlay rw,lowerdir=/a\n")
    layered = open_library(tree.root, 1, found)
    assert plain is not None
    assert layered is not None
    assert plain.identity == (*layered.identity, device)
    plain.close()
    layered.close()
