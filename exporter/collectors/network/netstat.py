"""TCP, receive queues and connection tracking.

https://docs.kernel.org/networking/snmp_counter.html (net/snmp, net/netstat)
https://docs.kernel.org/admin-guide/sysctl/net.html (softnet_stat: processed, dropped, squeezed)
https://docs.kernel.org/networking/nf_conntrack-sysctl.html (stat/nf_conntrack, hexadecimal)
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from exporter.collectors.network.interfaces import (
    OWN_ROOTS,
    OwnRoots,
    is_the_nodes,
    net_folder,
    parse_names,
)
from exporter.collectors.network.values import NetworkStack
from exporter.exposition.rows import read_from
from exporter.model.reading import Reading
from exporter.reading.files import MAX_FILE_BYTES, read_text
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.reading.sysfs import FieldReader, parse_counter

CONNTRACK_DROP = "drop"
"""Each packet that conntrack drops counts here (net/netfilter/nf_conntrack_core.c).

`insert_failed` counts many of them again, and packets of solved clashes, which pass; `early_drop`
counts connections that were forgotten for new ones.
"""
SOFTNET = ("processed", "dropped", "squeezed")
"""The first columns of softnet_stat: packets, packets dropped, and rounds cut short."""


class NetworkStackReader:
    """Reads the tables of process 1, and the sysctls of connection tracking."""

    def __init__(self, proc_root: Path, own: OwnRoots = OWN_ROOTS) -> None:
        self._proc = proc_root
        self._own = own

    def read(self) -> Reading[NetworkStack]:
        """Read all counters now; raise SourceAbsent if only those of a pod are visible."""
        fields = FieldReader()
        folder = net_folder(self._proc)
        names = self._interfaces(folder)
        if not is_the_nodes(self._proc, names, self._own):
            raise SourceAbsent("only a pod's own network can be seen")

        def table(field: str, name: str) -> str:
            return fields.text(field, folder / name, MAX_FILE_BYTES) or ""

        tcp = parse_snmp(table("tcp", "snmp"), "Tcp")
        tcp |= parse_snmp(table("tcp_listen_drops", "netstat"), "TcpExt")
        softnet = parse_softnet(table("softnet", "softnet_stat"))
        tracking = self._tracking(names, fields)
        stack = NetworkStack(
            tcp_segments_received=tcp.get("Tcp:InSegs"),
            tcp_segments_sent=tcp.get("Tcp:OutSegs"),
            **{field: tcp.get(name) for field, name in read_from(NetworkStack).items()},
            softnet_dropped=softnet.get("dropped"),
            softnet_squeezed=softnet.get("squeezed"),
            conntrack_entries=tracking[0],
            conntrack_limit=tracking[1],
            conntrack_drops=parse_conntrack(table("conntrack", "stat/nf_conntrack")),
        )
        if stack == NetworkStack():
            raise SourceAbsent(f"{folder} holds none of snmp, netstat, softnet_stat")
        return Reading(stack, fields.missing)

    def _interfaces(self, folder: Path) -> set[str]:
        try:
            return parse_names(read_text(folder / "dev"))
        except (SourceAbsent, SourceFailed):
            return set()  # reported by the source `network`

    def _tracking(self, names: set[str], fields: FieldReader) -> tuple[int | None, int | None]:
        """Read entries and limit; None if we are in another network namespace."""
        ours = self._interfaces(self._proc / "net")
        if ours and ours != names:
            fields.skip("conntrack", "only that of our own network can be seen")
            return None, None
        folder = self._proc / "sys/net/netfilter"
        return (
            fields.count("conntrack_entries", folder / "nf_conntrack_count"),
            fields.count("conntrack_limit", folder / "nf_conntrack_max"),
        )


def parse_snmp(text: str, protocol: str) -> dict[str, int]:
    """Parse the counters of one protocol: a line of names and one of numbers, as `Tcp:InSegs`."""
    lines = [line.split() for line in text.split("\n") if line.startswith(f"{protocol}:")]
    result = {}
    for names, numbers in zip(lines[::2], lines[1::2], strict=False):
        for name, word in zip(names[1:], numbers[1:], strict=False):
            number = parse_counter(word)
            if number is not None:
                result[f"{protocol}:{name}"] = number
    return result


def parse_conntrack(text: str) -> int | None:
    """Sum the packets that conntrack dropped over all processors; None if unknown."""
    header, *rows = [line.split() for line in text.split("\n") if line.strip()] or [[]]
    try:
        column = header.index(CONNTRACK_DROP)
        drops = [int(row[column], 16) for row in rows]
    except (ValueError, IndexError):
        return None  # not the table
    return sum(drops) if drops and min(drops) >= 0 else None


def parse_softnet(text: str) -> Mapping[str, int]:
    """Sum the columns of `softnet_stat` over processors; empty if no row is one of the table."""
    sums: Counter[str] = Counter()
    for line in text.split("\n"):
        try:
            columns = [int(word, 16) for word in line.split()]
        except ValueError:
            continue  # not a row of the table
        if len(columns) >= len(SOFTNET) and min(columns) >= 0:
            sums.update(dict(zip(SOFTNET, columns, strict=False)))
    return sums
