"""Listening sockets, for IPv4 and IPv6, and the limit of open descriptors."""

import errno
import resource
import socket
from typing import Any

STREAM = socket.SOCK_STREAM
BACKLOG = 16384
"""The most clients that wait in the kernel; net.core.somaxconn may allow fewer."""

MAX_WAITING = 16384
"""The most clients with an incomplete first request."""

MAX_SERVED = 1024
RESERVED_DESCRIPTORS = 128


def free_descriptors() -> int:
    """Return the number of descriptors for clients, after raising the soft limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_WAITING + MAX_SERVED + RESERVED_DESCRIPTORS
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    return max(0, (wanted if soft == resource.RLIM_INFINITY else soft) - RESERVED_DESCRIPTORS)


def listening_sockets(host: str, port: int, user_timeout_secs: float) -> list[socket.socket]:
    """Return sockets bound to all addresses of the host; 0.0.0.0 also means ::.

    An address that this machine does not have is left out. Raises OSError when none can be bound,
    or one is taken.
    """
    hosts = ("0.0.0.0", "::") if host in ("0.0.0.0", "") else (host,)  # noqa: S104 - the address meant by the configuration
    # Bytes: for a text, the tables of international names would be loaded.
    names = [name.encode() if name.isascii() else name for name in hosts]
    found = [each for name in names for each in socket.getaddrinfo(name, None, type=STREAM)]
    sockets: list[socket.socket] = []
    failures: list[OSError] = []
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            sockets.append(_listen(family, (address[0], port, *address[2:]), user_timeout_secs))
        except OSError as error:
            failures.append(error)
            continue
        port = sockets[0].getsockname()[1]  # port 0: all addresses take the port of the first
    if not sockets or any(map(is_taken, failures)):
        for bound in sockets:
            bound.close()
        raise max(failures, key=is_taken)
    return sockets


def is_taken(error: OSError) -> bool:
    """Whether the error says that the port is in use."""
    return error.errno == errno.EADDRINUSE


def _listen(family: int, address: tuple[Any, ...], user_timeout_secs: float) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # Inherited by every connection: one that never reads its answer is closed by the kernel.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(user_timeout_secs * 1000))
        sock.bind(address)
        sock.listen(BACKLOG)
        sock.setblocking(False)  # noqa: FBT003 - the socket's own signature
    except OSError:
        sock.close()
        raise
    return sock
