"""Repairs that are seen by comparing two looks at a component."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from exporter.collectors.disk.values import Disk, Disks, Filesystem, Filesystems
from exporter.collectors.gpu.repairs import GpuRepairs
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.network.values import Infiniband, InfinibandPort, Interface, Network
from exporter.faults.events.store import ENDED
from exporter.faults.watched import Watched
from exporter.model.event import Event, EventType
from exporter.model.snapshot import Snapshot
from tests.collectors.kernel_log.feeding import events_of
from tests.faults.events.feeding import Repairs

NVML = GpuBackend("nvml", "ok")
CARD = Gpu(0, "GPU-a", "H100", vendor="nvidia", energy_joules_total=5e9, recovery_action="none")
ERRORS = (("uncorrected", "volatile", 2.0), ("uncorrected", "aggregate", 2.0))
SOME_RESET = [("some_gpu_reset", ""), ("locked_gpu_reset", ""), ("silent_gpu_reset", "")]
RESET = [("gpu_reset", "GPU-a"), *SOME_RESET]
CLEAN = (("uncorrected", "volatile", 0.0), ("uncorrected", "aggregate", 2.0))


def told(*readings: object) -> list[tuple[str, str]]:
    """Return what the last of several looks tells, by kind and component."""
    repairs = Repairs()
    found: list[tuple[str, str]] = []
    for number, reading in enumerate(readings):
        events = repairs.between(snapshot_of(reading, number))
        found = [(event.kind, event.entity_id) for event in events]
    return found


def told_with(event: Event) -> list[tuple[str, str]]:
    """Return what one look tells after this event."""
    events = Repairs().between(snapshot_of(gpus(), 0), [event])
    return [(each.kind, each.entity_id) for each in events]


def said_of(kind: str, component: str, event: str, boottime: float, **fields: str) -> Event:
    """Return what the kernel log says of a component at this boot time."""
    return Event(
        at=1e9,
        boottime=boottime,
        type=EventType.ERROR_HW,
        kind=event,
        entity_type=kind,
        entity_id=component,
        source="kernel_log",
        fields=MappingProxyType(fields),
    )


def snapshot_of(reading: object, number: int) -> Snapshot:
    """Return a snapshot of one reading."""
    return Snapshot(
        node="n",
        sequence=number,
        taken_at=1e9 + number,
        taken_boottime=float(number),
        duration_secs=0.0,
        readings=MappingProxyType({type(reading): reading}),
        reports=(),
    )


def gpus(card: Gpu = CARD, **state: object) -> Gpus:
    """Return a look at one GPU."""
    known = GpuState(card, 0.0)
    return Gpus(NVML, (replace(known, **state),))  # type: ignore[arg-type]  # fields by name


def _joules(energy: float) -> Gpu:
    return replace(CARD, energy_joules_total=energy)


def _errors(total: tuple[tuple[str, str, float], ...]) -> Gpus:
    return gpus(replace(CARD, ecc_errors_total=total))


REFUSED = gpus(up=False, reason="reset_required")
FEW = _joules(10.0)
SILENT = replace(CARD, energy_joules_total=None)
ASKS = gpus(replace(CARD, recovery_action="reset"))
NO_DRIVER = GpuBackend("none", "no_driver")
AMD = replace(gpus(replace(CARD, vendor="amd")), backend=NO_DRIVER)
LOOKS = {
    "counters of energy live as long as the driver": ([gpus(), gpus(FEW)], RESET),
    "less than half of the energy": ([gpus(), gpus(_joules(2.4e9))], RESET),
    "half of it is no reset yet, by what was rounded": ([gpus(), gpus(_joules(2.5e9))], []),
    "the first energy there is": ([gpus(SILENT), gpus(FEW)], []),
    "no energy any more": ([gpus(FEW), gpus(SILENT)], []),
    "volatile errors do as well": ([_errors(ERRORS), _errors(CLEAN)], RESET),
    "the same volatile errors": ([_errors(ERRORS), _errors(ERRORS)], []),
    "the driver's own wish is taken back": ([ASKS, gpus()], RESET),
    "the driver still wishes it": ([ASKS, ASKS], []),
    "nothing has changed": ([gpus(), gpus()], []),
    "a GPU that refused work before and answers": ([gpus(), REFUSED, gpus()], RESET),
    "it is told of once": ([gpus(), REFUSED, gpus(), gpus()], []),
    "lost is no refusal": ([gpus(), gpus(up=False, reason="gpu_lost"), gpus()], []),
    "the driver was away, without a kernel log": ([gpus(), Gpus(NO_DRIVER), gpus()], RESET),
    "another vendor needs no driver of NVIDIA": ([AMD, AMD, AMD], []),
    "what is stale is no look": ([gpus(), gpus(FEW, stale=True)], []),
    "what has expired is no look": ([gpus(), gpus(FEW, expired=True)], []),
}


@pytest.mark.parametrize(("looks", "repaired"), LOOKS.values(), ids=LOOKS)
def test_a_reset_is_seen_by_what_lasts_until_then(
    looks: list[Gpus], repaired: list[tuple[str, str]]
) -> None:
    """What the last of these looks at one GPU tells."""
    assert told(*looks) == repaired


def test_an_nvlink_that_is_trained_again() -> None:
    """One that was down and is up for a minute; what was cached, or not read, tells of nothing."""
    card = replace(CARD, pci_bus_id="00000000:3B:00.0", nvlink_up=(("0", True), ("4", True)))
    down = replace(card, nvlink_up=(("0", True), ("4", False)))
    trained = [gpus(card)] * 61
    assert told(gpus(card), gpus(down), *trained) == [("link_up", "0000:3b:00.0/4")]
    assert told(gpus(card), gpus(down), *trained[1:]) == []
    assert told(gpus(card), gpus(down), *trained[1:], gpus(down), gpus(card)) == []
    assert told(gpus(card), gpus(down), *trained, gpus(card)) == []
    assert told(gpus(card), gpus(card, stale=True), gpus(card)) == []
    assert told(gpus(card), gpus(replace(card, nvlink_up=None)), gpus(card)) == []
    assert told(gpus(down), gpus(card, stale=True)) == []


def test_nothing_is_compared_while_readings_are_the_same() -> None:
    """Only a link that was down lets time alone be a repair: else no look is needed."""
    card = replace(CARD, pci_bus_id="00000000:3B:00.0", nvlink_up=(("0", True), ("4", True)))
    down = replace(card, nvlink_up=(("0", True), ("4", False)))
    for look, is_kept in ((gpus(card), True), (gpus(down), False)):
        watched = Watched(snapshot_of(look, 0))
        assert list(GpuRepairs().between(watched, [])) == []
        assert watched.moves_to(snapshot_of(look, 15)) is is_kept


def test_a_switch_is_repaired_by_the_links_that_went_down_with_its_error() -> None:
    """All of them are up for a minute again, and no other link counts."""
    card = replace(CARD, pci_bus_id="00000000:3B:00.0", nvlink_up=(("0", True), ("4", True)))
    down = replace(card, nvlink_up=(("0", False), ("4", False)))
    half = replace(card, nvlink_up=(("0", False), ("4", True)))
    error = said_of("nvswitch", "0000:cd:00.0", "sxid", 5.0, code="20034", fatal="yes")
    repairs = Repairs()
    found: list[list[str]] = []
    looks = ((0, card), (5, down), (90, half), (160, card), (290, card))
    for number, (secs, look) in enumerate(looks):
        told_now = repairs.between(snapshot_of(gpus(look), secs), [error] if number == 1 else [])
        found.append([it.kind for it in told_now])
    assert found == [[], [], [], ["link_up"], ["link_up", "switch_links_up"]]


def test_the_log_takes_a_recovery_action_back() -> None:
    """A driver whose NVML knows no recovery action says in its log that none is needed."""
    wish = {"code": "154", "action": "none", ENDED: "yes"}
    said = said_of("gpu", "0000:3b:00.0", "gpu_recovery_action", 1.0, **wish)
    still = replace(said, fields=MappingProxyType({"code": "154", "action": "reboot"}))
    assert told_with(said) == [("gpu_reset", "0000:3b:00.0"), *SOME_RESET]
    assert told_with(still) == []


@pytest.mark.parametrize(("action", "is_repaired"), [("none", True), ("reset", False)])
def test_a_gpu_that_was_gone_as_the_log_asked_for_a_reset(
    action: str,
    is_repaired: bool,  # noqa: FBT001 - the expectation of a case
) -> None:
    """It answers again only after the reset, unless the driver still requests one."""
    asks = (
        "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 "
        "(GPU Reset Required)"
    )
    card = replace(CARD, pci_bus_id="00000000:3B:00.0")
    gone = gpus(card, up=False, reason="unreadable", stale=True)
    back = gpus(replace(card, recovery_action=action))
    repairs = Repairs()
    found: list[Event] = []
    for number, (reading, lines) in enumerate([(gone, (asks,)), (gone, ()), (back, ())]):
        found = repairs.between(snapshot_of(reading, number), events_of(*lines))
    assert [(event.kind, event.entity_id) for event in found] == RESET * is_repaired


@pytest.mark.parametrize("gone", [False, True], ids=["down", "vanished"])
def test_a_port_that_is_up_again(gone: bool) -> None:  # noqa: FBT001 - one of two cases
    """A port that was down, or that its driver had taken away, is up."""
    up = Network("host", (Interface("eth0", up=True, pci_bus_id="0000:5c:00.0"),))
    down = Network("host", () if gone else (replace(up.interfaces[0], up=False),))
    assert told(up, down, up) == [("link_up", "0000:5c:00.0")]
    assert told(up, up) == []
    assert told(up, down, down) == []


def test_a_port_at_no_address_of_pci_is_called_by_its_name() -> None:
    """What its driver says in its place is shown as it is; a virtual one is no port."""
    odd = Network("host", (Interface("eth0", up=True, pci_bus_id="usb-1"),))
    down = Network("host", (replace(odd.interfaces[0], up=False),))
    assert told(odd, down, odd) == [("link_up", "eth0")]
    virtual = Network("host", (Interface("veth0", up=True),))
    assert told(Network("host", (Interface("veth0", up=False),)), virtual) == []


def test_components_are_remembered_up_to_a_bound() -> None:
    """Of one more than there is room for the one first seen is forgotten."""

    def mounted(count: int, *, readonly: bool) -> Filesystems:
        places = (f"/{number}" for number in range(count))
        return Filesystems(tuple(Filesystem("a", p, "ext4", readonly=readonly) for p in places))

    full = [mounted(2000, readonly=True)]
    assert len(told(*full, mounted(2000, readonly=False))) == 2000
    found = told(*full, mounted(2001, readonly=True), mounted(2001, readonly=False))
    assert found == [("mounted", f"/{number}") for number in range(1, 2001)]


def test_a_pool_of_zfs_that_answers_again() -> None:
    """A suspended pool stays mounted; of other filesystems a late answer says nothing."""
    pool = Filesystem("tank", "/tank", "zfs", readonly=False)
    share = Filesystem("filer:/home", "/home", "nfs4", readonly=False)
    silent = Filesystems((replace(pool, unreachable=True), replace(share, unreachable=True)))
    assert told(silent, Filesystems((pool, share))) == [("mounted", "/tank")]


def test_an_infiniband_port_that_is_active_again() -> None:
    """The same for a port without an interface."""
    up = Infiniband((InfinibandPort("mlx5_0", "1", state="active", pci_bus_id="0000:ca:00.0"),))
    down = Infiniband((replace(up.ports[0], state="down"),))
    assert told(down, up) == [("link_up", "0000:ca:00.0")]


@pytest.mark.parametrize("gone", [False, True], ids=["read-only", "unmounted"])
def test_a_filesystem_that_is_mounted_to_be_written(gone: bool) -> None:  # noqa: FBT001 - as above
    """A filesystem that was away or read-only and can be written."""
    good = Filesystems((Filesystem("/dev/sda1", "/data", "ext4", readonly=False),))
    bad = Filesystems(() if gone else (replace(good.filesystems[0], readonly=True),))
    assert told(good, bad, good) == [("mounted", "/data")]
    assert told(good, good) == []


@pytest.mark.parametrize(
    ("disk", "number_left_out", "is_over"),
    [("sda", 0, True), ("sdb", 0, False), ("sda", 1, False)],
    ids=["disk there", "disk lost", "not every mount read"],
)
def test_a_filesystem_that_is_unmounted(
    disk: str,
    number_left_out: int,
    is_over: bool,  # noqa: FBT001 - the expectation of a case
) -> None:
    """The unmount ends the state of a filesystem, unless its disk is lost."""
    mounted = Filesystems((Filesystem("/dev/sda1", "/data", "ext4", readonly=True),))
    disks = Disks((Disk("sda"),))
    repairs = Repairs()
    before = snapshot_of(mounted, 0)
    repairs.between(replace(before, readings={**before.readings, Disks: disks}))
    after = snapshot_of(Filesystems((), number_left_out), 1)
    now = replace(after, readings={**after.readings, Disks: Disks((Disk(disk),))})
    found = [(event.kind, event.entity_id) for event in repairs.between(now)]
    assert found == [("unmounted", "sda1")] * is_over
    assert repairs.between(now) == []


EXT4 = "EXT4-fs (sda1): "
MOUNTED = EXT4 + "mounted filesystem 6f0a r/w with ordered data mode. Quota mode: none."
WITH_ERRORS = EXT4 + "warning: mounting fs with errors, running e2fsck is recommended"
BAD = EXT4.replace("(", "error (device ").replace("): ", "): ext4_find_entry:1663: inode #2: bad")
XFS_RECOVERY = "XFS (sda1): Ending recovery (logdev: internal)"


@pytest.mark.parametrize(
    ("lines", "is_repaired"),
    [
        ((MOUNTED,), True),
        ((BAD, MOUNTED), True),
        ((XFS_RECOVERY,), True),
        ((WITH_ERRORS, MOUNTED), False),
        ((MOUNTED, BAD), False),
        ((WITH_ERRORS, MOUNTED, MOUNTED), True),
    ],
)
def test_a_mount_that_no_look_saw_is_told_by_the_kernel(
    lines: tuple[str, ...],
    is_repaired: bool,  # noqa: FBT001 - the expectation of a case
) -> None:
    """One that mounted with errors, or has one since, is not repaired."""
    mounted = Filesystems((Filesystem("/dev/sda1", "/data", "ext4", readonly=False),))
    repairs = Repairs()
    repairs.between(snapshot_of(mounted, 0))
    found = repairs.between(snapshot_of(mounted, 1), events_of(*lines))
    told_of = [(event.kind, event.entity_id) for event in found]
    assert told_of == [("mounted", "sda1")] * is_repaired


def test_a_filesystem_that_is_back_with_errors_is_not_repaired() -> None:
    """A mount without a check in between is seen too, after the kernel's words."""
    mounted = Filesystems((Filesystem("/dev/sda1", "/data", "ext4", readonly=False),))
    repairs = Repairs()
    looks = [(mounted, ()), (Filesystems(()), ()), (Filesystems(()), (WITH_ERRORS, MOUNTED))]
    for number, (reading, lines) in enumerate([*looks, (mounted, ())]):
        assert repairs.between(snapshot_of(reading, number), events_of(*lines)) == []
