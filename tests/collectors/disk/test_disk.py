"""Disks: what diskstats and sysfs say."""

import shutil

import pytest

from exporter.collectors.disk.diskstats import (
    DiskReader,
    parse_diskstats,
    scsi_address_of,
    transport_of,
)
from exporter.collectors.disk.values import Disk, Disks
from exporter.config import Devices
from exporter.model.reading import Reading
from exporter.reading.source import SourceFailed
from tests.collectors.small_node import SmallNode
from tests.fakes.refused import refuse


def look(tree: SmallNode, limit: int = 16) -> Reading[Disks]:
    """The disks of the tree, chosen as by default."""
    return DiskReader(tree.proc, tree.sys, Devices(max_per_kind=limit)).read()


def only(tree: SmallNode) -> Disk:
    """The one disk of the tree."""
    (disk,) = look(tree).value.disks
    return disk


def test_counters_are_in_bytes_and_seconds(node: SmallNode) -> None:
    """Sectors have 512 bytes whatever the disk says, times are milliseconds."""
    node.disk("sda")
    assert only(node) == Disk(
        device="sda",
        reads_completed=100,
        read_bytes=2000 * 512,
        read_time_seconds=0.3,
        writes_completed=50,
        written_bytes=4000 * 512,
        write_time_seconds=0.6,
        io_in_flight=1,
        io_time_seconds=0.7,
        queue_time_seconds=0.9,
        size_bytes=2048 * 512,
        rotational=False,
    )


def test_a_disk_says_what_it_is(node: SmallNode) -> None:
    """Model, serial number and firmware come from the device's files."""
    attributes = {
        "device/model": "SAMSUNG MZQL2  ",
        "device/serial": "S6X1",
        "device/firmware_rev": "GDC56",
    }
    node.disk("nvme0n1", **attributes)
    disk = only(node)
    assert (disk.model, disk.serial, disk.firmware) == ("SAMSUNG MZQL2", "S6X1", "GDC56")
    assert disk.transport == "nvme"


def test_a_scsi_disk_has_an_address_and_a_state(node: SmallNode) -> None:
    """The kernel names a disk by its address when it has given it up."""
    assert scsi_address_of("0:0:5:0") == "0:0:5:0"
    assert scsi_address_of("nvme0") is None
    node.disk("sda", **{"device/state": "running"})
    assert only(node).scsi_state is None  # its device is no SCSI device here
    device = node.sys / "block/sda/device"
    address = device.with_name("0:0:5:0")
    device.rename(address)
    device.symlink_to(address)
    (address / "state").write_text("offline\n")
    (address / "vpd_pg80").write_bytes(b"\x00\x80\x00\x14      S45NNC0M123456")
    disk = only(node)
    assert (disk.scsi_address, disk.scsi_state) == ("0:0:5:0", "offline")
    assert disk.serial == "S45NNC0M123456"


def test_partitions_and_virtual_disks_are_left_out(node: SmallNode) -> None:
    """A partition, or a disk that has just gone, is in diskstats but is no folder in sysfs."""
    node.disk("sda")
    for name in ("loop0", "ram1", "zram0", "nvme0c1n1"):
        node.disk(name)
    stats = node.proc / "diskstats"
    stats.write_text(stats.read_text() + "   8       1 sda1 1 1 1 1 1 1 1 1 1 1 1\n")
    assert [disk.device for disk in look(node).value.disks] == ["sda"]


def test_of_the_device_mapper_only_named_disks_are_shown(node: SmallNode) -> None:
    """The name, a logical volume as a rule, stands for the model."""
    node.disk("dm-0", **{"dm/name": "vg0-root", "slaves/nvme1n1p2": ""})
    node.disk("dm-1")
    disk = only(node)
    assert (disk.device, disk.model, disk.transport) == ("dm-0", "vg0-root", "dm")
    assert disk.slaves == ("nvme1n1p2",)


def test_a_disk_of_native_multipath_names_its_controllers(node: SmallNode) -> None:
    """Its own number is that of the subsystem; without multipath it is that of the controller."""
    for name in ("nvme0n1", "nvme4n1"):
        node.disk(name)
        (node.sys / f"block/{name}/device").mkdir(exist_ok=True)
    device = node.sys / "block/nvme0n1/device"
    subsystem = device.with_name("nvme-subsys0")
    device.rename(subsystem)
    device.symlink_to(subsystem)
    for name in ("nvme3", "nvme7", "nvme0n1"):
        (subsystem / name).mkdir()
    disks = {disk.device: disk.nvme_controllers for disk in look(node).value.disks}
    assert disks == {"nvme0n1": ("nvme3", "nvme7"), "nvme4n1": ("nvme4",)}


@pytest.mark.parametrize("name", ["bcache0", "drbd0", "md127"])
def test_a_device_that_is_made_of_others_names_them(node: SmallNode, name: str) -> None:
    """A cache or a replicated volume fails by the disks below it."""
    node.disk(name, **{"slaves/nvme1n1p2": "", "slaves/sda": ""})
    assert sorted(only(node).slaves) == ["nvme1n1p2", "sda"]


@pytest.mark.parametrize("in_flight", ["-1", "4294967295", "18446744073709551615", "x"])
def test_an_impossible_queue_is_not_said(node: SmallNode, in_flight: str) -> None:
    """Kernels have shown -1 there; the counters beside it stay."""
    node.disk("sda", f"100 1 2000 300 50 2 4000 600 {in_flight} 700 900")
    disk = only(node)
    assert disk.io_in_flight is None
    assert disk.reads_completed == 100
    assert "sda io_in_flight" in [missing.field for missing in look(node).missing]


def test_more_disks_than_the_limit_are_counted(node: SmallNode) -> None:
    """The first by name are shown; how many were left out is said."""
    for name in ("sdc", "sda", "sdb"):
        node.disk(name)
    reading = look(node, limit=2)
    assert [disk.device for disk in reading.value.disks] == ["sda", "sdb"]
    assert reading.missing[0].reason.startswith("1 more")


def test_logical_volumes_leave_no_disk_out(node: SmallNode) -> None:
    """They come first by name, and by the dozen."""
    for name in ("dm-0", "dm-1", "sda"):
        node.disk(name, **{"dm/name": f"ceph-{name}"} if name.startswith("dm-") else {})
    node.link("sys/block/sda/device", "sys/devices/pci0000:00/0000:00:17.0/host0")
    assert [disk.device for disk in look(node, limit=2).value.disks] == ["dm-0", "sda"]


@pytest.mark.parametrize(
    ("name", "path", "transport"),
    [
        ("nvme0n1", "/sys/devices/pci0000:00/0000:00:01.0/nvme/nvme0/nvme0n1", "nvme"),
        ("sda", "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/block/sda", "sata"),
        ("sdb", "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/host1/block/sdb", "usb"),
        ("sdc", "/sys/devices/pci0000:00/0000:01:00.0/host0/port-0:0/end_device-0:0/sdc", "sas"),
        ("vda", "/sys/devices/pci0000:00/0000:00:05.0/virtio2/block/vda", "virtio"),
        ("md127", "/sys/devices/virtual/block/md127", "md"),
        ("rbd0", "/sys/devices/rbd/0/block/rbd0", "rbd"),
        ("nbd3", "/sys/devices/virtual/block/nbd3", "nbd"),
        ("odd", "/sys/devices/platform/odd", None),
    ],
)
def test_the_transport_follows_the_place(name: str, path: str, transport: str | None) -> None:
    """How a disk is attached shows in its place in the device tree."""
    assert transport_of(name, path) == transport


@pytest.mark.parametrize("text", ["garbage", "8 0 sda 1 2 3", "\x00"])
def test_garbage_is_a_failure(text: str) -> None:
    """A table without any row of the known form is not «no disks»."""
    with pytest.raises(SourceFailed):
        parse_diskstats(text)


def test_a_list_of_disks_that_cannot_be_read_is_a_failure(node: SmallNode) -> None:
    """It is not a node without disks."""
    node.disk("sda")
    shutil.rmtree(node.sys / "block")
    refuse(node.sys / "block")
    with pytest.raises(SourceFailed, match="cannot be listed"):
        look(node)


@pytest.mark.parametrize(
    ("model", "is_volume"),
    [
        ("Amazon Elastic Block Store", True),
        ("nvme_card-pd", True),
        ("MSFT NVMe Accelerator v1.0", True),
        ("Alibaba Cloud Elastic Block Storage", True),
        ("Amazon EC2 NVMe Instance Storage", False),
        ("nvme_card", False),
    ],
)
def test_volumes_of_clouds_are_no_disks_of_the_machine(model: str, *, is_volume: bool) -> None:
    """They are detached on request; local disks of the same clouds are not."""
    assert Disk("nvme1n1", model=model).is_network_volume == is_volume
