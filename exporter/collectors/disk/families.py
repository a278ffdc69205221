"""Metric families of disks, filesystems, NVMe controllers and RAID arrays."""

from collections.abc import Iterable

from exporter.collectors.disk.values import (
    Disk,
    Disks,
    Filesystem,
    Filesystems,
    MdArray,
    MdArrays,
    NvmeControllers,
    NvmeHealth,
    NvmeHealths,
)
from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Row, each, families, info
from exporter.model.snapshot import Snapshot

DISKS = each(Disks, lambda disks: disks.disks, Disk, "device")

DISK_FAMILIES = (
    *families(
        "hw_disk_",
        DISKS,
        Row("read_bytes_total", "Bytes read from the disk since boot."),
        Row("written_bytes_total", "Bytes written to the disk since boot."),
        Row("reads_completed_total", "Read requests that the disk has completed."),
        Row("writes_completed_total", "Write requests that the disk has completed."),
        Row("read_time_seconds_total", "Time spent by all read requests of the disk."),
        Row("write_time_seconds_total", "Time spent by all write requests of the disk."),
        Row("io_time_seconds_total", "Time with at least one I/O in flight."),
        Row("queue_time_seconds_total", "Weighted I/O time: time spent by all I/Os in flight."),
        Row("io_in_flight", "I/O requests of the disk now in flight."),
    ),
    info(
        "hw_disk_info",
        "Model, serial, firmware and transport of the disk; always 1.",
        DISKS,
        ("model", "serial", "firmware", "rotational", "transport"),
    ),
)


MAX_WITH_ZEROS = 4

FILESYSTEM_FAMILIES = families(
    "hw_filesystem_",
    each(
        Filesystems,
        lambda found: found.filesystems,
        Filesystem,
        *("device", "mountpoint", "fstype"),
    ),
    Row("size_bytes", "Total size of the mounted filesystem."),
    Row("free_bytes", "Free space of the filesystem, including what is reserved for root."),
    Row("available_bytes", "Space available to users other than root."),
    Row("files", "Inodes, if their number is fixed."),
    Row("files_free", "Free inodes of the filesystem, if their number is fixed."),
    Row("readonly", "Whether the filesystem is mounted read-only.", max_with_zeros=MAX_WITH_ZEROS),
    Row(
        "unreachable",
        "Whether the filesystem does not answer, for example because its NFS server is down.",
        max_with_zeros=MAX_WITH_ZEROS,
    ),
)


MAX_LIVE_SHOWN = 4
"""Controllers of a namespace up to which all are shown; of more, only those not live."""


def _state(snapshot: Snapshot) -> Iterable[Sample]:
    found = snapshot.reading(NvmeControllers)
    controllers = found.controllers if found else ()
    for controller in controllers:
        is_shown = len(controllers) <= MAX_LIVE_SHOWN or controller.state != "live"
        if controller.state is not None and is_shown:
            yield (controller.device, controller.state), 1


NVME_FAMILIES = (
    family(
        "hw_nvme_state",
        "State of the controller; always 1. With more than four controllers, only those that"
        " are not live.",
        _state,
        *("device", "state"),
    ),
    *families(
        "hw_nvme_",
        each(NvmeHealths, lambda found: found.controllers, NvmeHealth, "device"),
        Row(
            "percentage_used_ratio",
            "SMART percentage used: share of the rated endurance that is used; may exceed 1.",
        ),
        Row("available_spare_ratio", "SMART available spare: share of spare blocks left."),
        Row("media_errors_total", "SMART media errors: data the disk could not return."),
        Row("unsafe_shutdowns_total", "SMART unsafe shutdowns: power losses without notification."),
        Row("temperature_celsius", "Composite temperature of the disk, from SMART."),
        Row(
            "critical_warning",
            "SMART critical warning bits: 1 spare, 2 temperature, 4 reliability, 8 read-only, "
            "16 backup.",
        ),
    ),
)


ARRAYS = each(MdArrays, lambda found: found.arrays, MdArray, "device")


def _disks(snapshot: Snapshot) -> Iterable[Sample]:
    for labels, array in ARRAYS.read(snapshot):
        yield from one(array.active_disks, *labels, "active")
        yield from one(array.failed_disks, *labels, "failed")
        yield from one(array.spare_disks, *labels, "spare")
        yield from one(array.missing_disks, *labels, "missing")


RAID_FAMILIES = (
    family(
        "hw_md_disks",
        "Disks of the array: active, failed, spare, missing.",
        _disks,
        *("device", "state"),
    ),
    *families(
        "hw_md_",
        ARRAYS,
        Row("degraded", "Missing disks of the array; 0 if it is complete.", "missing_disks"),
        Row("resync_ratio", "Progress of a resync or rebuild, 0 to 1; absent if none is running."),
    ),
)


FAMILIES = (*DISK_FAMILIES, *FILESYSTEM_FAMILIES, *NVME_FAMILIES, *RAID_FAMILIES)
