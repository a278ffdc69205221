"""The collector of disks, filesystems, NVMe controllers and RAID arrays."""

from pathlib import Path

from exporter.collector import Collector, SourceRow, files
from exporter.collectors.disk.diskstats import DiskReader
from exporter.collectors.disk.entities import DISK, FIELDS, FILESYSTEM, MD_ARRAY, NFS_MOUNT, links
from exporter.collectors.disk.events import Partitions
from exporter.collectors.disk.families import FAMILIES
from exporter.collectors.disk.filesystem import FilesystemSource
from exporter.collectors.disk.md import MdReader
from exporter.collectors.disk.nvme import NvmeHealthReader, NvmeReader
from exporter.collectors.disk.repairs import MountRepairs
from exporter.collectors.disk.values import (
    Disks,
    Filesystems,
    MdArrays,
    NvmeControllers,
    NvmeHealths,
)
from exporter.faults.subject import Subject
from exporter.reading.context import SourceContext
from exporter.reading.source import AnySource

ADMIN_COMMAND_SECS = 5.0
"""For admin commands to disks."""


def _filesystem(ctx: SourceContext) -> AnySource:
    return FilesystemSource(ctx.proc, ctx.sys, ctx.root, ctx.call, ctx.devices)


COLLECTOR = Collector(
    "disk",
    sources=(
        files("disk", "disk", lambda ctx: DiskReader(ctx.proc, ctx.sys, ctx.devices)),
        SourceRow("filesystem", "filesystem", _filesystem),
        files("nvme", "nvme", lambda ctx: NvmeReader(ctx.sys)),
        files(
            "nvme_health",
            "nvme",
            lambda ctx: NvmeHealthReader(ctx.sys, ctx.root),
            deadline_secs=ADMIN_COMMAND_SECS,
            by_default=False,
        ),
        files("md", "raid", lambda ctx: MdReader(ctx.proc)),
    ),
    values=(Disks, Filesystems, MdArrays, NvmeControllers, NvmeHealths),
    families=FAMILIES,
    subject=Subject(
        kinds=(DISK, FILESYSTEM, MD_ARRAY, NFS_MOUNT),
        node=FIELDS,
        interpreter=Partitions,
        repairs=MountRepairs,
        repair_kinds=frozenset({"mounted"}),
        links=(links,),
    ),
    rules=Path(__file__).parent / "rules",
)
