"""Numbers of files under /proc that dashboards of node_exporter show; off by default.

Nothing is judged by them. deploy/prometheus/compat-node.yml gives them the names of node_exporter.
https://docs.kernel.org/filesystems/proc.html
https://docs.kernel.org/admin-guide/iostats.html
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from exporter.collector import About, Collector, files
from exporter.collectors.network.interfaces import OWN_ROOTS, OwnRoots, is_the_nodes, net_folder
from exporter.collectors.network.netstat import parse_snmp, parse_softnet
from exporter.exposition.family import experimental
from exporter.exposition.rows import Row, families, reading
from exporter.model.label import clean_text
from exporter.model.reading import Reading
from exporter.reading.files import MAX_FILE_BYTES
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader, parse_counter
from exporter.record import dataclass

MAX_DEVICES = 32
"""Disks and network interfaces whose numbers are exported, the first of each file."""

MEMINFO = frozenset(
    {
        *("Active", "Active(anon)", "Active(file)", "AnonHugePages", "AnonPages", "CommitLimit"),
        *("Committed_AS", "DirectMap1G", "DirectMap2M", "DirectMap4k", "Hugepagesize"),
        *("Inactive", "Inactive(anon)", "Inactive(file)", "KernelStack", "Mapped", "Mlocked"),
        *("NFS_Unstable", "PageTables", "Percpu", "SReclaimable", "Shmem", "ShmemHugePages"),
        *("ShmemPmdMapped", "Slab", "SwapCached", "Unevictable", "VmallocChunk", "VmallocTotal"),
        *("VmallocUsed", "WritebackTmp", "Zswap", "Zswapped"),
    }
)
HUGE_PAGES = frozenset(f"HugePages_{it}" for it in ("Total", "Free", "Rsvd", "Surp"))
VMSTAT = frozenset(("pgfault", "pgpgin", "pgpgout"))
STAT = frozenset(("intr", "processes"))
PROTOCOLS = {
    "snmp": ("Icmp", "Tcp", "Udp", "UdpLite"),
    "netstat": ("TcpExt", "IpExt"),
}
NETSTAT = frozenset(
    {
        *("Icmp:InErrors", "Icmp:InMsgs", "Icmp:OutMsgs", "IpExt:InOctets", "IpExt:OutOctets"),
        *("TcpExt:ListenOverflows", "TcpExt:SyncookiesFailed", "TcpExt:SyncookiesRecv"),
        *("TcpExt:SyncookiesSent", "TcpExt:TCPSynRetrans", "TcpExt:TCPTimeouts"),
        *("Tcp:ActiveOpens", "Tcp:InErrs", "Tcp:PassiveOpens", "Udp:InDatagrams", "Udp:InErrors"),
        *("Udp:NoPorts", "Udp:OutDatagrams", "Udp:RcvbufErrors", "Udp:SndbufErrors"),
        *("UdpLite:InErrors",),
    }
)
ESTABLISHED = "Tcp:CurrEstab"
DEV_COLUMNS = {
    "receive_fifo": 4,
    "receive_frame": 5,
    "receive_compressed": 6,
    "receive_multicast": 7,
    "transmit_fifo": 12,
    "transmit_colls": 13,
    "transmit_carrier": 14,
    "transmit_compressed": 15,
}
DISK_COLUMNS = {
    "reads_merged": 4,
    "writes_merged": 8,
    "discards_completed": 14,
    "discards_merged": 15,
    "discarded_sectors": 16,
    "discard_time_milliseconds": 17,
    "flush_requests": 18,
    "flush_requests_time_milliseconds": 19,
}
_NOT_A_DISK = re.compile(r"(?:loop|ram|fd)\d+|(?:[hsv]|xv)d[a-z]\d+|nvme\d+n\d+p\d+")
"""Without partitions, as node_exporter leaves them out."""


FileNumber: TypeAlias = tuple[str, str, str, float]
"""A number with its file, device (empty for the node) and field."""


@dataclass(frozen=True, slots=True)
class KernelNumbers:
    """Numbers of files, by their unit and type."""

    bytes: tuple[FileNumber, ...]
    values: tuple[FileNumber, ...]
    counters: tuple[FileNumber, ...]


class KernelFilesReader:
    """Reads a handful of files under a proc root."""

    def __init__(self, proc_root: Path, own: OwnRoots = OWN_ROOTS) -> None:
        self._proc = proc_root
        self._own = own
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")

    def read(self) -> Reading[KernelNumbers]:
        """Read all numbers now; raise SourceAbsent if there is none."""
        fields = FieldReader()

        def text(name: str) -> str:
            return fields.text(name, self._proc / name, MAX_FILE_BYTES) or ""

        numbers = KernelNumbers(
            bytes=tuple(_meminfo(text("meminfo"))),
            values=tuple(
                ("random", "", name, float(number))
                for name in ("entropy_avail", "poolsize")
                if (number := parse_counter(text(f"sys/kernel/random/{name}"))) is not None
            ),
            counters=(
                *_lines("vmstat", text("vmstat"), VMSTAT),
                *_lines("stat", text("stat"), STAT),
                *_disks(text("diskstats")),
            ),
        )
        numbers = self._with_network(numbers, fields)
        if numbers == KernelNumbers((), (), ()):
            raise SourceAbsent(f"{self._proc} holds none of meminfo, vmstat, stat, diskstats")
        return Reading(numbers, fields.missing)

    def _with_network(self, numbers: KernelNumbers, fields: FieldReader) -> KernelNumbers:
        """Add those of the network, unless only a pod's own can be seen."""
        folder = net_folder(self._proc)

        def text(name: str) -> str:
            return fields.text(name, folder / name, MAX_FILE_BYTES) or ""

        rows = [line.rpartition(":")[::2] for line in text("dev").split("\n") if ":" in line]
        if not is_the_nodes(self._proc, [name.strip() for name, _ in rows], self._own):
            fields.skip("dev", "only a pod's own network can be seen")
            return numbers
        found = {
            name: number
            for file, protocols in PROTOCOLS.items()
            for content in (text(file),)
            for protocol in protocols
            for name, number in parse_snmp(content, protocol).items()
        }
        sockets = dict(_sockets(text("sockstat")))
        memory = {it: n * self._page_bytes for it, n in sockets.items() if it.endswith("_mem")}
        established = found.get(ESTABLISHED)
        known = {} if established is None else {"TCP_established": established}
        softnet = parse_softnet(text("softnet_stat"))
        arp = text("arp").split("\n")
        neighbours = {"entries": len(arp) - 2} if len(arp) > 1 else {}
        return KernelNumbers(
            (*numbers.bytes, *_of("sockstat", memory)),
            (
                *numbers.values,
                *_of("sockstat", sockets | known),
                *_of("arp", neighbours),
            ),
            (
                *numbers.counters,
                *_of("netstat", {it: n for it, n in found.items() if it in NETSTAT}),
                *_of("softnet_stat", {it: n for it, n in softnet.items() if it == "processed"}),
                *_table("dev", ((name, rest.split()) for name, rest in rows), DEV_COLUMNS),
            ),
        )


def _of(file: str, numbers: dict[str, int]) -> Iterator[FileNumber]:
    for name, number in numbers.items():
        yield file, "", name, float(number)


def _meminfo(text: str) -> Iterator[FileNumber]:
    """Yield bytes; huge pages, which the file counts, in bytes too."""
    found = {}
    for line in text.split("\n"):
        name, _, rest = line.partition(":")
        number = parse_counter((rest.split() or [""])[0])
        if number is not None:
            found[name] = number
    page_kib = found.get("Hugepagesize", 0)
    for name, number in found.items():
        if name in MEMINFO:
            yield "meminfo", "", name, 1024.0 * number
        elif name in HUGE_PAGES and page_kib:
            yield "meminfo", "", name, 1024.0 * number * page_kib


def _lines(file: str, text: str, names: frozenset[str]) -> Iterator[FileNumber]:
    """Yield the first number of each line that begins with one of these names."""
    for line in text.split("\n"):
        words = line.split(maxsplit=2)
        number = parse_counter(words[1]) if len(words) > 1 and words[0] in names else None
        if number is not None:
            yield file, "", words[0], float(number)


def _disks(text: str) -> Iterator[FileNumber]:
    rows = (line.split() for line in text.split("\n"))
    named = ((words[2], words) for words in rows if len(words) > 2)  # noqa: PLR2004 - major, minor, name
    disks = ((name, words) for name, words in named if not _NOT_A_DISK.fullmatch(name))
    return _table("diskstats", disks, DISK_COLUMNS)


def _table(
    file: str, rows: Iterable[tuple[str, list[str]]], columns: dict[str, int]
) -> Iterator[FileNumber]:
    """Yield the columns of each row that it has; older kernels have fewer."""
    for number_of_row, (device, words) in enumerate(rows):
        if number_of_row >= MAX_DEVICES:
            return
        for name, column in columns.items():
            number = parse_counter(words[column]) if column < len(words) else None
            if number is not None:
                yield file, clean_text(device.strip()), name, float(number)


def _sockets(text: str) -> Iterator[tuple[str, int]]:
    for line in text.split("\n"):
        protocol, _, rest = line.partition(":")
        words = rest.split()
        for name, word in zip(words[::2], words[1::2], strict=False):
            number = parse_counter(word)
            if number is not None:
                yield f"{protocol}_{name}", number


LABELS = ("file", "device", "field")

COLLECTOR = Collector(
    "kernel_files",
    sources=(
        files(
            "kernel_files",
            "node",
            lambda ctx: KernelFilesReader(ctx.proc),
            by_default=False,
            about=About(
                "`meminfo`, `vmstat`, `stat`, `diskstats`, `net/*`, `sys/kernel/random`",
                "`hw_kernel_file_*` for dashboards of node_exporter",
                "as `network` for `net/*`",
            ),
        ),
    ),
    values=(KernelNumbers,),
    families=experimental(
        families(
            "hw_kernel_file_",
            reading(KernelNumbers),
            Row(
                "bytes",
                "Bytes in files of the kernel that no other metric has (meminfo, sockstat);"
                " with source kernel_files.",
                labels=LABELS,
            ),
            Row(
                "values",
                "Counts in files of the kernel that no other metric has (sockstat, random, arp);"
                " with source kernel_files.",
                labels=LABELS,
                never_bad="a rule judges them together with other values",
            ),
            Row(
                "counters_total",
                "Counters in files of the kernel that no other metric has (vmstat, stat, diskstats,"
                " netstat, dev, softnet_stat); with source kernel_files.",
                labels=LABELS,
                field="counters",
            ),
        )
    ),
)
