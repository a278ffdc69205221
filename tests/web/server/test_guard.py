"""Bounds on clients that are slow, silent, greedy or too many."""

import asyncio
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.web.server.acceptor import Bounds
from exporter.web.server.admission import Limits
from exporter.web.server.guard import GuardedServer
from exporter.web.server.listening import is_taken, listening_sockets
from tests.web.serving import (
    LIMITS,
    PATIENCE_SECS,
    Serving,
    listening,
    parse,
    serving,
    snapshot,
    until,
)

QUICK = replace(LIMITS, request_timeout_secs=0.2, keepalive_timeout_secs=0.2)
REQUEST = b"GET /health HTTP/1.1\r\nHost: node\r\n\r\n"
LAST = b"GET /health HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _is_closed(streams: Streams) -> bool:
    """Whether the server closes this connection before patience ends."""
    reader, writer = streams
    try:
        await asyncio.wait_for(reader.read(), PATIENCE_SECS)
    except ConnectionResetError:
        return True
    finally:
        writer.close()
    return True


async def test_two_hundred_slow_clients_keep_nobody_away() -> None:
    """While two hundred clients never end their requests, others are answered."""
    limits = replace(QUICK, max_connections=300)
    async with serving(snapshot(), limits) as server:
        slow = [await server.connect() for _ in range(200)]
        for _, writer in slow:
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")
        assert (await server.get("/metrics")).status == 200
        assert all(await asyncio.gather(*map(_is_closed, slow)))
        assert server.server.open_connections() == 0


async def test_half_requests_take_no_place() -> None:
    """However many begin a request and never end it, those that say a whole one are served."""
    server = _large(10, replace(LIMITS, max_connections=1))
    async with listening(server, Bounds(clients=50, secs=60)) as port:
        halves = [await asyncio.open_connection("127.0.0.1", port) for _ in range(200)]
        for _, writer in halves:
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
        answer = await Serving(server, None, port).exchange(REQUEST + LAST)  # type: ignore[arg-type] # no routes here
        assert parse(answer).status == 200
        assert server.open_connections() <= 1
        for _, writer in halves:
            writer.close()


async def test_whoever_waits_longest_of_the_greediest_address_goes_first() -> None:
    """An address with many half requests loses its own, not those of somebody else."""
    server = _large(10, LIMITS)
    async with listening(server, Bounds(clients=10, secs=60)) as port:
        other = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.9", 0))
        other[1].write(b"GET /metrics HTTP/1.1\r\n")
        greedy = [await asyncio.open_connection("127.0.0.1", port) for _ in range(30)]
        assert await _is_closed(greedy[0])
        other[1].write(b"Host: x\r\n\r\n")
        assert await asyncio.wait_for(other[0].readline(), PATIENCE_SECS) == b"HTTP/1.1 200 OK\r\n"
        for _, writer in (other, *greedy):
            writer.close()


def _large(size: int, limits: Limits) -> GuardedServer:
    async def handle(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=bytes(size))

    return GuardedServer(handle, limits)


async def _never_reading(port: int) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)  # noqa: FBT003 - the socket's own signature
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", port))
    await loop.sock_sendall(client, REQUEST)
    return client


async def test_answers_nobody_takes_have_a_bound() -> None:
    """Clients that never read hold so many bytes together; beyond, the slowest ones are closed."""
    limits = replace(LIMITS, max_unsent_bytes=250_000, response_timeout_secs=60)
    server = _large(20_000_000, limits)
    async with listening(server) as port:
        clients = [await _never_reading(port) for _ in range(6)]
        await until(lambda: 0 < server.open_connections() <= 3)
        for client in clients:
            client.close()
        await until(lambda: server.open_connections() == 0)


def test_both_ip_versions_where_both_are_there() -> None:
    """The default address is listened on by IPv4 and IPv6, on the same port."""
    sockets = listening_sockets("0.0.0.0", 0, 5)
    families = {sock.family for sock in sockets}
    ports = {sock.getsockname()[1] for sock in sockets}
    for sock in sockets:
        sock.close()
    assert socket.AF_INET in families
    assert len(ports) == 1


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")
def test_a_name_of_several_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """All addresses of a name are listened on, those of IPv6 too; a foreign one is left out."""
    addresses = {"node": ("192.0.2.1", "127.0.0.1", "::1"), "six": ("::1",)}
    real = socket.getaddrinfo

    def resolve(host: str, port: None, **options: Any) -> list[Any]:
        return [each for name in addresses[host] for each in real(name, port, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    for host, bound in (("node", ["127.0.0.1", "::1"]), ("six", ["::1"])):
        sockets = listening_sockets(host, 0, 5)
        assert [sock.getsockname()[0] for sock in sockets] == bound
        assert len({sock.getsockname()[1] for sock in sockets}) == 1
        for sock in sockets:
            sock.close()


def test_a_taken_port_is_an_error() -> None:
    """A port that somebody else listens on is refused, on whichever IP version it is taken."""
    first = listening_sockets("127.0.0.1", 0, 5)
    port = first[0].getsockname()[1]
    for host in ("127.0.0.1", "0.0.0.0"):
        with pytest.raises(OSError, match="in use") as error:
            listening_sockets(host, port, 5)
        assert is_taken(error.value)
    first[0].close()
