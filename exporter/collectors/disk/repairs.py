"""Repairs of filesystems, derived by comparing two readings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from exporter.collectors.disk.values import Filesystem, Filesystems
from exporter.faults.events.changes import turned_good
from exporter.faults.subject import Repair
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot


@dataclass(slots=True)
class MountRepairs:
    """Remembers which filesystems could be written."""

    _writable: dict[str, bool] = field(default_factory=dict)

    def between(self, snapshot: Snapshot, _: Iterable[Event]) -> Iterable[Repair]:
        """Yield the mount points that can be written again."""
        for place in self._mounts(snapshot):
            yield "mounted", "logical_disk", place

    def _mounts(self, snapshot: Snapshot) -> Iterator[str]:
        """Find filesystems that were gone or read-only and are mounted to be written."""
        reading = snapshot.reading(Filesystems)
        if reading is None:
            return
        mounts = {each.mountpoint: _is_writable(each) for each in reading.filesystems}
        yield from turned_good(self._writable, mounts)


def _is_writable(filesystem: Filesystem) -> bool:
    """Whether it can be written; a suspended pool of ZFS stays mounted and does not answer."""
    is_suspended = filesystem.fstype == "zfs" and filesystem.unreachable
    return not filesystem.readonly and not is_suspended
