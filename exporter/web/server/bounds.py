"""The limits of connections, by configuration and free descriptors."""

from exporter.config.server import ServerConfig
from exporter.web.server.acceptor import Bounds
from exporter.web.server.admission import Limits
from exporter.web.server.listening import MAX_WAITING, free_descriptors

TLS_COSTS_TIMES = 4


def limits_of(server: ServerConfig) -> Limits:
    """Return the limits of the configuration, reduced to the free descriptors."""
    most = server.max_connections
    if server.tls.cert_file:
        most = max(1, most // TLS_COSTS_TIMES)
    return Limits(
        max_connections=min(most, max(16, free_descriptors() // 2)),
        request_timeout_secs=server.request_timeout_secs,
        keepalive_timeout_secs=server.keepalive_timeout_secs,
    )


def waiting_bounds(server: ServerConfig, taken: int) -> Bounds:
    """Return the limits of waiting clients, when `taken` descriptors are needed otherwise."""
    left = free_descriptors() - taken
    return Bounds(min(MAX_WAITING, max(16, left)), server.request_timeout_secs)
