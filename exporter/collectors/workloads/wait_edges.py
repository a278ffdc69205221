"""What processes in D state wait for: slow storage, or the process that holds their lock."""

from collections.abc import Iterable, Iterator, Mapping

from exporter.faults.events.query import Events
from exporter.faults.events.store import EventStore
from exporter.faults.subject import KnownEntities
from exporter.faults.timeseries import History
from exporter.faults.values import Entity
from exporter.model.verdict import Edge, Key

WINDOW_SECS = 60.0
HUNG_WITHIN_SECS = 600.0
TROUBLE_WITHIN_SECS = 1800.0
OWNER_EVIDENCE = "the kernel reports it as the owner of the lock"
SLOW_SECS = 0.1
"""Mean time of one request from which a disk is slow."""

DISK_FIELDS = ("reads_completed", "writes_completed", "queue_time_seconds")


TROUBLE: Mapping[str, tuple[Events, ...]] = {
    "disk": tuple(
        Events(what, (), TROUBLE_WITHIN_SECS)
        for what in ("block_io_error", "nvme_timeout", "nvme_reset_failed", "nvme_no_path")
    ),
    "nfs_mount": (Events("nfs_not_responding", (("ended", ("no",)),), 86_400.0),),
}
"""What the kernel says of things that make others wait."""

HUNG = Events("hung_task", (), HUNG_WITHIN_SECS)
HELD = Events("hung_task_owner", (), HUNG_WITHIN_SECS)


def lock_owners(events: EventStore, now: float) -> dict[Key, Entity]:
    """By process that hangs, who holds the lock it wants, as the kernel said last.

    A process that waits for itself, as a pid that was given anew may seem to, waits for nobody.
    """
    found: dict[Key, Entity] = {}
    for event in events.matching(None, HELD, now):
        waiter, pid = event.entity_id, event.fields.get("owner_pid", "")
        if pid and pid != waiter:
            name = f"{event.fields.get('owner', '')} ({pid})"
            found["process", waiter] = Entity(("process", pid), name)
    return found


def waiting(known: KnownEntities) -> Iterator[Edge]:
    """Yield an edge from each process in D state to each thing that is slow or stalled.

    A process sleeps so when two looks found it, or when the kernel says that it hangs. A process
    that wants a lock waits for the owner of the lock only: why the owner sleeps is another edge.
    """
    held = lock_owners(known.events, known.now)
    slow = [*_slow_disks(known), *_silent_filesystems(known), *_in_trouble(known)]
    if not held and not slow:
        return  # untested: it only spares the look at each process
    targets = dict(reversed(slow)).items()
    for process, asleep in _sleepers(known):
        if process in held:
            yield Edge("waits_on", process, held[process].key, f"{asleep}; {OWNER_EVIDENCE}")
            continue
        for target, evidence in targets:
            yield Edge("waits_on", process, target, f"{asleep}; {evidence}")


def _sleepers(known: KnownEntities) -> Iterator[tuple[Key, str]]:
    waiting_secs = known.values("process", "waiting_secs")
    pairs = zip(known.by_kind.get("process", ()), waiting_secs, strict=True)
    for process, secs in [pair for pair in pairs if pair[1] != 0.0]:  # few of thousands
        if secs is not None:
            yield process.key, f"found in uninterruptible sleep for {secs:.0f} s"
        elif known.events.matching(process.addresses, HUNG, known.now):
            yield process.key, "the kernel reports that it hangs"


def _in_trouble(known: KnownEntities) -> Iterator[tuple[Key, str]]:
    for kind, wanted in TROUBLE.items():
        for entity in known.by_kind.get(kind, ()):
            for each in wanted:
                if known.events.matching(entity.addresses, each, known.now):
                    yield entity.key, f"the kernel reports {each.what} of {entity.name}"


def _slow_disks(known: KnownEntities) -> Iterator[tuple[Key, str]]:
    for disk in known.by_kind.get("disk", ()):
        done, queued = _risen(disk, known.history, known.now)
        if done is None or queued is None:
            continue
        in_flight = disk.fields.get("io_in_flight")
        if done and queued / done >= SLOW_SECS:
            yield disk.key, f"{disk.name} takes {queued / done:.2f} s for a request"
        elif not done and in_flight:
            yield disk.key, f"{disk.name} has {in_flight:.0f} requests in flight, none completes"


def _risen(disk: Entity, history: History, now: float) -> tuple[float | None, float | None]:
    """Return requests ended and seconds they waited over the window."""
    found = []
    for name in DISK_FIELDS:
        series = history.series(disk.key, name, WINDOW_SECS)
        found.append(None if series is None else series.over("increase", WINDOW_SECS, now))
    reads, writes, queued = found
    return (None if reads is None or writes is None else reads + writes), queued


def _silent_filesystems(known: KnownEntities) -> Iterator[tuple[Key, str]]:
    for filesystem in known.by_kind.get("filesystem", ()):
        if filesystem.fields.get("unreachable"):
            yield filesystem.key, f"{filesystem.name} does not answer"


TRACKED = tuple(("disk", name, WINDOW_SECS) for name in DISK_FIELDS)
"""The fields of disks whose past tells how long requests wait."""


def owners_of_locks(events: EventStore, now: float) -> Iterable[Entity]:
    """Return the processes that the kernel names as owners of locks."""
    return lock_owners(events, now).values()
