"""The table of mounts."""

import pytest

from exporter.collectors.disk.filesystem import parse_mountinfo, uppermost
from exporter.reading.source import SourceFailed

TABLE = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
31 27 8:1 / /mnt/my\040disk ro,relatime - xfs /dev/sd\134a1 rw
32 27 8:2 / /data rw,relatime - ext4 /dev/sdb1 ro,errors=remount-ro
"""


def test_a_mount_has_its_words_in_place() -> None:
    """Optional fields vary in number; blanks and backslashes are written in octal."""
    mounts = parse_mountinfo(TABLE)
    assert [mount.mountpoint for mount in mounts] == ["/proc", "/", "/mnt/my disk", "/data"]
    assert (mounts[2].device, mounts[2].fstype, mounts[2].number) == ("/dev/sd\\a1", "xfs", "8:1")


def test_read_only_is_the_mount_or_the_filesystem() -> None:
    """A filesystem that met an error turns read-only while its mount still says rw."""
    assert [mount.readonly for mount in parse_mountinfo(TABLE)] == [False, False, True, True]


def test_one_filesystem_is_shown_once() -> None:
    """Of bind mounts the one that shows the root counts; of stacked mounts the last."""
    table = """1 0 8:1 /sub /a rw - ext4 /dev/sda1 rw
2 0 8:1 / /mnt/long rw - ext4 /dev/sda1 rw
3 0 8:1 / /mnt/longer rw - ext4 /dev/sda1 rw
4 0 8:2 / /b rw - ext4 /dev/sdb1 rw
5 0 8:3 / /b rw - xfs /dev/sdc1 rw
"""
    found = [(mount.mountpoint, mount.device) for mount in uppermost(parse_mountinfo(table))]
    assert found == [("/b", "/dev/sdc1"), ("/mnt/long", "/dev/sda1")]


@pytest.mark.parametrize("options", ["rw", "ro"])
def test_a_read_only_view_does_not_stand_for_a_writable_filesystem(options: str) -> None:
    """As ostree mounts the root of OpenShift's nodes; after an error its name is the same."""
    table = f"""60 24 8:4 / /sysroot ro,relatime shared:2 - xfs /dev/sda4 {options},prjquota
61 60 8:4 /ostree/deploy/rhcos/deploy/0a.0 / rw,relatime shared:1 - xfs /dev/sda4 {options}
62 61 8:4 /ostree/deploy/rhcos/deploy/0a.0/usr /usr ro,relatime - xfs /dev/sda4 {options}
64 61 8:4 /ostree/deploy/rhcos/var /var rw,relatime shared:5 - xfs /dev/sda4 {options}
"""
    (mount,) = uppermost(parse_mountinfo(table))
    assert (mount.mountpoint, mount.readonly) == ("/", options == "ro")


@pytest.mark.parametrize("text", ["", "garbage", "1 2 3 4 5 6 - ext4", "- - -", "\x00\n\xff"])
def test_what_is_no_table_is_a_failure(text: str) -> None:
    """A file without any mount is not a node without filesystems."""
    with pytest.raises(SourceFailed):
        parse_mountinfo(text)
