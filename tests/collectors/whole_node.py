"""All sources that read files, over a tree of files, without threads or a collector."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import cast

from exporter.collectors.everything import SOURCES
from exporter.collectors.network.ethtool import EthtoolReader
from exporter.collectors.services.collector import NVSWITCHES, ServicesReader
from exporter.collectors.services.values import Services
from exporter.config import Config
from exporter.config.defaults import SERVICES
from exporter.model.snapshot import Snapshot
from exporter.reading.files import FileSource
from exporter.reading.source import Source, SourceAbsent, SourceFailed
from tests.fakes.ethtool import FakeDrivers
from tests.fakes.host_tree import HostTree
from tests.fakes.source_context import call_now, source_context
from tests.fakes.system_bus import SystemBus

OTHERS = {"gpu", "workloads", "probes", "kernel_log", "exporter"}
STATISTICS = {
    "rx_dropped.nic": 12, "rx_crc_errors.nic": 0, "link_xoff_rx.nic": 0, "link_xoff_tx.nic": 0,
    **{f"{way}_priority_{each}_xoff.nic": each // 3 for way in ("rx", "tx") for each in range(8)},
}  # fmt: skip
DRIVERS = FakeDrivers(lambda: {"eth0": ("0000:04:00.0", STATISTICS)})
"""The driver of the Ethernet card of every tree with one."""
UNITS = "/run/units"
NODE_ROWS = tuple(row for row in SOURCES if row.group not in OTHERS)


def sources(tree: HostTree) -> Iterator[Source]:
    """Every source of the list that reads files, over this tree."""
    config = Config()
    roots = replace(
        config.sources,
        proc_root=str(tree.proc),
        sys_root=str(tree.sys),
        host_root=str(tree.host),
    )
    ctx = source_context(replace(config, sources=roots))
    asked = EthtoolReader(tree.proc, tree.sys, config.devices, open_in=DRIVERS.opened_in)
    drivers = FileSource("ethtool", asked.read, call_now)
    built = (
        drivers if row.name == "ethtool" else cast("Source", row.build(ctx)) for row in NODE_ROWS
    )
    return (source for source in built if hasattr(source, "read"))  # the others follow a reading


def source_of(tree: HostTree, name: str) -> Source:
    """The source of this name, over this tree."""
    (source,) = (source for source in sources(tree) if source.name == name)
    return source


def _services(tree: HostTree) -> Services:
    """Ask the system bus of the tree, in a folder with a short name: paths of sockets are short."""
    with TemporaryDirectory() as folder:
        bus = SystemBus(Path(folder) / "bus", tree.at(UNITS))
        found = ServicesReader(bus.path, tree.proc / NVSWITCHES, SERVICES).read().value
        bus.close()
    return found


def look_around(tree: HostTree, leave_out: frozenset[str] = frozenset()) -> Snapshot:
    """What all of them see now, as a snapshot."""
    readings: dict[type, object] = {}
    for source in sources(tree):
        if source.name in leave_out:
            continue
        try:
            value = asyncio.run(source.read()).value
        except (SourceAbsent, SourceFailed):
            continue  # not on this node
        readings[type(value)] = value
    if tree.at(UNITS).is_dir():
        readings[Services] = _services(tree)
    return Snapshot(
        node="node-1",
        sequence=1,
        taken_at=0.0,
        taken_boottime=0.0,
        duration_secs=0.0,
        readings=MappingProxyType(readings),
    )
