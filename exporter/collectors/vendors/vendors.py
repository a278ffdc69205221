"""The one list of vendors, in the order in which their GPUs are numbered.

The next vendor is a row here and a module with `build`, which is imported when the driver is found.
"""

from collections.abc import Callable
from pathlib import Path

from exporter.reading.context import SourceContext
from exporter.record import dataclass

Marks = Callable[[SourceContext], tuple[Path, ...]]
"""Returns the paths of which one exists while the driver may be here."""


def on_pci(driver: str) -> Marks:
    """Look for this kernel driver of PCI devices."""
    return lambda ctx: (ctx.sys / "bus/pci/drivers" / driver,)


def device_node(path: str) -> Marks:
    """Look for this device node, as the host and as this container see it."""
    return lambda ctx: (ctx.root / path, Path("/", path))


@dataclass(frozen=True, slots=True)
class Vendor:
    """GPUs of one vendor (`vendor` as in `gpu_vendor`) with one driver or program, `backend`.

    `module` is below this package, `pci_id` as PCI devices show their vendor.
    """

    vendor: str
    pci_id: str
    backend: str
    module: str
    marks: Marks


NVIDIA = "0x10de"
"""The PCI vendor of the first vendor, which collectors/gpu reads."""

VENDORS = (
    Vendor("amd", "0x1002", "amdgpu", "amd.amdgpu", on_pci("amdgpu")),
    Vendor("intel", "0x8086", "xe", "intel", on_pci("xe")),
    Vendor("intel", "0x8086", "i915", "intel", on_pci("i915")),
    Vendor("ascend", "0x19e5", "npu-smi", "npu_smi", device_node("dev/davinci_manager")),
)
PCI_IDS = (NVIDIA, *dict.fromkeys(vendor.pci_id for vendor in VENDORS))
