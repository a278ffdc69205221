"""TCP, receive queues and connection tracking."""

from pathlib import Path

import pytest

from exporter.collectors.network.interfaces import OwnRoots
from exporter.collectors.network.netstat import (
    NetworkStackReader,
    parse_conntrack,
    parse_snmp,
    parse_softnet,
)
from exporter.reading.source import SourceAbsent
from tests.collectors.small_node import SmallNode
from tests.fakes.host_tree import cpu_node

SNMP = "Ip: A B\nIp: 1 2\nTcp: RtoAlgorithm MaxConn InSegs OutSegs\nTcp: 1 -1 30 40\n"


def test_names_and_numbers_are_on_two_lines() -> None:
    """A number below zero is not a counter; the others of its line are."""
    assert parse_snmp(SNMP, "Tcp") == {"Tcp:RtoAlgorithm": 1, "Tcp:InSegs": 30, "Tcp:OutSegs": 40}


@pytest.mark.parametrize("length", range(0, len(SNMP), 3))
def test_a_cut_table_never_raises(length: int) -> None:
    """No number is given to the wrong name."""
    assert set(parse_snmp(SNMP[:length], "Tcp")) <= {
        *("Tcp:RtoAlgorithm", "Tcp:InSegs", "Tcp:OutSegs")
    }


@pytest.mark.parametrize("text", ["", "garbage", "00 11", "zz zz zz", "-1 -1 -1", "\x00"])
def test_garbage_is_no_queue(text: str) -> None:
    """No row is no number, never zero."""
    assert parse_softnet(text) == {}


def test_without_connection_tracking_nothing_is_said_of_it(tmp_path: Path) -> None:
    """The module is not loaded: absent, not zero of zero."""
    tree = cpu_node(tmp_path)
    tree.remove("/proc/sys/net/netfilter/nf_conntrack_count")
    tree.remove("/proc/sys/net/netfilter/nf_conntrack_max")
    stack = NetworkStackReader(tree.proc).read().value
    assert (stack.conntrack_entries, stack.conntrack_limit) == (None, None)
    assert stack.tcp_segments_sent == 9212001


def test_connection_tracking_of_a_pod_is_not_the_nodes(tmp_path: Path) -> None:
    """Sysctls are always those of our own network, whatever proc filesystem is read."""
    tree = cpu_node(tmp_path)
    table = (tree.proc / "1/net/dev").read_text()
    ours = "".join(line for line in table.splitlines(keepends=True) if "veth" not in line)
    tree.write({"/proc/net/dev": ours})
    reading = NetworkStackReader(tree.proc).read()
    assert reading.value.conntrack_entries is None
    assert reading.value.tcp_segments_sent == 9212001
    assert [missing.field for missing in reading.missing] == ["conntrack"]


def test_a_pods_own_tcp_is_never_the_nodes(node: SmallNode) -> None:
    """Without the host's process ids and with no hardware to be seen, nothing is shown."""
    node.interface("eth0")
    node.write("proc/1/net/snmp", SNMP)
    with pytest.raises(SourceAbsent, match="pod"):
        NetworkStackReader(node.proc, OwnRoots(node.proc, node.sys)).read()


CONNTRACK = """entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop
000000d4  00000000 00000000 00000000 00000001 00000002 00000000 00000000 00000000 00000001 0000000a 00000002
000000d4  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000005 00000000
"""  # noqa: E501 - as the kernel writes it


def test_packets_that_connection_tracking_drops_are_summed() -> None:
    """The column of all processors, in hexadecimal, found by its name.

    A failed insertion is one of these packets or none; an early drop is an entry.
    """
    assert parse_conntrack(CONNTRACK) == 10 + 5


@pytest.mark.parametrize(
    "text", ["", "entries\n", "drop\n", "drop\nx\n", "found drop\n1\n", "drop\n-1\n"]
)
def test_a_table_without_losses_says_nothing(text: str) -> None:
    """What is not the table is absent and never zero."""
    assert parse_conntrack(text) is None


def test_every_processor_of_a_large_server_counts(node: SmallNode) -> None:
    """Tables with a row for each of 512 processors are read to their end."""
    node.interface("eth0")
    row = " ".join(["00000001"] * 13)
    node.write("proc/1/net/softnet_stat", f"{row}\n" * 512)
    node.write(
        "proc/1/net/stat/nf_conntrack", CONNTRACK.split("\n", maxsplit=1)[0] + f"\n{row}" * 512
    )
    stack = NetworkStackReader(node.proc).read().value
    assert (stack.softnet_dropped, stack.softnet_squeezed) == (512, 512)
    assert stack.conntrack_drops == 512
