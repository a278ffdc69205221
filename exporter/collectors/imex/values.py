"""The IMEX domain as its services report it, with its nodes as this node sees them."""

from exporter.exposition.rows import metric
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class ImexNode:
    """One node of the domain, named by the address in nodes_config.cfg.

    `status` is the word of its IMEX service, empty where only a connection to the node is known.
    """

    host: str
    status: str = ""
    ready: bool | None = metric("Whether IMEX on the host is ready.")
    connected: bool | None = metric(
        "Whether IMEX on this node is connected to that of the host; absent while IMEX on this"
        " node is not ready."
    )


@dataclass(frozen=True, slots=True)
class ImexDomain:
    """The domain; `up` is None where its status is none that is known."""

    nodes: tuple[ImexNode, ...]
    up: bool | None = metric("Whether the whole IMEX domain is up.")
    node_count: int = 0
    ready_count: int = 0
