"""Main memory: what `/proc/meminfo` says."""

from pathlib import Path

import pytest

from exporter.collectors.memory.meminfo import MemoryReader, parse_meminfo
from exporter.collectors.memory.values import Memory
from exporter.reading.source import SourceFailed

MEMINFO = """MemTotal:       16384 kB
MemFree:         1024 kB
MemAvailable:    4096 kB
HugePages_Total:       0
"""


def test_memory_is_in_bytes_and_used_is_what_is_not_available() -> None:
    """The kernel's kB are KiB."""
    memory = parse_meminfo(MEMINFO)
    assert (memory.total_bytes, memory.available_bytes) == (16384 * 1024, 4096 * 1024)
    assert memory.used_bytes == 12288 * 1024
    assert memory.usage_percent == 75.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MemTotal: 16384 kB",
        "MemAvailable: 16384 kB",
        "MemTotal: x kB\nMemAvailable: 1 kB",
        "MemTotal: -5 kB\nMemAvailable: 1 kB",
        "MemTotal:\nMemAvailable:",
        "MemTotal: ² kB\nMemAvailable: 1 kB",
    ],
)
def test_garbage_is_a_failure_and_never_a_number(text: str) -> None:
    """Without total and available nothing is said."""
    with pytest.raises(SourceFailed):
        parse_meminfo(text)


@pytest.mark.parametrize(
    ("text", "available_kib"),
    [
        ("MemTotal: 10 kB\nMemAvailable: 20 kB", 10),
        ("MemTotal: 1000 kB\nMemFree: 100 kB\nShmem: 80 kB", 100),
    ],
)
def test_available_memory_is_within_its_bounds(text: str, available_kib: int) -> None:
    """Not more than there is, as a balloon may shrink it meanwhile; at least what is free."""
    assert parse_meminfo(text).available_bytes == available_kib * 1024


def test_a_node_without_memory_has_no_share() -> None:
    """Nothing is divided by zero."""
    assert Memory(total_bytes=0, available_bytes=0).usage_percent is None


def test_every_further_field_is_in_bytes() -> None:
    """Huge pages are counted in pages of the default size; used swap is what is not free."""
    memory = parse_meminfo(
        MEMINFO.replace("HugePages_Total:       0", "HugePages_Total: 3\nHugePages_Free: 1")
        + "Hugepagesize: 2048 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\nSUnreclaim: 7 kB\n"
    )
    assert memory.free_bytes == 1024 * 1024
    assert memory.hugepages_total_bytes == 3 * 2048 * 1024
    assert memory.hugepages_free_bytes == 2048 * 1024
    assert memory.swap_used_bytes == 40 * 1024
    assert memory.slab_unreclaimable_bytes == 7 * 1024


def test_huge_pages_of_every_size_are_set_aside() -> None:
    """Those of 1 GiB are none of the default size of 2 MiB: only their sum is said."""
    gib = 1024 * 1024
    memory = parse_meminfo(
        f"MemTotal: {512 * gib} kB\nMemAvailable: {20 * gib} kB\n"
        f"HugePages_Total: 0\nHugepagesize: 2048 kB\nHugetlb: {480 * gib} kB\n"
    )
    assert memory.hugepages_total_bytes == 0
    assert memory.ordinary_bytes == 32 * 1024 * gib


def test_the_cache_of_zfs_is_set_aside(tmp_path: Path) -> None:
    """It may take nearly all memory, which Linux then does not call available."""
    gib = 1024**3
    (tmp_path / "meminfo").write_text(
        f"MemTotal: {512 * gib // 1024} kB\nMemAvailable: {20 * gib // 1024} kB\n"
    )
    assert MemoryReader(tmp_path).read().value.ordinary_bytes == 512 * gib
    (tmp_path / "spl/kstat/zfs").mkdir(parents=True)
    (tmp_path / "spl/kstat/zfs/arcstats").write_text(
        "9 1 0x01 147 39984 4893218846 1702943718123\n"
        "name                            type data\n"
        "hits                            4    12917314\n"
        f"c_min                           4    {16 * gib}\n"
        f"size                            4    {460 * gib}\n"
        "compressed_size                 4    4096\n"
    )
    memory = MemoryReader(tmp_path).read().value
    assert (memory.arc_bytes, memory.ordinary_bytes) == (460 * gib, 52 * gib)
    assert memory.available_bytes == 20 * gib


def test_a_field_that_is_not_there_is_not_said() -> None:
    """Without swap lines there is no swap of zero bytes."""
    memory = parse_meminfo("MemTotal: 10 kB\nMemAvailable: 5 kB\nHugePages_Total: 3\n")
    assert (memory.swap_used_bytes, memory.dirty_bytes) == (None, None)
    assert memory.hugepages_total_bytes is None


def test_an_old_kernel_has_its_available_memory_estimated(tmp_path: Path) -> None:
    """Free memory and the caches that can be dropped; memory that is shared cannot."""
    (tmp_path / "meminfo").write_text(
        "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 50 kB\nCached: 300 kB\n"
        "Shmem: 80 kB\nSReclaimable: 30 kB\n"
    )
    reading = MemoryReader(tmp_path).read()
    assert reading.value.available_bytes == 400 * 1024
    assert [missing.field for missing in reading.missing] == ["available_bytes"]
    assert "estimated" in reading.missing[0].reason
