"""What HAMi allows containers, and what the container that may write its file gains by that."""

import os
import random
from pathlib import Path

import pytest

from exporter.collectors.sharing.hami import (
    HEADER_BYTES,
    MAX_CONTAINERS,
    HamiLimit,
    parse_header,
    read_limits,
)
from tests.fakes.hami import container, region

ME = os.geteuid()
UID = "3b1f0f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"
GPU = "GPU-5a1c0d3e-7b42-4c19-9d10-000000000000"
OTHER_GPU = "GPU-5a1c0d3e-7b42-4c19-9d10-000000000001"
GIB = 2**30


def _limit(memory: int | None = 8 * GIB, percent: float | None = 30.0) -> HamiLimit:
    return HamiLimit(UID, "trainer", GPU, memory, percent)


def test_each_container_has_its_limits_by_gpu(tmp_path: Path) -> None:
    """Memory in bytes and percent of SM time; 0 and 100 percent are no limit, and so is 0 bytes."""
    container(tmp_path, UID, "trainer", region({GPU: (8 * GIB, 30), OTHER_GPU: (0, 100)}))
    limits, missing = read_limits(tmp_path, ME)
    assert limits == (_limit(), HamiLimit(UID, "trainer", OTHER_GPU, None, None))
    assert missing == ()


def test_without_hami_there_is_nothing(tmp_path: Path) -> None:
    """No folder is no sharing and no gap."""
    assert read_limits(tmp_path, ME) == ((), ())


def test_folders_of_others_are_not_believed(tmp_path: Path) -> None:
    """Who is not the scheduler cannot give anybody a quota: not by a folder, nor by a link."""
    file = container(tmp_path, UID, "trainer", region({GPU: (8 * GIB, 30)}))
    assert read_limits(tmp_path, ME + 1) == ((), ())
    containers = file.parent.parent
    containers.chmod(0o777)
    assert read_limits(tmp_path, ME) == ((), ())
    containers.chmod(0o755)
    file.parent.rename(tmp_path / "elsewhere")
    (containers / f"{UID}_trainer").symlink_to(tmp_path / "elsewhere")
    limits, (missing,) = read_limits(tmp_path, ME)
    assert limits == ()
    assert missing.reason.endswith("the folder is not root's")


@pytest.mark.parametrize(
    "name", ["x", f"{UID}", f"{UID}_", f"{UID}_a\nb", f"{UID}_A", f"..{UID}_a", f"{UID}_{'a' * 99}"]
)
def test_hostile_names_of_folders_are_left_out(tmp_path: Path, name: str) -> None:
    """Only a pod's uid and a container's name, as Kubernetes allows them, name anybody."""
    container(tmp_path, UID, "trainer", region({GPU: (8 * GIB, 30)}))
    (tmp_path / "usr/local/vgpu/containers" / name).mkdir()
    assert read_limits(tmp_path, ME) == ((_limit(),), ())


@pytest.mark.parametrize(
    ("content", "size", "reason"),
    [
        (region({GPU: (1, 1)}), HEADER_BYTES, "bytes, which no known version has"),
        (b"", 0, "bytes, which no known version has"),
        (region({GPU: (1, 1)}, magic=0), 2_008_952, "not initialized"),
        (region({GPU: (1, 1)}, major=2), 2_008_952, "the unknown version 2.2"),
        (b"\0" * 100, 10 * 2**30, "not initialized"),
    ],
    ids=["cut short", "empty", "not begun", "another version", "ten gigabytes of nothing"],
)
def test_what_is_no_region_of_a_known_version_is_a_sentence(
    tmp_path: Path, content: bytes, size: int, reason: str
) -> None:
    """Nothing is guessed of a layout that is not the documented one."""
    container(tmp_path, UID, "trainer", content, size)
    limits, (missing,) = read_limits(tmp_path, ME)
    assert limits == ()
    assert reason in missing.reason


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("link", "Too many levels of symbolic links"),
        ("pipe", "the cache is not a file"),
        ("folder", "the cache is not a file"),
    ],
)
def test_only_a_file_is_read(tmp_path: Path, kind: str, reason: str) -> None:
    """A container can put anything into its folder: it is neither followed nor waited for."""
    file = container(tmp_path, UID, "trainer", region({GPU: (8 * GIB, 30)}))
    elsewhere = file.rename(tmp_path / "another.cache")
    if kind == "link":
        file.symlink_to(elsewhere)
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    limits, (missing,) = read_limits(tmp_path, ME)
    assert limits == ()
    assert missing.reason.endswith(reason)


def test_very_many_containers_are_bounded(tmp_path: Path) -> None:
    """More folders than a node has containers cost no more than the limit."""
    for number in range(MAX_CONTAINERS + 10):
        container(tmp_path, UID, f"c{number}", region({GPU: (8 * GIB, 30)}), 2_008_952)
    assert len(read_limits(tmp_path, ME)[0]) == MAX_CONTAINERS


def test_a_container_without_processes_has_no_limits_yet(tmp_path: Path) -> None:
    """The file is made by its first process; before that nothing is missing."""
    container(tmp_path, UID, "trainer", b"").unlink()
    assert read_limits(tmp_path, ME) == ((), ())


def test_impossible_numbers_and_names_are_no_limits() -> None:
    """What no GPU has is no limit, and what no GPU is called names none."""
    header = region({GPU: (2**63, 255), "GPU-\x1b[31m": (1, 1), "../../etc": (1, 1)}, count=10**9)
    assert parse_header(header, UID, "trainer") == [_limit(None, None)]


def test_any_bytes_are_limits_or_a_sentence() -> None:
    """Whatever a container writes, the parser ends with limits of known form or ValueError."""
    chance = random.Random(7)  # noqa: S311 - repeatable, not secret
    whole = region({GPU: (8 * GIB, 30)})
    for _ in range(2000):
        damaged = bytearray(whole[: chance.randrange(len(whole) + 1)])
        for _ in range(chance.randrange(8)):
            if damaged:
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            found = parse_header(bytes(damaged), UID, "trainer")
        except ValueError:
            continue
        assert all(limit.gpu_uuid.startswith("GPU-") for limit in found)
