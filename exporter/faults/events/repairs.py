"""Repair events, derived by comparing two readings of a component, or told by the driver's log."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from exporter.faults.events.event_kinds import LOOKS
from exporter.faults.events.store import ENDED
from exporter.model.event import Event, EventType
from exporter.model.filesystem import Filesystem, Filesystems
from exporter.model.gpu import Gpu, Gpus
from exporter.model.infiniband import Infiniband
from exporter.model.network import Network
from exporter.model.pci import pci_address
from exporter.model.snapshot import Snapshot

MAX_REMEMBERED = 2_000
"""Components of one kind that are compared with what they were."""

NO_DRIVER = frozenset({"no_driver", "driver_not_loaded"})

T = TypeVar("T")


@dataclass(slots=True)
class Repairs:
    """Remembers the last look at each GPU, NVLink, port and filesystem."""

    _gpus: dict[str, Gpu] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)  # GPUs that wanted a reset
    _nvlinks: dict[str, bool] = field(default_factory=dict)
    _nics: dict[str, bool] = field(default_factory=dict)
    _ports: dict[str, bool] = field(default_factory=dict)
    _writable: dict[str, bool] = field(default_factory=dict)

    def between(self, snapshot: Snapshot, events: Iterable[Event] = ()) -> list[Event]:
        """Return what was repaired since the snapshot before; `events` are those since then."""
        gpus = snapshot.reading(Gpus)
        found = (
            *(("gpu_reset", "gpu", uuid) for uuid in self._resets(gpus)),
            *(("gpu_reset", "gpu", event.entity_id) for event in events if _was_reset(event)),
            *(("link_up", "nvlink", link) for link in self._trained(gpus)),
            *(("link_up", "network", port) for port in self._links(snapshot)),
            *(("mounted", "logical_disk", place) for place in self._mounts(snapshot)),
        )
        return [_event(*each, snapshot) for each in found]

    def _resets(self, gpus: Gpus | None) -> Iterator[str]:
        """Find GPUs whose driver or firmware started anew: their volatile counters fell."""
        if gpus is None:
            return
        if gpus.backend.reason in NO_DRIVER:
            self._refused.update(u for u, gpu in self._gpus.items() if gpu.vendor == "nvidia")
        for state in gpus.states:
            uuid = state.gpu.uuid
            if state.reason == "reset_required":
                self._refused.add(uuid)
            if not state.up or not state.is_fresh:
                continue
            before = self._gpus.get(uuid)
            if uuid in self._refused or (before and _has_started_anew(before, state.gpu)):
                yield uuid
            self._refused.discard(uuid)
            _remember(self._gpus, uuid, state.gpu)

    def _trained(self, gpus: Gpus | None) -> Iterator[str]:
        """Find NVLinks that were down and are up; what was not read in between is as it was."""
        for state in gpus.states if gpus else ():
            pci = pci_address(state.gpu.pci_bus_id)
            if not state.is_fresh or not pci:
                continue
            for label, is_up in state.gpu.nvlink_up or ():
                link = f"{pci}/{label}"
                if is_up and self._nvlinks.get(link) is False:
                    yield link
                _remember(self._nvlinks, link, bool(is_up))

    def _links(self, snapshot: Snapshot) -> Iterator[str]:
        """Find ports of adapters that were down, or taken away by their driver, and are up."""
        network, infiniband = snapshot.reading(Network), snapshot.reading(Infiniband)
        if network is not None:
            nics = [(nic.device, nic.pci_bus_id, nic.up) for nic in network.interfaces]
            yield from _came_up(self._nics, nics)
        if infiniband is not None:
            ports = [(f"{p.device}/{p.port}", p.pci_bus_id, p.up) for p in infiniband.ports]
            yield from _came_up(self._ports, ports)

    def _mounts(self, snapshot: Snapshot) -> Iterator[str]:
        """Find filesystems that were gone or read-only and are mounted to be written."""
        reading = snapshot.reading(Filesystems)
        if reading is None:
            return
        mounts = {each.mountpoint: _is_writable(each) for each in reading.filesystems}
        yield from _turned_good(self._writable, mounts)


def _is_writable(filesystem: Filesystem) -> bool:
    """Whether it can be written; a suspended pool of ZFS stays mounted and does not answer."""
    is_suspended = filesystem.fstype == "zfs" and filesystem.unreachable
    return not filesystem.readonly and not is_suspended


def _was_reset(event: Event) -> bool:
    """Whether the driver says that it requests no recovery action any more (Xid 154)."""
    return event.kind == "gpu_recovery_action" and event.fields.get(ENDED) == "yes"


def _has_started_anew(before: Gpu, now: Gpu) -> bool:
    """Whether what only a reset or a driver load takes back was taken back."""
    if before.recovery_action not in (None, "none") and now.recovery_action == "none":
        return True
    energy, energy_before = now.energy_joules_total, before.energy_joules_total
    if energy is not None and energy_before is not None and energy < energy_before / 2:
        return True
    return _volatile_errors(now) < _volatile_errors(before)


def _volatile_errors(gpu: Gpu) -> float:
    rows = gpu.ecc_errors_total or ()
    return sum(count for _, counter, count in rows if counter == "volatile")


def _came_up(
    known: dict[str, bool], ports: Iterable[tuple[str, str | None, bool | None]]
) -> Iterator[str]:
    """Yield the addresses of the ports that are up and were not; only adapters on PCI count."""
    found = {name: (address, is_up) for name, address, is_up in ports if address}
    states = {name: is_up for name, (_, is_up) in found.items() if is_up is not None}
    for name in _turned_good(known, states):
        yield pci_address(found[name][0]) or name


def _turned_good(known: dict[str, bool], now: Mapping[str, bool]) -> list[str]:
    """Return what is good now and was not; what is away was not good."""
    turned = [name for name, is_good in now.items() if is_good and known.get(name) is False]
    known.update(dict.fromkeys(known.keys() - now.keys(), False))
    for name, is_good in now.items():
        _remember(known, name, is_good)
    return turned


def _remember(known: dict[str, T], name: str, value: T) -> None:
    """Keep the value of a name; the one that was first seen goes where there is no room."""
    if name not in known and len(known) >= MAX_REMEMBERED:
        del known[next(iter(known))]
    known[name] = value


def _event(kind: str, entity_type: str, entity_id: str, snapshot: Snapshot) -> Event:
    return Event(
        at=snapshot.taken_at,
        boottime=snapshot.taken_boottime,
        type=EventType.ACTION_EXEC,
        kind=kind,
        entity_type=entity_type,
        entity_id=entity_id,
        source=LOOKS,
    )
