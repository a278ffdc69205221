"""The node itself: its names, its processors and its memory."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Host:
    """Who this node is; `None` is what could not be found out."""

    hostname: str
    os_name: str | None
    os_version: str | None
    kernel_version: str | None
    cpu_model: str | None
    uptime_secs: float


@dataclass(frozen=True, slots=True)
class Cpu:
    """Processors and their use over our own sampling interval; iowait counts as idle."""

    cores: int | None  # physical
    threads: int  # logical, online
    usage_percent: float | None  # absent before the second sample
    used_cores: float | None


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory in bytes; used = total - available."""

    total_bytes: int
    available_bytes: int

    @property
    def used_bytes(self) -> int:
        """Bytes that cannot be had without swapping."""
        return self.total_bytes - self.available_bytes

    @property
    def usage_percent(self) -> float | None:
        """Used share of the total, 0 to 100."""
        if not self.total_bytes:
            return None
        return 100.0 * self.used_bytes / self.total_bytes
