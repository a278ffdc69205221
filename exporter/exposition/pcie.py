"""Families of the PCI Express bus.

A server has a hundred ports and cards, nearly all healthy. To stay small, a page shows errors that
occurred and links that are reduced one by one, and the healthy rest as sums and counts.
"""

from collections import Counter
from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.exposition.samples import Samples
from exporter.model.pcie import Pcie, PcieDevice
from exporter.model.snapshot import Snapshot

MAX_WITH_ALL_LINKS = 8
"""A node with at most so many cards shows the links of all of them."""
LINK_STATES = {False: "full", True: "reduced", None: "unknown"}


def _cards(snapshot: Snapshot) -> list[PcieDevice]:
    pcie = snapshot.reading(Pcie)
    return [device for device in pcie.devices if not device.is_port] if pcie else []


def _with_link(snapshot: Snapshot) -> Iterable[PcieDevice]:
    """GPUs always, other cards where they are few or their link is reduced; ports above such."""
    cards = _cards(snapshot)
    is_small = len(cards) <= MAX_WITH_ALL_LINKS
    shown = {card.device for card in cards if is_small or card.kind == "gpu" or card.is_reduced}
    shown |= {card.parent for card in cards if card.is_reduced and card.parent}
    pcie = snapshot.reading(Pcie)
    return [device for device in pcie.devices if device.device in shown] if pcie else []


def _link(value: Callable[[PcieDevice], float | None]) -> Samples:
    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        for device in _with_link(snapshot):
            yield from one(value(device), device.device)

    return samples


def _errors(snapshot: Snapshot) -> Iterable[Sample]:
    pcie = snapshot.reading(Pcie)
    for device in pcie.devices if pcie else ():
        for error in device.errors:
            yield (device.device, error.severity, error.error), error.count


def _all_errors(snapshot: Snapshot) -> Iterable[Sample]:
    pcie = snapshot.reading(Pcie)
    sums: Counter[str] = Counter()
    for device in pcie.devices if pcie else ():
        for severity, count in device.errors_by_severity:
            sums[severity] += count
    return [((severity,), sums[severity]) for severity in sums]


def _links(snapshot: Snapshot) -> Iterable[Sample]:
    states = Counter(LINK_STATES[card.is_reduced] for card in _cards(snapshot))
    return [((state,), states[state]) for state in LINK_STATES.values()] if states else ()


def _info(snapshot: Snapshot) -> Iterable[Sample]:
    """What is shown with its link or its errors; `/node` lists all devices."""
    pcie = snapshot.reading(Pcie)
    linked = {device.device for device in _with_link(snapshot)}
    for device in pcie.devices if pcie else ():
        if device.errors or device.device in linked:
            yield (device.device, device.parent or "", device.kind, device.slot or ""), 1


FAMILIES = (
    Family(
        "hw_pcie_errors_total",
        "Errors of one device since boot, by the kernel's names; only those that occurred.",
        Kind.COUNTER,
        ("device", "severity", "error"),
        _errors,
    ),
    Family(
        "hw_pcie_all_errors_total",
        "Errors of all watched devices together since boot; also there while it is zero.",
        Kind.COUNTER,
        ("severity",),
        _all_errors,
    ),
    Family(
        "hw_pcie_links",
        "Cards by their link: full, reduced (below what both ends can), unknown.",
        Kind.GAUGE,
        ("state",),
        _links,
    ),
    Family(
        "hw_pcie_link_speed_bytes_per_second",
        "Speed of one lane in one direction now; GPUs slow down while they are idle.",
        Kind.GAUGE,
        ("device",),
        _link(lambda device: device.speed_bytes_per_second),
    ),
    Family(
        "hw_pcie_link_speed_max_bytes_per_second",
        "Speed of one lane in one direction that the device can have.",
        Kind.GAUGE,
        ("device",),
        _link(lambda device: device.speed_max_bytes_per_second),
    ),
    Family(
        "hw_pcie_link_width",
        "Lanes of the link now.",
        Kind.GAUGE,
        ("device",),
        _link(lambda device: device.width),
    ),
    Family(
        "hw_pcie_link_width_max",
        "Lanes the device can have.",
        Kind.GAUGE,
        ("device",),
        _link(lambda device: device.width_max),
    ),
    Family(
        "hw_pcie_info",
        "What the device is and the port right above it; always 1.",
        Kind.GAUGE,
        ("device", "parent", "class", "slot"),
        _info,
    ),
)
