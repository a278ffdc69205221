"""The PCIe bus of the simulated node: each GPU in a slot of its own, below a port of its own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from exporter.collectors.demo.card import Card

LINK = {
    "current_link_speed": "32.0 GT/s PCIe",
    "max_link_speed": "32.0 GT/s PCIe",
    "current_link_width": "16",
    "max_link_width": "16",
}
ERRORS = {
    "aer_dev_correctable": "RxErr 0\nTOTAL_ERR_COR 0",
    "aer_dev_nonfatal": "CmpltTO 0\nTOTAL_ERR_NONFATAL 0",
    "aer_dev_fatal": "CmpltTO 0\nTOTAL_ERR_FATAL 0",
}


def lay_bus(folder: Path, cards: Sequence[Card]) -> None:
    """Write the constant files: the devices, the tree of the bus, and the names of the slots."""
    for name, text in _files(cards):
        path = folder / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", "utf-8")
    listed = folder / "sys/bus/pci/devices"
    listed.mkdir(parents=True, exist_ok=True)
    for card in cards:
        for place in (_port(card), _gpu(card)):
            link = listed / place.rpartition("/")[2]
            if not link.is_symlink():
                link.symlink_to(f"../../../{place}")


def _port(card: Card) -> str:
    return f"devices/pci{card.port.rpartition(':')[0]}/{card.port}"


def _gpu(card: Card) -> str:
    return f"{_port(card)}/{card.pci_bus_id}"


def _files(cards: Sequence[Card]) -> Iterator[tuple[str, str]]:
    for card in cards:
        kinds = ((_port(card), "0x060400", "0x8086"), (_gpu(card), "0x030200", "0x10de"))
        for place, code, vendor in kinds:
            own = {"class": code, "vendor": vendor, "numa_node": str(card.numa_node)}
            for name, text in {**own, **LINK, **ERRORS}.items():
                yield f"{place}/{name}", text
        yield f"bus/pci/slots/{card.slot}/address", card.pci_bus_id.rpartition(".")[0]
