"""Memory of NUMA nodes."""

import pytest

from exporter.collectors.memory.numa import NumaReader, parse_meminfo
from exporter.collectors.memory.values import NumaNode
from tests.collectors.small_node import SmallNode

MEMINFO = "Node 0 MemTotal:       8388608 kB\nNode 0 MemFree:        4194304 kB\n"


def test_each_node_says_its_memory_in_bytes(node: SmallNode) -> None:
    """Nodes are ordered by number, not by text."""
    for number in (10, 2):
        node.write(f"sys/devices/system/node/node{number}/meminfo", MEMINFO)
    assert NumaReader(node.sys).read().value.nodes == (
        NumaNode("2", 8388608 * 1024, 4194304 * 1024),
        NumaNode("10", 8388608 * 1024, 4194304 * 1024),
    )


@pytest.mark.parametrize("text", ["", "garbage", "Node 0 MemTotal: x kB", "Node 0 MemTotal: -1 kB"])
def test_garbage_costs_the_node_its_values(node: SmallNode, text: str) -> None:
    """The node is there without numbers, and the reason is kept."""
    assert parse_meminfo(text) == {}
    node.write("sys/devices/system/node/node0/meminfo", text)
    reading = NumaReader(node.sys).read()
    assert reading.value.nodes == (NumaNode("0"),)
    assert [missing.field for missing in reading.missing] == ["node0"]
