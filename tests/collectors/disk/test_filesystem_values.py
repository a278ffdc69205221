"""Which filesystems the node itself needs."""

import pytest

from exporter.collectors.disk.values import Filesystem


@pytest.mark.parametrize(
    ("mountpoint", "device", "is_system"),
    [
        ("/", "/dev/nvme0n1p2", True),
        ("/", "192.0.2.10:/boot/node-7", True),
        ("/var", "/dev/mapper/vg-var", True),
        ("/var/lib/kubelet", "/dev/sdb1", True),
        ("/var/lib/containerd", "/dev/sdb2", True),
        ("/tmp", "tmpfs", True),
        ("/variant", "/dev/sdc1", False),
        ("/var/lib/kubelet/pods/5e6f/volumes/x\n/mount", "/dev/sdd", False),
        ("/var/lib/kubelet/plugins/ebs/pvc-1", "/dev/nvme4n1", False),
        ("/var/lib/docker/volumes/x/_data", "nas:/exports/x", False),
        ("/var/spool/share", "//nas/spool", False),
        ("/data", "/dev/nvme1n1", False),
        ("/home", "192.0.2.10:/export/home", False),
        ("/scratch", "10.0.0.1@o2ib:/scratch", False),
    ],
)
def test_the_node_needs_its_root_and_what_the_system_writes_to(
    mountpoint: str, device: str, *, is_system: bool
) -> None:
    """Not data disks, volumes of pods, and what servers lend."""
    assert Filesystem(device, mountpoint, "ext4", readonly=False).is_system is is_system
