"""A hundred thousand mangled texts: parsers answer, or refuse in the sources' own words."""

import random
from collections.abc import Callable, Iterator

import pytest

from exporter.collectors import clock, pressure, processes
from exporter.collectors.cpu import health as cpu_health
from exporter.collectors.cpu import usage as cpu
from exporter.collectors.disk import diskstats as disk
from exporter.collectors.disk import filesystem, md, nvme
from exporter.collectors.memory import meminfo as memory
from exporter.collectors.memory import numa, vmstat
from exporter.collectors.network import infiniband, netstat
from exporter.collectors.network import interfaces as network
from exporter.collectors.pcie import devices as pcie
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.fakes import host_proc
from tests.fakes.host_proc import SAME

pytestmark = pytest.mark.slow

ROUNDS = 5000
LONGEST = 2500
ALPHABET = "0123456789 \n\t:-=/.()[]%abcXYZ\x00\ufffd²١,_"

NODE_MEMINFO = "Node 0 MemTotal:       8388608 kB\nNode 0 MemFree:        4194304 kB\n"


def _disks(text: str) -> object:
    return [disk.counted("sda", row) for row in disk.parse_diskstats(text).values()]


def _mounts(text: str) -> object:
    return filesystem.uppermost(filesystem.parse_mountinfo(text))


PARSERS: dict[str, tuple[Callable[[str], object], str]] = {
    "stat": (cpu.parse_stat, host_proc.stat(4)),
    "loadavg": (cpu.parse_loadavg, SAME["/proc/loadavg"]),
    "meminfo": (memory.parse_meminfo, host_proc.meminfo(1024 * 1024)),
    "vmstat": (vmstat.parse_vmstat, SAME["/proc/vmstat"]),
    "diskstats": (_disks, SAME["/proc/diskstats"]),
    "mountinfo": (_mounts, SAME["/proc/1/mountinfo"]),
    "net/dev": (network.parse_dev, SAME["/proc/1/net/dev"]),
    "net/snmp": (lambda text: netstat.parse_snmp(text, "Tcp"), SAME["/proc/1/net/snmp"]),
    "nf_conntrack": (netstat.parse_conntrack, "found insert_failed drop\n0000000a 00000001 2\n"),
    "softnet_stat": (netstat.parse_softnet, SAME["/proc/1/net/softnet_stat"]),
    "pressure": (lambda text: pressure.parse_pressure("io", text), SAME["/proc/pressure/io"]),
    "node meminfo": (numa.parse_meminfo, NODE_MEMINFO),
    "interrupts": (lambda text: cpu_health.parse_interrupts(text, "MCE"), SAME["/proc/interrupts"]),
    "mdstat": (md.parse_mdstat, SAME["/proc/mdstat"]),
    "rate": (infiniband.parse_rate, "400 Gb/sec (4X NDR)\n"),
    "state": (infiniband.parse_state, "4: ACTIVE\n"),
    "aer": (pcie.parse_aer, "RxErr 0\nBadTLP 3\nTOTAL_ERR_COR 3\n"),
    "link speed": (pcie.parse_speed, "32.0 GT/s PCIe\n"),
    "process": (processes.parse_state, host_proc.process_stat(1, "a b")),
    "threads": (processes.parse_threads, SAME["/proc/loadavg"]),
    "file-nr": (processes.parse_file_nr, SAME["/proc/sys/fs/file-nr"]),
}


def mangled(text: str, chance: random.Random) -> str:
    """The text with up to a dozen characters or stretches changed, added, dropped or doubled."""
    found = text[:LONGEST]
    for _ in range(chance.randint(1, 12)):
        start = chance.randrange(len(found) + 1)
        end = min(len(found), start + chance.randint(1, 30))
        found = chance.choice(
            (
                found[:start] + chance.choice(ALPHABET) + found[start + 1 :],
                found[:start] + chance.choice(ALPHABET) + found[start:],
                found[:start] + found[end:],
                found[:start] + found[start:end] * chance.randint(2, 4) + found[end:],
                found[:start] if chance.random() < 0.2 else found,
            )
        )
    return found


def numbers_in(value: object) -> Iterator[float]:
    """All numbers in what a parser gave, however deep."""
    if isinstance(value, (int, float)):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from numbers_in(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from numbers_in(item)


@pytest.mark.parametrize("name", PARSERS)
def test_nothing_but_the_words_of_a_source_comes_out(name: str) -> None:
    """No other exception, and no number below zero where only counters are."""
    parse, text = PARSERS[name]
    chance = random.Random(name)  # noqa: S311 - the same texts in every run
    parse(text)
    for _ in range(ROUNDS):
        try:
            found = parse(mangled(text, chance))
        except (SourceAbsent, SourceFailed):
            continue  # refused
        assert all(number >= 0 for number in numbers_in(found))


def test_structures_of_any_bytes_are_read_or_refused() -> None:
    """The health log of a disk, and the kernel's answer about its clock."""
    chance = random.Random(7)  # noqa: S311 - the same bytes in every run
    for _ in range(ROUNDS):
        raw = chance.randbytes(chance.choice((0, 10, 511, 512, 600)))
        for parse in (
            lambda raw: nvme.parse_health_log("nvme0", raw),
            lambda raw: clock.parse_timex(chance.randrange(6), raw),
        ):
            try:
                parse(raw)
            except SourceFailed:
                continue  # refused
