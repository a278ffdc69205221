"""Software RAID: what `/proc/mdstat` says."""

import pytest

from exporter.collectors.disk.md import parse_mdstat
from exporter.collectors.disk.values import MdArray

MDSTAT = """Personalities : [raid1] [raid6] [raid5] [raid4] [raid0]
md1 : active raid1 nvme1n1p2[1] nvme0n1p2[0](F)
      976630464 blocks super 1.2 [2/1] [_U]
      bitmap: 4/8 pages [16KB], 65536KB chunk

md127 : active (auto-read-only) raid5 sdd1[3] sdc1[2] sdb1[1] sda1[0] sde1[4](S)
      2929890816 blocks level 5, 64k chunk, algorithm 2 [4/3] [UUU_]
      [==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min

md2 : active raid0 sdf1[1] sdg1[0]
      1953260544 blocks super 1.2 512k chunks

md3 : inactive sdh1[0](S)
      976629760 blocks super 1.2

unused devices: <none>
"""


def test_every_shape_of_array_is_understood() -> None:
    """Degraded, rebuilding, without redundancy, inactive."""
    assert parse_mdstat(MDSTAT) == (
        MdArray("md1", "active", "raid1", 1, 1, 0, 1),
        MdArray("md127", "active", "raid5", 3, 0, 1, 1, 0.126, is_rebuilt=True),
        MdArray("md2", "active", "raid0", 2, 0, 0, None),
        MdArray("md3", "inactive", None, 0, 0, 1, None),
    )


def test_a_container_of_firmware_raid_is_no_inactive_array() -> None:
    """The kernel says inactive of every container, and spare of all its disks."""
    (array,) = parse_mdstat("""Personalities : [raid1]
md126 : active raid1 nvme1n1[1] nvme0n1[0]
      1000202240 blocks super external:/md127/0 [2/2] [UU]

md127 : inactive nvme1n1[1](S) nvme0n1[0](S)
      2210 blocks super external:imsm

unused devices: <none>
""")
    assert array == MdArray("md126", "active", "raid1", 2, 0, 0, 0)


@pytest.mark.parametrize(
    "text", ["", "garbage", "md", "md0 : ", "md0 :active", "      [2/1]", "\x00\xff md0 : x"]
)
def test_garbage_is_no_degraded_array(text: str) -> None:
    """Nothing is invented."""
    assert all(array.missing_disks is None for array in parse_mdstat(text))
