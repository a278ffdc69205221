"""Families of the PCI Express bus.

A server has a hundred ports and cards, nearly all healthy. To stay small, a page shows errors that
occurred and links that are reduced one by one, and the healthy rest as sums and counts.
"""

from collections import Counter
from collections.abc import Iterable

from exporter.collectors.pcie.values import Pcie, PcieDevice
from exporter.exposition.family import Sample, family
from exporter.exposition.rows import Row, each, families
from exporter.model.snapshot import Snapshot

MAX_WITH_ALL_LINKS = 8
"""A node with at most so many cards shows the links of all of them."""
LINK_STATES = {False: "full", True: "reduced", None: "unknown"}


def _devices(snapshot: Snapshot) -> tuple[PcieDevice, ...]:
    pcie = snapshot.reading(Pcie)
    return pcie.devices if pcie else ()


def _with_link(devices: tuple[PcieDevice, ...]) -> list[PcieDevice]:
    """Return GPUs, other cards that are few or reduced, and the ports above reduced ones."""
    cards = [device for device in devices if not device.is_port]
    is_small = len(cards) <= MAX_WITH_ALL_LINKS
    shown = {card.device for card in cards if is_small or card.kind == "gpu" or card.is_reduced}
    shown |= {card.parent for card in cards if card.is_reduced and card.parent}
    return [device for device in devices if device.device in shown]


WITH_LINK = each(Pcie, lambda pcie: _with_link(pcie.devices), PcieDevice, "device")

GPUS = each(
    Pcie, lambda pcie: (it for it in pcie.devices if it.kind == "gpu"), PcieDevice, "device"
)


def _errors(snapshot: Snapshot) -> Iterable[Sample]:
    for device in _devices(snapshot):
        for error in device.errors:
            yield (device.device, error.severity, error.error), error.count


def _all_errors(snapshot: Snapshot) -> Iterable[Sample]:
    sums: Counter[str] = Counter()
    for device in _devices(snapshot):
        for severity, count in device.errors_by_severity:
            sums[severity] += count
    return [((severity,), sums[severity]) for severity in sums]


def _links(snapshot: Snapshot) -> Iterable[Sample]:
    cards = (device for device in _devices(snapshot) if not device.is_port)
    states = Counter(LINK_STATES[card.is_reduced] for card in cards)
    return [((state,), states[state]) for state in LINK_STATES.values()] if states else ()


def _info(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield what is shown with its link or its errors; `/node` lists all devices."""
    linked = {device.device for device in _with_link(_devices(snapshot))}
    for device in _devices(snapshot):
        if device.errors or device.device in linked:
            yield (device.device, device.parent or "", device.kind, device.slot or ""), 1


FAMILIES = (
    family(
        "hw_pcie_errors_total",
        "PCIe AER errors of one device since boot; only errors that occurred.",
        _errors,
        *("device", "severity", "error"),
    ),
    *families(
        "hw_pcie_gpu_",
        GPUS,
        Row(
            "errors_total",
            "PCIe AER errors of one GPU since boot, including zero.",
            "errors_by_severity",
            ("severity",),
        ),
    ),
    family(
        "hw_pcie_all_errors_total",
        "PCIe AER errors of all devices since boot, including zero.",
        _all_errors,
        "severity",
    ),
    family(
        "hw_pcie_links",
        "PCIe devices by link: full, reduced (below what both ends support), unknown.",
        _links,
        "state",
    ),
    *families(
        "hw_pcie_link_",
        WITH_LINK,
        Row(
            "speed_bytes_per_second",
            "Current PCIe link speed of one lane in one direction; idle GPUs reduce it.",
        ),
        Row(
            "speed_max_bytes_per_second",
            "Maximum PCIe link speed of one lane in one direction.",
        ),
        Row("width", "Current PCIe link width, in lanes."),
        Row("width_max", "Maximum PCIe link width, in lanes."),
    ),
    family(
        "hw_pcie_info",
        "Class, slot and parent port of the PCIe device; always 1.",
        _info,
        *("device", "parent", "class", "slot"),
    ),
)
