"""What is read about PCIe devices, and how PCI addresses are written."""

import os
import re
from functools import lru_cache
from pathlib import Path

from exporter.record import dataclass

PASSTHROUGH_DRIVERS = frozenset(
    {"vfio-pci", "pci-stub", "pciback", "xen-pciback", "uio_pci_generic"}
)
"""Drivers that hold a device for a virtual machine or a program: the node does not use it."""

VIRTUAL_ADAPTER_DRIVERS = frozenset({"ena", "gve", "mana", "virtio-pci", "vmxnet3"})
"""Drivers of network adapters that a hypervisor attaches and detaches on request."""

NVIDIA = "0x10de"


@dataclass(frozen=True, slots=True)
class PcieError:
    """One kind of error a device has counted since boot."""

    severity: str  # correctable, nonfatal, fatal
    error: str  # the kernel's name: RxErr, BadTLP, …
    count: int


@dataclass(frozen=True, slots=True)
class PcieDevice:
    """A GPU, network card or NVMe disk, or a port above one; speeds are of one lane, one way."""

    device: str  # its address
    kind: str  # gpu, network, nvme, port
    parent: str | None = None  # the port right above
    slot: str | None = None  # the name of the slot it sits in
    driver: str | None = None  # the kernel driver bound to it
    numa_node: int | None = None
    vendor: str | None = None  # of a GPU: 0x10de is NVIDIA
    suspended: bool = False  # asleep to save power: not asked for its link
    speed_bytes_per_second: float | None = None
    speed_max_bytes_per_second: float | None = None
    width: int | None = None  # lanes
    width_max: int | None = None
    speed_reachable_bytes_per_second: float | None = None  # together with the port right above
    width_reachable: int | None = None
    errors: tuple[PcieError, ...] = ()  # only those that occurred
    errors_by_severity: tuple[tuple[str, int], ...] = ()  # also there when zero

    @property
    def is_passed_through(self) -> bool:
        """Whether it is given to a virtual machine or a program, away from the node's drivers."""
        return self.driver in PASSTHROUGH_DRIVERS

    @property
    def is_unbound_gpu(self) -> bool:
        """Whether it is a GPU of NVIDIA (or of a vendor that is not known) without any driver.

        Those of other vendors are often only there for a screen.
        """
        return self.kind == "gpu" and self.driver is None and self.vendor in (None, NVIDIA)

    @property
    def is_port(self) -> bool:
        """Whether it leads to other devices."""
        return self.kind == "port"

    @property
    def is_reduced(self) -> bool | None:
        """Whether its link trained lower than both of its ends can; None where that is not said.

        The speed of a GPU says nothing: its driver slows the link down while it is idle. Ports
        are not judged: their link is that of the device below.
        """
        pairs: list[tuple[float | None, float | None]] = [(self.width, self.width_reachable)]
        if self.kind != "gpu":
            pairs.append((self.speed_bytes_per_second, self.speed_reachable_bytes_per_second))
        known = [now < best for now, best in pairs if now is not None and best is not None]
        return any(known) if known and not self.is_port else None


@dataclass(frozen=True, slots=True)
class Pcie:
    """The devices, ordered by address."""

    devices: tuple[PcieDevice, ...]


_ADDRESS = re.compile(
    r"(?:(?P<domain>[0-9a-f]{1,8}):)?(?P<bus>[0-9a-f]{1,2}):(?P<device>[0-9a-f]{1,2})"
    r"(?:\.(?P<function>[0-7]))?"
)

_SYSFS_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@lru_cache(maxsize=512)
def pci_address(text: str | None) -> str | None:
    """Write the address as `dddd:bb:dd.f` in lower case, or None when the text is not one.

    Tools print the domain with 4 or 8 digits or leave it out, in either case; the lines of the
    NVIDIA driver have no function, which means function 0.
    """
    match = _ADDRESS.fullmatch(text.strip().lower()) if text else None
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function or 0}"


def is_pci_address(name: str) -> bool:
    """Tell whether a name is an address as sysfs writes them."""
    return _SYSFS_ADDRESS.fullmatch(name) is not None


def addresses_in(path: str) -> list[str]:
    """Find the addresses in a path of sysfs, the one nearest to the processor first."""
    return [part for part in path.split("/") if is_pci_address(part)]


def pci_address_of(link: Path) -> str | None:
    """Find the PCI device behind a `device` link, also one below it; None where there is none."""
    try:
        addresses = addresses_in(os.path.realpath(link, strict=True))
    except OSError:
        return None  # nothing behind it, or it has just gone
    return addresses[-1] if addresses else None
