"""What is read about PCIe devices."""

from exporter.record import dataclass

PASSTHROUGH_DRIVERS = frozenset({"pci-stub", "pciback", "xen-pciback", "uio_pci_generic"})
"""Drivers that hold a device for a virtual machine or a program: the node does not use it."""

VFIO = "vfio"
"""In the names of others that do so: vfio-pci, nvgrace_gpu_vfio_pci, mlx5_vfio_pci."""

VIRTUAL_ADAPTER_DRIVERS = frozenset({"ena", "gve", "mana", "virtio-pci", "vmxnet3"})
"""Drivers of network adapters that a hypervisor attaches and detaches on request."""

VIRTUAL_ADAPTER_VENDORS = frozenset({"0x1414", "0x15ad", "0x1ae0", "0x1af4", "0x1d0f"})
"""Vendors of these adapters, with any driver: Microsoft, VMware, Google, virtio, Amazon."""

NVIDIA = "0x10de"


def passes_through(driver: str | None) -> bool:
    """Tell whether this driver holds devices for a virtual machine or a program."""
    return driver in PASSTHROUGH_DRIVERS or VFIO in (driver or "")


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
    vendor: str | None = None  # of a GPU or a network card, or of a port above: 0x10de is NVIDIA
    is_lent: bool = False  # Ethernet that Hyper-V takes back at will, and stands in for
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
        return passes_through(self.driver)

    @property
    def comes_and_goes(self) -> bool:
        """Whether it is a network adapter that a hypervisor attaches and detaches on request."""
        is_virtual = self.kind == "network" and self.vendor in VIRTUAL_ADAPTER_VENDORS
        return self.is_lent or is_virtual or self.driver in VIRTUAL_ADAPTER_DRIVERS

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
