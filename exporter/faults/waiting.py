"""Which processes wait for which device: those in uninterruptible sleep, and what is slow."""

from collections.abc import Iterator, Mapping

from exporter.faults.entities import Edge, Entity, Key
from exporter.faults.history import History

WINDOW_SECS = 60.0
SLOW_SECS = 0.1
"""Mean time of one request from which a disk is slow."""

DISK_FIELDS = ("reads_completed", "writes_completed", "queue_time_seconds")


def waits(by_kind: Mapping[str, list[Entity]], history: History, now: float) -> Iterator[Edge]:
    """An edge from each process seen asleep twice to each disk or filesystem that is slow."""
    sleepers = [
        entity for entity in by_kind.get("process", ()) if entity.fields.get("waiting_secs")
    ]
    if not sleepers:
        return
    slow = [*_slow_disks(by_kind, history, now), *_silent_filesystems(by_kind)]
    for process in sleepers:
        secs = process.fields.get("waiting_secs")
        for target, evidence in slow:
            text = f"in uninterruptible sleep for {secs:.0f} s; {evidence}"
            yield Edge("waits_on", process.key, target, text)


def _slow_disks(
    by_kind: Mapping[str, list[Entity]], history: History, now: float
) -> Iterator[tuple[Key, str]]:
    for disk in by_kind.get("disk", ()):
        done, queued = _risen(disk, history, now)
        if done is None or queued is None:
            continue
        in_flight = disk.fields.get("io_in_flight")
        if done and queued / done >= SLOW_SECS:
            yield disk.key, f"{disk.name} takes {queued / done:.2f} s for a request"
        elif not done and in_flight:
            yield disk.key, f"{disk.name} has {in_flight:.0f} requests and ends none"


def _risen(disk: Entity, history: History, now: float) -> tuple[float | None, float | None]:
    """Requests ended and seconds they waited over the window."""
    found = []
    for name in DISK_FIELDS:
        series = history.series(disk.key, name, WINDOW_SECS)
        found.append(None if series is None else series.over("increase", WINDOW_SECS, now))
    reads, writes, queued = found
    return (None if reads is None or writes is None else reads + writes), queued


def _silent_filesystems(by_kind: Mapping[str, list[Entity]]) -> Iterator[tuple[Key, str]]:
    for filesystem in by_kind.get("filesystem", ()):
        if filesystem.fields.get("unreachable"):
            yield filesystem.key, f"{filesystem.name} does not answer"
