"""Files of the kernel for dashboards of others: names, units, bounds, and what is not said."""

from pathlib import Path

from exporter.collectors.kernel_files import MAX_DEVICES, KernelFilesReader, KernelNumbers
from exporter.collectors.network.interfaces import OwnRoots

FILES = {
    "meminfo": "MemTotal: 9 kB\nActive(anon):  4 kB\nHugePages_Rsvd: 3\nHugepagesize: 2048 kB\n",
    "vmstat": "pgfault 7\npgpgin 8\nnr_free 1\n",
    "stat": "cpu 1 2\nintr 55 1 2 3\nprocesses 66\n",
    "diskstats": "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 1500\n"
    "8 1 sda1 1 2 3\n259 0 nvme0n1 1 2\n",
    "sys/kernel/random/entropy_avail": "256\n",
    "1/net/dev": "Inter-| Receive\n face |bytes\n  eth0: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
    "1/net/snmp": "Tcp: InErrs CurrEstab Other\nTcp: 5 6 7\n",
    "1/net/netstat": "TcpExt: TCPTimeouts\nTcpExt: 8\n",
    "1/net/sockstat": "sockets: used 3\nTCP: inuse 4 mem 2\n",
    "1/net/softnet_stat": "0000000a 1 2\n00000010 1 2\n",
    "1/net/arp": "IP address\n10.0.0.1 0x1\n10.0.0.2 0x1\n",
}


def _read(folder: Path, **changes: str) -> KernelNumbers:
    for name, text in (FILES | {key.replace("__", "/"): it for key, it in changes.items()}).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return KernelFilesReader(folder, OwnRoots(proc=Path("/elsewhere"))).read().value


def test_each_file_gives_the_fields_that_no_other_metric_has(tmp_path: Path) -> None:
    """Sizes are in bytes, disks are without partitions, columns of newer kernels may be missing."""
    found = _read(tmp_path)
    sizes = {(file, field): number for file, _, field, number in found.bytes}
    assert sizes["meminfo", "Active(anon)"] == 4096
    assert sizes["meminfo", "HugePages_Rsvd"] == 3 * 2048 * 1024
    assert sizes["sockstat", "TCP_mem"] % 4096 == 0
    assert ("meminfo", "MemTotal") not in sizes
    assert set(found.values) == {
        ("random", "", "entropy_avail", 256),
        ("sockstat", "", "sockets_used", 3),
        ("sockstat", "", "TCP_inuse", 4),
        ("sockstat", "", "TCP_mem", 2),
        ("sockstat", "", "TCP_established", 6),
        ("arp", "", "entries", 2),
    }
    assert {it for it in found.counters if it[0] != "dev"} == {
        ("vmstat", "", "pgfault", 7),
        ("vmstat", "", "pgpgin", 8),
        ("stat", "", "intr", 55),
        ("stat", "", "processes", 66),
        ("diskstats", "sda", "reads_merged", 2),
        ("diskstats", "sda", "writes_merged", 6),
        ("diskstats", "nvme0n1", "reads_merged", 2),
        ("diskstats", "sda", "discards_completed", 12),
        ("diskstats", "sda", "discards_merged", 13),
        ("diskstats", "sda", "discarded_sectors", 14),
        ("diskstats", "sda", "discard_time_milliseconds", 1500),
        ("netstat", "", "Tcp:InErrs", 5),
        ("netstat", "", "TcpExt:TCPTimeouts", 8),
        ("softnet_stat", "", "processed", 26),
    }
    assert ("dev", "eth0", "transmit_carrier", 14) in found.counters


def test_garbage_is_left_out(tmp_path: Path) -> None:
    """Words, negative numbers and endless lines give nothing, and cost no other number."""
    found = _read(
        tmp_path,
        meminfo="Active: x kB\nSlab: -1 kB\nShmem: " + "9" * 400 + " kB\nMapped:\n",
        vmstat="pgfault\npgpgin one\n",
        diskstats="8 0\n\n8 0 sda x\n",
        **{
            "1__net__sockstat": "TCP\nTCP: inuse\nUDP: inuse x\n",
            "1__net__softnet_stat": "0000000a 1\n-1 2\n",
        },
    )
    assert found.bytes == ()
    assert {file for file, _, _, _ in found.counters} == {"stat", "netstat", "dev"}


def test_devices_are_bounded(tmp_path: Path) -> None:
    """A node with very many disks has the numbers of some."""
    rows = "\n".join(f"8 {n} disk{n} 1 2 3 4 5 6 7 8 9 10 11" for n in range(500))
    disks = {
        device
        for file, device, _, _ in _read(tmp_path, diskstats=rows).counters
        if file == "diskstats"
    }
    assert len(disks) == MAX_DEVICES


def test_the_network_of_a_pod_is_not_the_nodes(tmp_path: Path) -> None:
    """Where only a pod's own network can be seen its numbers are left out, the rest is there."""
    _read(tmp_path)
    own = OwnRoots(proc=tmp_path, sys=tmp_path / "sys")
    reading = KernelFilesReader(tmp_path, own).read()
    files = {it[0] for it in (*reading.value.bytes, *reading.value.values, *reading.value.counters)}
    assert files == {"meminfo", "random", "vmstat", "stat", "diskstats"}
    assert "only a pod's own network can be seen" in {it.reason for it in reading.missing}


def test_a_table_that_is_not_there_is_no_empty_one(tmp_path: Path) -> None:
    """Without `net/arp` its entries are not said, never zero."""
    _read(tmp_path)
    (tmp_path / "1/net/arp").unlink()
    values = KernelFilesReader(tmp_path).read().value.values
    assert "arp" not in {file for file, *_ in values}
