"""How the driver is noticed, and which GPUs the kernel has bound to it."""

from dataclasses import dataclass
from pathlib import Path

from exporter.collectors.pcie.values import pci_address
from exporter.config import GpuConfig


@dataclass(frozen=True, slots=True)
class Driver:
    """How the driver is noticed: one of the marker paths exists; how long it may be let go of."""

    markers: tuple[Path, ...]
    redetect_secs: float
    release_secs: float = 300.0

    def is_there(self) -> bool:
        """Look for the markers."""
        return any(marker.exists() for marker in self.markers)


def driver_of(config: GpuConfig) -> Driver:
    """Tell how the driver is noticed; a simulated node has none to wait for."""
    markers = ("/",) if config.backend == "demo" else config.driver_markers
    paths = tuple(Path(marker) for marker in markers)
    return Driver(paths, config.redetect_secs, config.release_secs)


def bound_gpus(sys_root: Path) -> tuple[str, ...]:
    """List the PCI addresses under `/sys/bus/pci/drivers/nvidia`, in the order of the driver."""
    try:
        names = [entry.name for entry in (sys_root / "bus/pci/drivers/nvidia").iterdir()]
    except OSError:
        return ()  # no such driver, or its list may not be read: nothing is known of the bus
    return tuple(sorted(address for name in names if (address := pci_address(name)) is not None))
