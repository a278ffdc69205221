"""How many connections the server takes at once, and how many wait for a place."""

from exporter.config.server import ServerConfig
from exporter.web.server.acceptor import Bounds
from exporter.web.server.admission import Limits
from exporter.web.server.listening import MAX_WAITING, free_descriptors

TLS_COSTS_TIMES = 4


def limits_of(server: ServerConfig) -> Limits:
    """Return what the configuration allows, as far as there are descriptors."""
    most = server.max_connections
    if server.tls.cert_file:
        most = max(1, most // TLS_COSTS_TIMES)
    return Limits(
        max_connections=min(most, max(16, free_descriptors() // 2)),
        request_timeout_secs=server.request_timeout_secs,
        keepalive_timeout_secs=server.keepalive_timeout_secs,
    )


def waiting_bounds(server: ServerConfig, taken: int) -> Bounds:
    """Return how many connections may wait where so many descriptors are taken by others."""
    left = free_descriptors() - taken
    return Bounds(min(MAX_WAITING, max(16, left)), server.request_timeout_secs)
