"""PCIe, NVLink, and the fabric that NVLink makes."""

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import (
    ALL_LINKS,
    FieldId,
    NvmlDevice,
    available_values,
    call_each,
    converted,
)
from exporter.collectors.gpu.nvml_probe.library import reason_of
from exporter.collectors.gpu.nvml_probe.nvml import NVML_ERROR_NOT_SUPPORTED, NVMLError

KIB = 1024
MAX_LINKS = 36
LINK_COUNT: FieldId = 91
ERROR_SUMS: dict[str, FieldId] = {
    "crc_flit": 38,
    "crc_data": 45,
    "replay": 52,
    "recovery": 59,
    "ecc_data": 160,
}
"""Sums over links that the driver makes, up to the fourth generation."""

LINK_ERRORS = {"replay": 0, "recovery": 1, "crc_flit": 2, "crc_data": 3, "ecc_data": 4}
FIFTH_GENERATION = {
    "receive": 208,
    "link_integrity": 211,
    "recovery_failed": 214,
    "effective": 219,
    "symbol": 221,
}
"""Field values by link of the fifth generation, which has none of the sums."""

FIFTH_GENERATION_BYTES = {"transmit": 202, "receive": 204}


def pcie_throughput(card: NvmlDevice) -> dict[str, float]:
    """Read bytes per second over 20 ms, for which each of the two calls blocks."""
    return {
        "pcie_transmit_bytes_per_second": card.ask("nvmlDeviceGetPcieThroughput", 0) * KIB,
        "pcie_receive_bytes_per_second": card.ask("nvmlDeviceGetPcieThroughput", 1) * KIB,
    }


def nvlink_up(card: NvmlDevice) -> Any:
    """Read 0 or 1 by link, for each link that the driver counts, wired or not."""
    links = _link_count(card)
    found = call_each(card, [(str(n), "nvmlDeviceGetNvLinkState", (n,)) for n in range(links)])
    return available_values(found)


def _link_count(card: NvmlDevice) -> int:
    """Read how many links the board has; raises NVMLError where it has none."""

    def count(card: NvmlDevice) -> int:
        links = card.field_values("nvlink_count", {"links": LINK_COUNT})["links"]
        return MAX_LINKS if isinstance(links, Exception) else min(int(links), MAX_LINKS)

    links = card.once("nvlink_count", count)
    if links == 0:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    return links


def nvlink_traffic(card: NvmlDevice) -> dict[str, Any]:
    """Read bytes over all links since the driver was loaded, without headers."""
    found = card.field_values(
        "nvlink_traffic",
        {
            "nvlink_transmit_bytes_total": (138, ALL_LINKS),
            "nvlink_receive_bytes_total": (139, ALL_LINKS),
        },
    )
    if all(isinstance(value, Exception) for value in found.values()):
        sums = _sums_over_links(card, "nvlink5_traffic", FIFTH_GENERATION_BYTES)
        return {f"nvlink_{direction}_bytes_total": value for direction, value in sums.items()}
    return {field: converted(value, KIB) for field, value in found.items()}


def nvlink_errors(card: NvmlDevice) -> Any:
    """Read errors summed over links, by kind."""
    found = available_values(card.field_values("nvlink_errors", ERROR_SUMS))
    if isinstance(found, Exception) and reason_of(found) in ("not_supported", "invalid_argument"):
        return available_values(_sums_over_links(card, "nvlink5_errors", FIFTH_GENERATION))
    return found


def _sums_over_links(card: NvmlDevice, topic: str, kinds: dict[str, int]) -> dict[str, Any]:
    """Sum each field over the links that report it; an error where none does.

    A link that reports nothing now counts with what it reported last: a sum that falls would look
    like a counter that began anew.
    """
    links = range(_link_count(card))
    wanted: dict[str, FieldId] = {
        f"{kind}/{link}": (number, link) for kind, number in kinds.items() for link in links
    }
    found = card.field_values(topic, wanted)
    reported = {key: value for key, value in found.items() if not isinstance(value, Exception)}
    last: dict[str, Any] = card.once(topic, lambda _: {})
    last.update(reported)
    sums: dict[str, Any] = {}
    for kind in kinds:
        keys = [f"{kind}/{link}" for link in links]
        is_reported = not reported.keys().isdisjoint(keys)
        sums[kind] = sum(last.get(key, 0) for key in keys) if is_reported else found[keys[0]]
    return sums


def nvlink_link_errors(card: NvmlDevice) -> Any:
    """Read errors by link and kind."""
    name = "nvmlDeviceGetNvLinkErrorCounter"
    calls = [
        ((str(link), kind), name, (link, counter))
        for link in range(_link_count(card))
        for kind, counter in LINK_ERRORS.items()
    ]
    return available_values(call_each(card, calls))
