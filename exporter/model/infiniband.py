"""Ports of InfiniBand and RoCE cards."""

from dataclasses import dataclass

from exporter.model.reading import Labeled


@dataclass(frozen=True, slots=True)
class InfinibandPort:
    """One port; counters since the driver was loaded, under the kernel's own names."""

    device: str
    port: str
    state: str | None = None  # active, init, down, …
    phys_state: str | None = None  # linkup, polling, disabled, …
    link_layer: str | None = None  # InfiniBand, Ethernet
    rate_bytes_per_second: float | None = None
    receive_bytes: int | None = None
    transmit_bytes: int | None = None
    wait: int | None = None  # ticks in which data waited for room at the other end
    errors: Labeled = ()
    events: Labeled = ()  # what RDMA counted: out_of_sequence, np_cnp_sent, …
    pci_bus_id: str | None = None
    link_was_up: bool | None = None  # now or ever before, as far as is remembered
    peers_up: int | None = None  # other ports of the same link layer that are active

    @property
    def up(self) -> bool | None:
        """Whether it is active; None where the state is not said."""
        return None if self.state is None else self.state == "active"


@dataclass(frozen=True, slots=True)
class Infiniband:
    """The ports, ordered by device and number."""

    ports: tuple[InfinibandPort, ...]
    truncated: int = 0  # beyond the number that is shown at most
