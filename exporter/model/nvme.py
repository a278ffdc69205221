"""NVMe controllers: state and SMART health."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NvmeController:
    """One controller; `state` is the kernel's word: live, resetting, dead and others."""

    device: str
    state: str | None = None
    pci_bus_id: str | None = None


@dataclass(frozen=True, slots=True)
class NvmeControllers:
    """The controllers, ordered by name."""

    controllers: tuple[NvmeController, ...]


@dataclass(frozen=True, slots=True)
class NvmeHealth:
    """The health log of one controller; counters run since it was made."""

    device: str
    critical_warning: int  # bits: spare, temperature, reliability, read-only, backup, …
    temperature_celsius: float | None
    available_spare_ratio: float | None
    available_spare_threshold_ratio: float | None
    percentage_used_ratio: float  # may exceed 1: used beyond what was promised
    unsafe_shutdowns: int
    media_errors: int


@dataclass(frozen=True, slots=True)
class NvmeHealths:
    """The health logs, ordered by controller."""

    controllers: tuple[NvmeHealth, ...]
