"""Values of the node: names and board."""

from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Host:
    """The identity of this node; `None` is a fact that could not be read."""

    hostname: str
    os_name: str | None
    os_version: str | None
    kernel_version: str | None
    cpu_model: str | None
    uptime_secs: float


@dataclass(frozen=True, slots=True)
class Hardware:
    """The names of the board in DMI; `None` is a name that DMI lacks."""

    vendor: str | None = None
    product: str | None = None
    board: str | None = None
    bios_version: str | None = None
    bios_date: str | None = None  # in the vendor's format
