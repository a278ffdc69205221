"""What processes asleep wait for: slow disks, silent filesystems, what the kernel says of both."""

import pytest

from exporter.collectors.everything import KINDS
from exporter.collectors.workloads.wait_edges import DISK_FIELDS, waiting
from exporter.faults.entities.components import Components
from exporter.faults.entities.graph import AliasIndex
from exporter.faults.events.store import EventStore
from exporter.faults.subject import KnownEntities
from exporter.faults.timeseries import History
from exporter.faults.values import Address, Entity, Value
from exporter.model.event import Event
from exporter.model.verdict import Key
from tests.faults.scenes import event

NOW = 100_000.0
ASLEEP: dict[str, Value] = {"waiting_secs": 20.0}


def process(pid: str, **fields: Value) -> Entity:
    """A process that events call by its pid."""
    return Entity(("process", pid), pid, fields, (("process", pid),))


def disk(name: str, in_flight: float | None = 0.0) -> Entity:
    """A disk with so many requests on their way."""
    fields: dict[str, Value] = {"io_in_flight": in_flight}
    return Entity(("disk", name), name, fields, (("physical_disk", name),))


def counted(name: str, *risen: float | None) -> History:
    """What reads, writes and the time in the queue of this disk rose by in the last minute."""
    history = History()
    for field, more in zip(DISK_FIELDS, risen, strict=True):
        for at, value in ((NOW - 60, 0.0), (NOW, more)):
            history.take(("disk", name), field, 60.0, at, value)
    return history


def waits(
    entities: tuple[Entity, ...],
    *events: Event,
    history: History | None = None,
) -> dict[tuple[str, str], str]:
    """Who waits for what, and what shows it."""
    store = EventStore()
    for told in events:
        store.take(told)
    found = waiting(known_of(entities, store, history or History()))
    return {(e.source[1], e.target[1]): e.evidence for e in found}


def known_of(entities: tuple[Entity, ...], events: EventStore, history: History) -> KnownEntities:
    """What rules know of these components."""
    by_kind: dict[str, list[Entity]] = {}
    for each in entities:
        by_kind.setdefault(each.kind, []).append(each)
    now = {each.key: each for each in entities}
    return KnownEntities(now, by_kind, history, events, AliasIndex({}), NOW, Components())


SLEEPER = process("7", **ASLEEP)


@pytest.mark.parametrize(
    ("risen", "in_flight", "evidence"),
    [
        ((5.0, 5.0, 1.0), 0.0, "sda takes 0.10 s for a request"),
        ((6.0, 4.0, 0.9), 9.0, None),
        ((10.0, 0.0, 30.0), 9.0, "sda takes 3.00 s for a request"),
        ((0.0, 10.0, 30.0), 9.0, "sda takes 3.00 s for a request"),
        ((0.0, 0.0, 30.0), 2.0, "sda has 2 requests in flight, none completes"),
        ((0.0, 0.0, 30.0), 0.0, None),
        ((0.0, 0.0, 30.0), None, None),
        ((None, 5.0, 30.0), 9.0, None),
        ((5.0, None, 30.0), 9.0, None),
        ((5.0, 5.0, None), 9.0, None),
        ((0.0, 0.0, None), 9.0, None),
        ((None, None, 30.0), 9.0, None),
    ],
)
def test_a_disk_is_slow_from_a_tenth_of_a_second_for_a_request(
    risen: tuple[float | None, ...], in_flight: float | None, evidence: str | None
) -> None:
    """Or when it ends none of those on their way; where a count is missing nothing is said."""
    found = waits((SLEEPER, disk("sda", in_flight)), history=counted("sda", *risen))
    shown = f"found in uninterruptible sleep for 20 s; {evidence}"
    assert found == ({("7", "sda"): shown} if evidence else {})


def test_a_filesystem_that_does_not_answer_is_waited_for() -> None:
    """By who sleeps; one that answers is not."""
    silent, well = (
        Entity(("filesystem", place), place, {"unreachable": place == "/data"})
        for place in ("/data", "/home")
    )
    found = waits((SLEEPER, process("8", waiting_secs=0.0), silent, well))
    assert found == {
        ("7", "/data"): "found in uninterruptible sleep for 20 s; /data does not answer",
    }


@pytest.mark.parametrize(
    ("fields", "is_asleep"),
    [({}, True), ({"waiting_secs": 0.0}, False), ({"waiting_secs": 5.0}, True)],
)
def test_the_kernel_is_believed_where_nobody_looked(
    fields: dict[str, Value], *, is_asleep: bool
) -> None:
    """A process that was seen awake does not hang any more."""
    trouble = event("nvme_timeout", NOW - 5, ("physical_disk", "sda"))
    hung = event("hung_task", NOW - 5, ("process", "7"))
    found = waits((process("7", **fields), disk("sda")), hung, trouble)
    assert bool(found) is is_asleep


@pytest.mark.parametrize(
    ("kind", "about", "ago", "is_waited_for"),
    [
        ("block_io_error", ("physical_disk", "sda"), 1800.0, True),
        ("block_io_error", ("physical_disk", "sda"), 1801.0, False),
        ("nfs_not_responding", ("nfs_mount", "nas"), 86_400.0, True),
        ("nfs_not_responding", ("nfs_mount", "nas"), 86_401.0, False),
    ],
)
def test_trouble_is_remembered_for_its_time(
    kind: str, about: Address, ago: float, *, is_waited_for: bool
) -> None:
    """Half an hour after errors of a disk, a day after a server fell silent."""
    nas = Entity(("nfs_mount", "nas"), "nas", addresses=(("nfs_mount", "nas"),))
    found = waits((SLEEPER, disk("sda"), nas), event(kind, NOW - ago, about))
    reported = f"the kernel reports {kind} of {about[1]}"
    words = f"found in uninterruptible sleep for 20 s; {reported}"
    assert found == ({("7", about[1]): words} if is_waited_for else {})


def test_a_server_that_answers_again_is_no_trouble() -> None:
    """What ended after it began is over."""
    nas = Entity(("nfs_mount", "nas"), "nas", addresses=(("nfs_mount", "nas"),))
    told = [
        event("nfs_not_responding", NOW - 50, nas.key),
        event("nfs_not_responding", NOW - 40, nas.key, "kernel_log", ended="yes"),
    ]
    assert waits((SLEEPER, nas), *told) == {}
    assert len(waits((SLEEPER, nas), told[0])) == 1


@pytest.mark.parametrize(
    ("ago", "owner", "waits_for"),
    [
        (600.0, "8", ["8"]),
        (601.0, "8", []),
        (5.0, "7", []),
        (5.0, "", []),
    ],
)
def test_the_owner_of_a_lock_is_believed_for_ten_minutes(
    ago: float, owner: str, waits_for: list[str]
) -> None:
    """Nobody waits for itself, or for one that the kernel did not name."""
    told = event("hung_task_owner", NOW - ago, SLEEPER.key, "kernel_log", owner_pid=owner)
    assert [target for _, target in waits((SLEEPER,), told)] == waits_for


def joined(*entities: Entity) -> set[tuple[Key, Key]]:
    """What is part of what by its name."""
    known = known_of(entities, EventStore(), History())
    return {(edge.source, edge.target) for edge in KINDS.links(known)}


def test_names_join_what_no_reading_joins() -> None:
    """A filesystem with its disk, a namespace with its controller, a port with its adapter."""
    address = ("network", "0000:ca:00.0")
    entities = (
        disk("sda"),
        disk("nvme3"),
        disk("nvme30"),
        disk("nvme3n1"),
        Entity(("filesystem", "/data"), "/data", addresses=(("logical_disk", "sda1"),)),
        Entity(("filesystem", "/away"), "/away", addresses=(("logical_disk", "sdb1"),)),
        Entity(("nic", "mlx5_0"), "mlx5_0", addresses=(address,)),
        Entity(("ib_port", "mlx5_0/1"), "mlx5_0/1", addresses=(("network", "mlx5_0/1"), address)),
        Entity(("pcie", "0000:ca:00.0"), "0000:ca:00.0"),
    )
    pcie = ("pcie", "0000:ca:00.0")
    assert joined(*entities) == {
        (("filesystem", "/data"), ("disk", "sda")),
        (("disk", "nvme3n1"), ("disk", "nvme3")),
        (("ib_port", "mlx5_0/1"), ("nic", "mlx5_0")),
        (("ib_port", "mlx5_0/1"), pcie),
        (("nic", "mlx5_0"), pcie),
    }
