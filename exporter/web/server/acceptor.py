"""Accepts clients, and holds each cheaply until its first request has arrived.

A client without a complete request costs a socket and its few bytes: no parser, no TLS, none of the
server's places. Half requests and half handshakes, however many, keep no other client away.
"""

import asyncio
import errno
import socket
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address

from exporter.record import dataclass
from exporter.web.server.admission import Clients
from exporter.web.server.guard import GuardedServer

ACCEPTED_AT_ONCE = 256
"""The most clients accepted before other tasks run."""

RETRY_SECS = 0.1
MAX_FIRST_BYTES = 16 * 1024
"""A longer request head goes unread to the parser, which refuses it."""

TLS_RECORD_HEADER = 5
TLS_HANDSHAKE = 0x16
NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of waiting clients: number, seconds for each, and bytes of all together.

    A client that has sent at most `fair_bytes` is not closed for clients that sent more.
    """

    clients: int
    secs: float
    all_bytes: int = 8 * 1024 * 1024
    fair_bytes: int = 1024


@dataclass(slots=True, eq=False)
class _Waiting:
    """One client whose first request is not complete."""

    sock: socket.socket
    peer: str
    expires_at: float
    data: bytes = b""


class Acceptor:
    """Accepts clients, and hands each to the server with its first request or TLS record.

    When too many clients wait, the oldest of the address with the most clients is closed.
    """

    def __init__(
        self, sockets: Iterable[socket.socket], bounds: Bounds, server: GuardedServer
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._sockets = tuple(sockets)
        self._bounds = bounds
        self._server = server
        self._waiting: Clients[_Waiting] = Clients()
        self._bytes = 0
        self._buffer = memoryview(bytearray(MAX_FIRST_BYTES))
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Return the number of waiting clients."""
        return len(self._waiting)

    def start(self) -> None:
        """Begin to accept."""
        for sock in self._sockets:
            self._loop.add_reader(sock, self._accept, sock)

    def close(self) -> None:
        """Stop accepting, and close every waiting client."""
        for sock in self._sockets:
            self._loop.remove_reader(sock)
            sock.close()
        for waiting in tuple(self._waiting):
            self._drop(waiting)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in NO_DESCRIPTOR:
                    raise
                if not self._evict():
                    self._pause(listening)
                return
            sock.setblocking(False)  # noqa: FBT003 - the socket's own signature
            self._hold(sock, network_of(address[0]))

    def _pause(self, listening: socket.socket) -> None:
        """Stop accepting for a moment: no descriptor is free and no client can be closed."""
        self._loop.remove_reader(listening)

        def resume() -> None:
            if listening.fileno() >= 0:
                self._loop.add_reader(listening, self._accept, listening)

        self._loop.call_later(RETRY_SECS, resume)

    def _hold(self, sock: socket.socket, peer: str) -> None:
        if len(self._waiting) >= self._bounds.clients:
            self._evict()
        waiting = _Waiting(sock, peer, self._loop.time() + self._bounds.secs)
        self._waiting.add(waiting)
        if self._receive(waiting):  # the request is mostly here already
            self._loop.add_reader(sock, self._receive, waiting)
        if self._sweep is None:
            self._sweep = self._loop.call_later(self._bounds.secs / 4, self._end_late)

    def _evict(self) -> bool:
        """Close the oldest client of the address with the most clients; False if none waits."""
        oldest = self._waiting.oldest_of_greediest()
        if oldest is None:
            return False
        self._drop(oldest, because_full=True)
        return True

    def _end_late(self) -> None:
        """Close the waiting clients whose time has passed."""
        now = self._loop.time()
        for waiting in tuple(self._waiting):
            if waiting.expires_at > now:
                break
            self._drop(waiting)
        secs = self._bounds.secs / 4
        self._sweep = self._loop.call_later(secs, self._end_late) if self._waiting else None

    def _receive(self, waiting: _Waiting) -> bool:
        """Read the bytes that have arrived; return whether the client still has to wait."""
        try:
            count = waiting.sock.recv_into(self._buffer)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            self._drop(waiting)
            return False
        before = len(waiting.data)
        waiting.data += self._buffer[:count]
        self._bytes += count
        is_complete = _is_tls_record if self._server.is_tls() else _is_http_head
        if not count or self._is_greedy(waiting):
            self._drop(waiting)
        elif is_complete(waiting.data, before):
            self._release(waiting)
            self._server.take(waiting.sock, waiting.peer, waiting.data)
        else:
            return True
        return False

    def _is_greedy(self, waiting: _Waiting) -> bool:
        bounds = self._bounds
        return self._bytes > bounds.all_bytes and len(waiting.data) > bounds.fair_bytes

    def _drop(self, waiting: _Waiting, *, because_full: bool = False) -> None:
        self._release(waiting)
        waiting.sock.close()
        self._server.turned_away(because_full=because_full)

    def _release(self, waiting: _Waiting) -> None:
        self._loop.remove_reader(waiting.sock)
        self._bytes -= len(waiting.data)
        self._waiting.discard(waiting)


def network_of(address: str) -> str:
    """Return the network of an address: of IPv6 the first 64 bits, else the whole address."""
    if ":" not in address:
        return address
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return parsed.exploded[:19]
    return address


def _is_http_head(data: bytes, before: int) -> bool:
    """Return whether the head of the request is complete, or the bytes cannot be a head."""
    is_request = data[:1].isupper()  # every method begins with a capital letter
    end = data.find(b"\r\n\r\n", max(0, before - 3))
    return not is_request or end >= 0 or len(data) >= MAX_FIRST_BYTES


def _is_tls_record(data: bytes, _: int) -> bool:
    """Return whether the first record is complete, or the bytes are no handshake."""
    if data[0] != TLS_HANDSHAKE:
        return True
    wanted = TLS_RECORD_HEADER + int.from_bytes(data[3:TLS_RECORD_HEADER], "big")
    return len(data) >= min(max(wanted, TLS_RECORD_HEADER), MAX_FIRST_BYTES)
