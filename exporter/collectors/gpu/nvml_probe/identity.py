"""The identity of a GPU: facts that are asked once, and again when the set of GPUs has changed."""

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice
from exporter.collectors.gpu.nvml_probe.nvml import NVMLError
from exporter.collectors.pcie.address import pci_address

ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}
UNNAMED = "unknown"


def identity(card: NvmlDevice) -> dict[str, Any]:
    """Read index, UUID and name; raises NVMLError when the GPU does not answer."""
    return {
        "index": card.ask("nvmlDeviceGetIndex"),
        "uuid": card.text("nvmlDeviceGetUUID"),
        "name": name(card),
    }


def name(card: NvmlDevice) -> str:
    """Read the name of the product; `unknown` where the driver gives none."""
    return card.text("nvmlDeviceGetName") or UNNAMED


def is_same(card: NvmlDevice, known: dict[str, Any]) -> bool:
    """Check that the handle still means the GPU it meant; the library answers both calls."""
    try:
        return bool(
            card.ask("nvmlDeviceGetIndex") == known["index"]
            and card.text("nvmlDeviceGetUUID") == known["uuid"]
        )
    except NVMLError:
        return False


def texts(card: NvmlDevice) -> dict[str, Any]:
    """Read serial number, firmware and part number, where the board has them."""
    return {
        "serial": card.text("nvmlDeviceGetSerial"),
        "vbios_version": card.text("nvmlDeviceGetVbiosVersion"),
        "board_part_number": card.text("nvmlDeviceGetBoardPartNumber"),
    }


def pci_bus_id(card: NvmlDevice) -> str:
    """Read the PCI address as the kernel writes it: `0000:18:00.0`."""
    reported = card.ask("nvmlDeviceGetPciInfo").busId
    address = pci_address(
        reported.decode("ascii", "replace") if isinstance(reported, bytes) else reported
    )
    if address is None:
        raise ValueError(f"PCI address {reported!r}")
    return address


def cuda_version(number: int) -> str:
    """Write `12.4` for 12040."""
    return f"{number // 1000}.{number % 1000 // 10}"
