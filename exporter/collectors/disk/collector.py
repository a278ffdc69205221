"""The collector of disks, filesystems, NVMe controllers and RAID arrays."""

from pathlib import Path

from exporter.collector import About, Collector, SourceRow, files
from exporter.collectors.disk.diskstats import DiskReader
from exporter.collectors.disk.entities import (
    DISK,
    FIELDS,
    FILESYSTEM,
    MD_ARRAY,
    NFS_MOUNT,
    DiskNames,
    joins,
    lost_disks,
)
from exporter.collectors.disk.families import FAMILIES
from exporter.collectors.disk.filesystem import FilesystemSource
from exporter.collectors.disk.md import MdReader
from exporter.collectors.disk.nvme import NvmeHealthReader, NvmeReader
from exporter.collectors.disk.repairs import StorageRepairs
from exporter.collectors.disk.values import (
    Disks,
    Filesystems,
    MdArrays,
    NvmeControllers,
    NvmeHealths,
)
from exporter.faults.subject import CollectorSubject
from exporter.reading.context import SourceContext
from exporter.reading.source import AnySource

ADMIN_COMMAND_SECS = 5.0
"""The deadline of a read with admin commands to disks."""


def _filesystem(ctx: SourceContext) -> AnySource:
    return FilesystemSource(ctx.proc, ctx.sys, ctx.root, ctx.call, ctx.devices)


COLLECTOR = Collector(
    "disk",
    sources=(
        files(
            "disk",
            "disk",
            lambda ctx: DiskReader(ctx.proc, ctx.sys, ctx.devices),
            about=About("`/proc/diskstats`, `/sys/block`", "`hw_disk_*`"),
        ),
        SourceRow(
            "filesystem",
            "filesystem",
            _filesystem,
            about=About(
                "`/proc/1/mountinfo`, statvfs",
                "`hw_filesystem_*`",
                "the root of the node mounted with `HostToContainer` propagation",
                without="only mounts that are visible in the container",
            ),
        ),
        files(
            "nvme",
            "nvme",
            lambda ctx: NvmeReader(ctx.sys),
            about=About("`/sys/class/nvme`", "`hw_nvme_state`"),
        ),
        files(
            "nvme_health",
            "nvme",
            lambda ctx: NvmeHealthReader(ctx.sys, ctx.root),
            deadline_secs=ADMIN_COMMAND_SECS,
            by_default=False,
            about=About(
                "an admin command to each disk",
                "`hw_nvme_*`",
                "CAP_SYS_ADMIN and the device files",
                without="the source fails, with the reason",
            ),
        ),
        files(
            "md",
            "raid",
            lambda ctx: MdReader(ctx.proc, ctx.sys),
            about=About("`/proc/mdstat`, `/sys/block/md*/md`", "`hw_md_*`"),
        ),
    ),
    values=(Disks, Filesystems, MdArrays, NvmeControllers, NvmeHealths),
    families=FAMILIES,
    subject=CollectorSubject(
        kinds=(DISK, FILESYSTEM, MD_ARRAY, NFS_MOUNT),
        node=FIELDS,
        interpreter=DiskNames,
        repairs=StorageRepairs,
        repair_kinds=frozenset({"disk_attached", "mounted", "unmounted"}),
        joins=(joins,),
        links=(lost_disks,),
    ),
    rules=Path(__file__).parent / "rules",
)
