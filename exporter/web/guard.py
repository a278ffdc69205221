"""Limits on clients: how many, how slow, how large, and what a broken request may cost.

aiohttp has no time limit for the header of a request and logs a traceback for each malformed
one; both would let anybody who reaches the port fill our memory or the node's disk.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Not aiohttp.web: that brings files, routes and websockets, a megabyte that nobody uses here.
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse, json_response
from aiohttp.web_server import Server

from exporter.web.tls import TlsHandshake

LINGERING_SECS = 1.0
SERVER_HEADERS = {"Server": "hw-exporter", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one server; times in seconds.

    `max_unsent_bytes` is for all answers together that clients are slow to take,
    `max_arriving_bytes` for all requests together that have not arrived as a whole;
    nobody who has sent less than `fair_request_bytes` suffers from others that sent more.
    """

    max_connections: int
    request_timeout_secs: float
    keepalive_timeout_secs: float
    response_timeout_secs: float = 10.0
    max_header_bytes: int = 8190
    max_headers: int = 64
    max_unsent_bytes: int = 8 * 1024 * 1024
    max_arriving_bytes: int = 8 * 1024 * 1024
    fair_request_bytes: int = 16 * 1024


class GuardedServer(Server):
    """A server whose connections are bounded in number, time and memory.

    When all places are taken, a new client gets that of the connection idle longest, so that
    nobody can lock Prometheus out by keeping connections; without an idle one it is refused.
    Connections are encrypted where `context`, asked for each, gives a TLS context.
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
        self.failed_handshakes = 0
        self._context = context
        self._handshakes: set[TlsHandshake] = set()
        self.arriving_bytes = 0
        self._open = 0
        # In the order in which they became so.
        self._idle: dict[_GuardedConnection, None] = {}
        self._slow: dict[_GuardedConnection, None] = {}

    def open_connections(self) -> int:
        """How many connections there are, TLS handshakes included."""
        return self._open + len(self._handshakes)

    def __call__(self) -> Any:  # noqa: ANN401 - aiohttp promises its own class here
        """The protocol of one new connection."""
        context = self._context()
        if context is None:
            return self._connection()
        timeout = self.limits.request_timeout_secs
        if not self._has_room():
            return self._connection()  # which is going to be refused
        handshake = TlsHandshake(context, self._connection(), self._handshake_ended, timeout)
        self._handshakes.add(handshake)
        return handshake

    def _handshake_ended(self, handshake: TlsHandshake, is_done: bool) -> None:  # noqa: FBT001 - a callback
        self._handshakes.discard(handshake)
        self.failed_handshakes += not is_done

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
            auto_decompress=False,  # nothing is uploaded: a body is never worth unpacking
        )

    def admit(self) -> bool:
        """Whether there is a place for one more connection; counts it, or its refusal."""
        if not self._has_room():
            self.refused += 1
            return False
        self._open += 1
        return True

    def _has_room(self) -> bool:
        """Whether there is a free place, if need be that of the connection idle longest."""
        if self.open_connections() < self.limits.max_connections:
            return True
        if not self._idle:
            return False
        next(iter(self._idle)).end()
        return True

    def became_idle(self, connection: "_GuardedConnection") -> None:
        """The connection waits for its next request."""
        self._idle.pop(connection, None)
        self._idle[connection] = None

    def became_busy(self, connection: "_GuardedConnection") -> None:
        """A request has begun to arrive on the connection."""
        self._idle.pop(connection, None)

    def became_slow(self, connection: "_GuardedConnection") -> None:
        """The client does not take its answer as fast as it is sent."""
        self._slow[connection] = None
        unsent = sum(slow.unsent_bytes for slow in self._slow)
        while unsent > self.limits.max_unsent_bytes:
            slowest = next(iter(self._slow))
            unsent -= slowest.unsent_bytes
            slowest.end()

    def caught_up(self, connection: "_GuardedConnection") -> None:
        """The client has taken what was sent."""
        self._slow.pop(connection, None)

    def ended(self, connection: "_GuardedConnection") -> None:
        """The connection gives its place free."""
        self._open -= 1
        self._idle.pop(connection, None)
        self._slow.pop(connection, None)


class _GuardedConnection(RequestHandler):
    """One connection; closed when a request takes too long to arrive, or an answer to leave."""

    __slots__ = ("_answering", "_arrived_bytes", "_arriving", "_guard", "_has_place", "_wire")

    def __init__(self, server: GuardedServer, **options: Any) -> None:  # noqa: ANN401 - aiohttp's
        super().__init__(server, **options)
        self._guard = server
        self._has_place = False
        self._arrived_bytes = 0
        self._wire: asyncio.Transport | None = None
        self._arriving: asyncio.TimerHandle | None = None
        self._answering: asyncio.TimerHandle | None = None

    @property
    def unsent_bytes(self) -> int:
        """How much of our answers the kernel has not taken yet."""
        return 0 if self._wire is None else self._wire.get_write_buffer_size()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._wire = transport
        if not self._guard.admit():
            self._abort()
            return
        self._has_place = True
        super().connection_made(transport)
        self._start_arriving()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._leave()
        self._wire = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # Started before the data are parsed: a whole request among them ends the time at once.
        self._start_arriving()
        if self._has_place and not self._is_greedy(len(data)):
            super().data_received(data)

    def request_arrived(self) -> None:
        """A whole request is here: its time to arrive is over."""
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None
        self._forget_arrived()
        if self._has_place:
            self._guard.became_idle(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answering = asyncio.get_running_loop().call_later(
            self._guard.limits.response_timeout_secs, self.end
        )
        self._guard.became_slow(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._guard.caught_up(self)
        if self._answering is not None:
            self._answering.cancel()
            self._answering = None

    def end(self) -> None:
        """Close at once, without waiting for what has not been sent."""
        self._leave()
        self.force_close()
        self._abort()

    def handle_error(
        self,
        request: BaseRequest,  # noqa: ARG002 - aiohttp's signature
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's signature
    ) -> StreamResponse:
        """One short answer that repeats nothing of what was sent."""
        sentence = "malformed request" if status < 500 else "internal error"  # noqa: PLR2004 - HTTP
        response = json_response({"error": sentence}, status=status, headers=SERVER_HEADERS)
        response.force_close()
        if status >= 500:  # noqa: PLR2004 - HTTP
            self.logger.error("a request failed: %s", type(exc).__name__, exc_info=exc)
        return response

    def log_exception(self, *args: Any, **kw: Any) -> None:  # noqa: ANN401 - aiohttp's signature
        """A client that breaks the protocol is not worth a traceback in the node's log."""
        self.logger.debug(*args, **kw)

    def _start_arriving(self) -> None:
        if self._arriving is None and self._has_place:
            secs = self._guard.limits.request_timeout_secs
            self._arriving = asyncio.get_running_loop().call_later(secs, self.end)
            self._guard.became_busy(self)

    def _is_greedy(self, more_bytes: int) -> bool:
        """Count what arrives; end the connection when it is one of those that send too much."""
        self._arrived_bytes += more_bytes
        self._guard.arriving_bytes += more_bytes
        limits = self._guard.limits
        is_greedy = (
            self._arrived_bytes > limits.fair_request_bytes
            and self._guard.arriving_bytes > limits.max_arriving_bytes
        )
        if is_greedy:
            self.end()
        return is_greedy

    def _forget_arrived(self) -> None:
        self._guard.arriving_bytes -= self._arrived_bytes
        self._arrived_bytes = 0

    def _leave(self) -> None:
        """Give the place and the timers free, once."""
        self._forget_arrived()
        for timer in (self._arriving, self._answering):
            if timer is not None:
                timer.cancel()
        if self._has_place:
            self._has_place = False
            self._guard.ended(self)

    def _abort(self) -> None:
        if self._wire is not None:
            self._wire.abort()
