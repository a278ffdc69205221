"""The parts that a snapshot shows, by kind; a kind that cannot be told is left out."""

from collections.abc import Collection, Iterator, Mapping

from exporter.collectors.disk.values import Disk, Disks
from exporter.collectors.expect.values import Part
from exporter.collectors.gpu.values import Gpus, GpuState
from exporter.collectors.memory.values import Memory, MemoryErrors
from exporter.collectors.network.values import Infiniband
from exporter.collectors.pcie.address import pci_address
from exporter.collectors.pcie.values import Pcie
from exporter.model.snapshot import Outcome, Snapshot
from exporter.record import dataclass

LOST = ("gpu_lost", "not_listed", "no_devices")
NOT_SUPPORTED = "not_supported"
NO_NAME = "unknown"
"""The name of a GPU that has not told its name."""

BUILT_IN = ("nvme", "sata", "sas")
BYTES_OF_A_GBIT = 1e9 / 8
GIB = 1024**3


@dataclass(frozen=True, slots=True)
class PartsOfKind:
    """The parts of one kind; `is_whole` tells whether they may be learned as the healthy state."""

    parts: tuple[Part, ...]
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class HardwareNow:
    """What is there: parts by kind, rates of active ports in Gbit/s, memory in GiB.

    `linked` are the GPUs whose NVLinks can be told now.
    """

    found: Mapping[str, PartsOfKind]
    linked: frozenset[str]
    rates: Mapping[str, float]
    memory_gib: float | None


def hardware_of(snapshot: Snapshot) -> HardwareNow:
    """Return the parts that the snapshot shows."""
    memory = snapshot.reading(Memory)
    ports = snapshot.reading(Infiniband)
    rates = {
        f"{port.device}/{port.port}": port.rate_bytes_per_second / BYTES_OF_A_GBIT
        for port in (ports.ports if ports else ())
        if port.rate_bytes_per_second is not None and port.up
    }
    found = {kind: parts for kind, parts in _found(snapshot) if parts is not None}
    gpus = snapshot.reading(Gpus)
    missing = (each for report in snapshot.reports for each in report.missing)
    unread = {each.field for each in missing if each.reason != NOT_SUPPORTED}
    linked = frozenset(
        _address(state.gpu.pci_bus_id)
        for state in (gpus.states if gpus else ())
        if _tells_links(state, unread)
    )
    return HardwareNow(found, linked, rates, memory.total_bytes / GIB if memory else None)


def _found(snapshot: Snapshot) -> Iterator[tuple[str, PartsOfKind | None]]:
    yield "gpu", _gpus(snapshot)
    yield "nvlink", _nvlinks(snapshot)
    yield "port", _ports(snapshot)
    yield "disk", _disks(snapshot)
    yield "dimm", _dimms(snapshot.reading(MemoryErrors))


def _gpus(snapshot: Snapshot) -> PartsOfKind | None:
    """Return the GPUs that the driver lists and has not lost, and those given away.

    Without a driver these are the GPUs on the bus; None where nothing lists GPUs now.
    """
    gpus, pcie = snapshot.reading(Gpus), snapshot.reading(Pcie)
    states = gpus.states if gpus else ()
    bus = [device for device in (pcie.devices if pcie else ()) if device.kind == "gpu"]
    if not states:
        is_known = gpus is not None and gpus.backend.reason in ("ok", "no_driver")
        on_the_bus = tuple(Part("gpu", device.device) for device in bus)
        return PartsOfKind(on_the_bus, is_whole=False) if is_known and pcie else None
    here = [state.gpu for state in states if state.reason not in LOST]
    names = ["" if gpu.name == NO_NAME else gpu.name for gpu in here]
    addresses = [_address(gpu.pci_bus_id) for gpu in here]
    listed = [Part("gpu", *row) for row in zip(addresses, names, strict=True)]
    given_away = [Part("gpu", device.device) for device in bus if device.is_passed_through]
    is_whole = all(state.up and state.is_fresh for state in states)
    return PartsOfKind((*listed, *given_away), is_whole and not given_away)


def _tells_links(state: GpuState, unread: Collection[str]) -> bool:
    """Tell whether the GPU has told its NVLinks, or is read and has none.

    `unread` are the fields of all components that could not be read.
    """
    is_asked = "nvlink_up" not in (state.gpu.unprinted or ())
    is_asked = is_asked and f"gpu{state.gpu.index}.nvlink_up" not in unread
    is_read = state.up and state.is_fresh and not state.suspended and is_asked
    return state.reason not in LOST and (is_read or state.gpu.nvlink_up is not None)


def _nvlinks(snapshot: Snapshot) -> PartsOfKind | None:
    """Return the active NVLinks; None where no GPU tells its links."""
    gpus = snapshot.reading(Gpus)
    known = [state.gpu for state in (gpus.states if gpus else ()) if state.gpu.nvlink_up]
    if not known:
        return None
    links = [
        Part("nvlink", f"{_address(gpu.pci_bus_id)}/{link}")
        for gpu in known
        for link, is_up in gpu.nvlink_up or ()
        if is_up
    ]
    is_whole = gpus is not None and all(state.up and state.is_fresh for state in gpus.states)
    return PartsOfKind(tuple(links), is_whole)


def _ports(snapshot: Snapshot) -> PartsOfKind | None:
    reading = snapshot.reading(Infiniband)
    if reading is None:
        return _none_of("infiniband", snapshot)
    if reading.truncated:
        return None
    return PartsOfKind(tuple(Part("port", f"{each.device}/{each.port}") for each in reading.ports))


def _disks(snapshot: Snapshot) -> PartsOfKind | None:
    """Return the disks that are built in: no USB disk, volume of a network, or made device."""
    reading = snapshot.reading(Disks)
    if reading is None:
        return _none_of("disk", snapshot)
    if reading.truncated:
        return None
    built_in = filter(_is_built_in, reading.disks)
    return PartsOfKind(
        tuple(Part("disk", disk.device, disk.model or "", disk.serial or "") for disk in built_in)
    )


def _none_of(source: str, snapshot: Snapshot) -> PartsOfKind | None:
    """Return no part where the source says that there is none, None where it cannot tell."""
    outcomes = {report.source: report.outcome for report in snapshot.reports}
    return PartsOfKind((), is_whole=False) if outcomes.get(source) is Outcome.ABSENT else None


def _is_built_in(disk: Disk) -> bool:
    return disk.transport in BUILT_IN and not disk.removable and not disk.is_network_volume


def _dimms(reading: MemoryErrors | None) -> PartsOfKind | None:
    if reading is None or not reading.controllers:
        return None
    dimms = [(each, dimm) for each in reading.controllers for dimm in each.dimms]
    return PartsOfKind(tuple(Part("dimm", f"{mc.controller}/{dimm.dimm}") for mc, dimm in dimms))


def _address(text: str | None) -> str:
    return pci_address(text) or text or "unknown"
