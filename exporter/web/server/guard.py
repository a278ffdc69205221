"""Limits clients: number, time, size, and the cost of a malformed request.

aiohttp has no time limit for the header of a request and logs a traceback for each malformed
request: any client could fill our memory or the node's disk.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from aiohttp.abc import AbstractStreamWriter

# Not aiohttp.web, which also loads files, routes and websockets: a megabyte unused here.
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse, json_response
from aiohttp.web_server import Server

from exporter.web.server.admission import Admission, Clients, Limits

if TYPE_CHECKING:
    import ssl

    from exporter.web.server.tls import TlsHandshake

LINGERING_SECS = 1.0
LARGE_BYTES = 64 * 1024
"""Larger answers are sent one at a time: copying one to the kernel takes up to a millisecond."""

PIECE_BYTES = 32 * 1024
"""A large answer is sent in pieces, each after the client has taken the last one.

Unsent pieces are the page that all clients share; encrypted pieces are copies per client.
"""

REGULAR_PATHS = ("/metrics", "/health", "/healthz", "/ready")
"""Paths that scrapers and kubelets request."""

Handler = Callable[[BaseRequest], Awaitable[StreamResponse]]
SERVER_HEADERS = {"Server": "hw-exporter", "X-Content-Type-Options": "nosniff"}


class GuardedServer(Server):
    """A server that limits its connections in number, time and memory.

    Connections are encrypted if `context`, called for each, returns a TLS context.
    """

    def __init__(
        self,
        handler: Handler,
        limits: Limits,
        context: "Callable[[], ssl.SSLContext | None]" = lambda: None,
    ) -> None:
        super().__init__(self._handle)
        self._handler = handler
        self.limits = limits
        self.failed_handshakes = 0
        self._context = context
        self._handshakes: Clients[TlsHandshake] = Clients()
        self._beginning: set[asyncio.Task[Any]] = set()
        self.admission = Admission(limits.max_connections, limits.max_unsent_bytes)
        self.arriving_bytes = 0
        self._turns = {False: asyncio.Lock(), True: asyncio.Lock()}

    def open_connections(self) -> int:
        """Return the number of connections, TLS handshakes included."""
        return len(self.admission) + len(self._handshakes)

    def is_tls(self) -> bool:
        """Return whether new connections have to begin with a TLS handshake."""
        return self._context() is not None

    def take(self, sock: socket.socket, peer: str, first: bytes) -> None:
        """Serve a client that has sent these first bytes of a request or of a handshake."""
        if len(self._beginning) >= self.limits.max_connections:
            self.turned_away(because_full=True)
            sock.close()
            return
        loop = asyncio.get_running_loop()
        protocol = self._protocol(peer, first)
        task = loop.create_task(loop.connect_accepted_socket(lambda: protocol, sock))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _handle(self, request: BaseRequest) -> StreamResponse:
        """Answer a request that has arrived completely."""
        connection = cast("_GuardedConnection", request.protocol)
        connection.request_arrived()
        try:
            response = await self._handler(request)
            if (response.content_length or 0) > LARGE_BYTES:
                await self._turn_of(connection)
                writer = await response.prepare(request)
                with suppress(ConnectionError):  # a client that left is noticed with the body
                    if writer is not None:
                        writer.send_headers()  # else joined to a copy of the body
                        await _send_in_pieces(request, response, writer)
        finally:
            connection.answered()
        if request.path in REGULAR_PATHS and response.status < HTTPStatus.BAD_REQUEST:
            self.admission.is_regular(connection.peer)
        return response

    async def _turn_of(self, connection: "_GuardedConnection") -> None:
        """Wait between two large answers, so that other clients are served.

        A client that sends requests before it takes answers waits only for other such clients.
        """
        async with self._turns[connection.is_pipelining]:
            await asyncio.sleep(0)

    def turned_away(self, *, because_full: bool) -> None:
        """Count a client that was closed before it was served."""
        self.admission.refused += because_full
        self.failed_handshakes += self.is_tls()

    def _protocol(self, peer: str, first: bytes) -> asyncio.BaseProtocol:
        context = self._context()
        if context is None:
            return self._connection(peer, first)
        if len(self._handshakes) >= self.limits.max_handshakes:
            self._end_a_handshake()
        connection = self._connection(peer, b"")
        timeout = self.limits.request_timeout_secs
        from exporter.web.server.tls import TlsHandshake  # noqa: PLC0415 - with OpenSSL

        handshake = TlsHandshake(context, connection, first, self._handshake_ended, timeout)
        connection.handshake, handshake.peer = handshake, peer
        self._handshakes.add(handshake)
        return handshake

    def _end_a_handshake(self) -> None:
        """End the oldest handshake of the address with the most handshakes."""
        handshake = self._handshakes.oldest_of_greediest()
        if handshake is not None:
            self.admission.refused += 1
            self._handshake_ended(handshake)
            handshake.abort()

    def handshake_done(self, handshake: "TlsHandshake") -> None:
        """Count the handshake as successful."""
        self._handshakes.discard(handshake)

    def _handshake_ended(self, handshake: "TlsHandshake") -> None:
        """Count the handshake as failed, unless it was successful."""
        self.failed_handshakes += self._handshakes.discard(handshake)

    def _connection(self, peer: str, first: bytes) -> "_GuardedConnection":
        return _GuardedConnection(
            self,
            peer,
            first,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=self.limits.keepalive_timeout_secs,
            access_log=None,
            max_line_size=self.limits.max_header_bytes,
            max_field_size=self.limits.max_header_bytes,
            max_headers=self.limits.max_headers,
            lingering_time=LINGERING_SECS,
            auto_decompress=False,  # no request body is used
        )


class _GuardedConnection(RequestHandler):
    """One connection, closed when a request takes too long to arrive or an answer to be taken."""

    __slots__ = (
        *("_answering", "_arrived_bytes", "_arriving", "_first", "_guard", "_has_place", "_wire"),
        *("handshake", "peer"),
    )

    def __init__(
        self,
        server: GuardedServer,
        peer: str,
        first: bytes,
        **options: Any,
    ) -> None:
        super().__init__(server, **options)
        self._guard = server
        self.peer = peer
        self.handshake: TlsHandshake | None = None
        self._first = first
        self._has_place = False
        self._arrived_bytes = 0
        self._wire: asyncio.Transport | None = None
        self._arriving: asyncio.TimerHandle | None = None
        self._answering: asyncio.TimerHandle | None = None

    @property
    def is_pipelining(self) -> bool:
        """Return whether the client has sent another request before the answer of this one."""
        return bool(self._messages)

    @property
    def unsent_bytes(self) -> int:
        """Return the number of bytes of answers that the kernel has not taken yet."""
        return 0 if self._wire is None else self._wire.get_write_buffer_size()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._wire = transport
        if self.handshake is not None:
            self._guard.handshake_done(self.handshake)
        if not self._guard.admission.admit(self):
            self._abort()
            return
        self._has_place = True
        super().connection_made(transport)
        self._start_arriving()
        if self._first:
            first, self._first = self._first, b""
            self.data_received(first)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._leave()
        self._wire = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # Before parsing: a whole request in the data stops the timer at once.
        self._start_arriving()
        if self._has_place and not self._is_greedy(len(data)):
            super().data_received(data)

    def request_arrived(self) -> None:
        """Note that a whole request has arrived, and stop its timer."""
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None
        self._forget_arrived()
        self._guard.admission.became_busy(self)

    def answered(self) -> None:
        """Note that the answer is sent and the connection waits for the next request."""
        if not self.writing_paused:
            self._taken()
        if self._has_place and self._arriving is None:
            self._guard.admission.became_idle(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._answering is None:
            self._answering = asyncio.get_running_loop().call_later(
                self._guard.limits.response_timeout_secs, self.end
            )
        self._guard.admission.became_slow(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._guard.admission.caught_up(self)
        if self._current_request is None:
            self._taken()
        else:  # the next piece of the same answer follows, in the time of the answer
            self._guard.admission.became_busy(self)

    def end(self) -> None:
        """Close the connection at once, without sending the rest."""
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
        """Return one short answer that repeats nothing of the request."""
        is_our_fault = status >= HTTPStatus.INTERNAL_SERVER_ERROR
        sentence = "internal error" if is_our_fault else "malformed request"
        response = json_response({"error": sentence}, status=status, headers=SERVER_HEADERS)
        response.force_close()
        if is_our_fault:
            self.logger.error("a request failed: %s", type(exc).__name__, exc_info=exc)
        return response

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Log no traceback: clients that break the protocol must not fill the log."""
        self.logger.debug(*args, **kw)

    def _taken(self) -> None:
        """Stop the timer for taking the answer."""
        if self._answering is not None:
            self._answering.cancel()
            self._answering = None

    def _start_arriving(self) -> None:
        if self._arriving is None and self._has_place:
            secs = self._guard.limits.request_timeout_secs
            self._arriving = asyncio.get_running_loop().call_later(secs, self.end)
            self._guard.admission.became_arriving(self)

    def _is_greedy(self, more_bytes: int) -> bool:
        """Count arriving bytes; if the connection sent too many, end it and return True."""
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
        """Free the place and the timers, once."""
        self._forget_arrived()
        for timer in (self._arriving, self._answering):
            if timer is not None:
                timer.cancel()
        if self._has_place:
            self._has_place = False
            self._guard.admission.ended(self)

    def _abort(self) -> None:
        if self._wire is not None:
            self._wire.abort()


async def _send_in_pieces(
    request: BaseRequest, response: StreamResponse, writer: AbstractStreamWriter
) -> None:
    """Send the body of a large answer as the client takes it; raise ConnectionError."""
    if not isinstance(response, Response) or not isinstance(response.body, bytes):
        return
    whole, response.body = memoryview(response.body), b""  # nothing is left for aiohttp to send
    if request.method == "HEAD":
        return
    for begin in range(0, len(whole), PIECE_BYTES):
        await writer.write(whole[begin : begin + PIECE_BYTES])
        await writer.drain()
