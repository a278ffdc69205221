"""Paging: what `/proc/vmstat` says."""

import pytest

from exporter.collectors.memory.vmstat import PAGE_BYTES, PagingReader, parse_vmstat
from exporter.reading.source import SourceFailed
from tests.collectors.small_node import SmallNode


def test_pages_are_shown_in_bytes(node: SmallNode) -> None:
    """Faults and kills stay counts."""
    node.write("proc/vmstat", "nr_free 9\npswpin 2\npswpout 3\npgmajfault 4\noom_kill 1\n")
    paging = PagingReader(node.proc).read().value
    assert (paging.swap_in_bytes, paging.swap_out_bytes) == (2 * PAGE_BYTES, 3 * PAGE_BYTES)
    assert (paging.major_faults, paging.oom_kills) == (4, 1)


def test_a_kernel_that_does_not_count_kills_says_so(node: SmallNode) -> None:
    """`oom_kill` is there since Linux 4.13: before that it is absent, not zero."""
    node.write("proc/vmstat", "pswpin 0\npswpout 0\npgmajfault 0\n")
    reading = PagingReader(node.proc).read()
    assert reading.value.oom_kills is None
    assert [missing.field for missing in reading.missing] == ["oom_kill"]


@pytest.mark.parametrize("text", ["", "garbage", "pswpin -1", "pswpin x\n", "oom_kill"])
def test_garbage_is_a_failure(text: str) -> None:
    """A file without any counter that is known is not all zeros."""
    with pytest.raises(SourceFailed):
        parse_vmstat(text)
