"""Limits on clients: how many, how slow, how large, and what a broken request may cost.

aiohttp has no time limit for the header of a request and logs a traceback for each malformed
one; both would let anybody who reaches the port fill our memory or the node's disk.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from exporter.web.tls import Greeting

LINGERING_SECS = 1.0
SERVER_HEADERS = {"Server": "hw-exporter", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one server; times in seconds."""

    max_connections: int
    request_timeout_secs: float
    keepalive_timeout_secs: float
    max_header_bytes: int = 8190
    max_headers: int = 64


class GuardedServer(web.Server):
    """A server whose connections are bounded in number and time.

    They are encrypted where `context`, asked for each, gives a TLS context.
    """

    def __init__(
        self,
        handler: Any,  # noqa: ANN401 - aiohttp's own type is private
        limits: Limits,
        context: Callable[[], ssl.SSLContext | None] = lambda: None,
    ) -> None:
        super().__init__(handler)
        self.limits = limits
        self.refused = 0
        self.failed_greetings = 0
        self._context = context
        self._greetings: set[Greeting] = set()

    def open_connections(self) -> int:
        """How many connections there are, those included that are still greeted."""
        return len(self.connections) + len(self._greetings)

    def __call__(self) -> Any:  # noqa: ANN401 - aiohttp promises its own class here
        """The protocol of one new connection."""
        context = self._context()
        if context is None:
            return self._connection()
        timeout = self.limits.request_timeout_secs
        if len(self._greetings) + len(self.connections) >= self.limits.max_connections:
            return self._connection()  # full: the connection refuses by itself
        greeting = Greeting(context, self._connection(), self._greeted, timeout)
        self._greetings.add(greeting)
        return greeting

    def _greeted(self, greeting: Greeting, is_well: bool) -> None:  # noqa: FBT001 - a callback
        self._greetings.discard(greeting)
        self.failed_greetings += not is_well

    def _connection(self) -> RequestHandler:
        return _GuardedConnection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=self.limits.keepalive_timeout_secs,
            access_log=None,
            max_line_size=self.limits.max_header_bytes,
            max_field_size=self.limits.max_header_bytes,
            max_headers=self.limits.max_headers,
            lingering_time=LINGERING_SECS,
        )


class _GuardedConnection(RequestHandler):
    """One connection; closed when a request takes too long to arrive."""

    __slots__ = ("_deadline", "_guard")

    def __init__(self, server: GuardedServer, **options: Any) -> None:  # noqa: ANN401 - aiohttp's
        super().__init__(server, **options)
        self._guard = server
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._guard.open_connections() >= self._guard.limits.max_connections:
            self._guard.refused += 1
            if isinstance(transport, asyncio.Transport):
                transport.abort()
            return
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: BaseException | None) -> None:
        self.request_arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # Started before the data are parsed: a whole request among them ends the time at once.
        self._start_deadline()
        super().data_received(data)

    def request_arrived(self) -> None:
        """A whole request is here: its time to arrive is over."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002 - aiohttp's signature
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's signature
    ) -> web.StreamResponse:
        """One short answer that repeats nothing of what was sent."""
        sentence = "malformed request" if status < 500 else "internal error"  # noqa: PLR2004 - HTTP
        response = web.json_response({"error": sentence}, status=status, headers=SERVER_HEADERS)
        response.force_close()
        if status >= 500:  # noqa: PLR2004 - HTTP
            self.logger.error("a request failed: %s", type(exc).__name__, exc_info=exc)
        return response

    def log_exception(self, *args: Any, **kw: Any) -> None:  # noqa: ANN401 - aiohttp's signature
        """A client that breaks the protocol is not worth a traceback in the node's log."""
        self.logger.debug(*args, **kw)

    def _start_deadline(self) -> None:
        if self._deadline is None:
            secs = self._guard.limits.request_timeout_secs
            self._deadline = asyncio.get_running_loop().call_later(secs, self._too_late)

    def _too_late(self) -> None:
        self._deadline = None
        self.force_close()


def listening_sockets(host: str, port: int, user_timeout_secs: float) -> list[socket.socket]:
    """Sockets bound to the address; both IP versions for 0.0.0.0 where both are there.

    Raises OSError when the address cannot be had.
    """
    addresses = [(socket.AF_INET6 if ":" in host else socket.AF_INET, host)]
    if host in ("0.0.0.0", ""):  # noqa: S104 - the address meant by the configuration
        addresses = [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")]  # noqa: S104 - same
    sockets: list[socket.socket] = []
    failures: list[OSError] = []
    for family, address in addresses:
        try:
            sockets.append(_listen(family, address, port, user_timeout_secs))
        except OSError as error:
            failures.append(error)
            continue
        port = sockets[0].getsockname()[1]  # port 0: the second family takes the same one
    if not sockets or (failures and any(is_taken(error) for error in failures)):
        for bound in sockets:
            bound.close()
        raise failures[0]
    return sockets


def is_taken(error: OSError) -> bool:
    """Whether the port is used by somebody else."""
    return error.errno == 98  # noqa: PLR2004 - EADDRINUSE


def _listen(family: int, address: str, port: int, user_timeout_secs: float) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # Inherited by every connection: one that never reads its answer is closed by the kernel.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(user_timeout_secs * 1000))
        sock.bind((address, port))
        sock.listen(1024)
        sock.setblocking(False)  # noqa: FBT003 - the socket's own signature
    except OSError:
        sock.close()
        raise
    return sock
