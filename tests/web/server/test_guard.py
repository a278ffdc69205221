"""Bounds on clients that are slow, silent, greedy or too many."""

import asyncio
import logging
import resource
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.web.server.acceptor import Bounds, network_of
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


async def _answered(streams: Streams) -> int:
    """The status of one request on this connection, which stays open."""
    reader, writer = streams
    writer.write(REQUEST)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_SECS)
    response = parse(head)
    await reader.readexactly(int(response.headers["content-length"]))
    return response.status


@pytest.mark.parametrize(
    "start",
    [b"", b"G", b"GET /metrics HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nX: half a head"],
    ids=["silent", "one byte", "no header", "half a header"],
)
async def test_a_request_must_arrive_in_time(start: bytes) -> None:
    """A client that never finishes its request is closed when its time is over."""
    async with serving(snapshot(), QUICK) as server:
        streams = await server.connect()
        streams[1].write(start)
        assert await _is_closed(streams)


async def test_a_drip_does_not_extend_the_time() -> None:
    """One byte now and then is no reason to wait for ever."""
    async with serving(snapshot(), QUICK) as server:
        reader, writer = await server.connect()
        closed = asyncio.ensure_future(_is_closed((reader, writer)))
        while not closed.done():
            writer.write(b"G")
            await asyncio.sleep(0.01)
        assert closed.result()


async def test_an_idle_connection_is_kept_only_so_long() -> None:
    """After an answer the connection is kept for the next request, then closed."""
    async with serving(snapshot(), QUICK) as server:
        streams = await server.connect()
        assert await _answered(streams) == 200
        assert await _answered(streams) == 200
        assert await _is_closed(streams)


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


async def test_too_many_clients_are_refused_and_counted() -> None:
    """When all places are taken by clients that are being served, further ones are closed."""
    release = asyncio.Event()

    async def slow(_: web.BaseRequest) -> web.StreamResponse:
        await release.wait()
        return web.Response()

    server = GuardedServer(slow, replace(LIMITS, max_connections=3))
    async with listening(server) as port:
        served = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        for _, writer in served[:3]:
            writer.write(REQUEST)
        await _until(lambda: server.open_connections() == 3)
        served[3][1].write(REQUEST)
        assert await served[3][0].read() == b""
        assert server.admission.refused == 1
        release.set()
        for _, writer in served:
            writer.close()


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


async def test_a_regular_client_keeps_its_place() -> None:
    """Who scraped is ended after those that keep idle connections, also when it is idle longest."""
    async with serving(snapshot(), replace(LIMITS, max_connections=5)) as server:
        scraper = await asyncio.open_connection(
            "127.0.0.1", server.port, local_addr=("127.0.0.9", 0)
        )
        assert await _answered(scraper) == 200
        others = [await server.connect() for _ in range(20)]
        for streams in others:
            streams[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.wait_for(streams[0].readline(), PATIENCE_SECS)
        assert await _answered(scraper) == 200
        for _, writer in (scraper, *others):
            writer.close()


async def test_no_descriptor_is_no_reason_to_stop() -> None:
    """Where the limit of open files is reached, who waits longest goes and a new client comes."""
    server = _large(10, LIMITS)
    async with listening(server, Bounds(clients=10_000, secs=60)) as port:
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        clients = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        spare = [socket.socket() for _ in range(3)]
        most = max(sock.fileno() for sock in spare) + 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
        try:
            spare[0].setblocking(False)  # noqa: FBT003 - the socket's own signature
            await asyncio.get_running_loop().sock_connect(spare[0], ("127.0.0.1", port))
            await asyncio.get_running_loop().sock_sendall(spare[0], REQUEST + LAST)
            answer = await asyncio.wait_for(
                asyncio.get_running_loop().sock_recv(spare[0], 100), PATIENCE_SECS
            )
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert answer.startswith(b"HTTP/1.1 200 OK")
        for sock in spare:
            sock.close()
        for _, writer in clients:
            writer.close()


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3::4", "2001:0db8:0001:0002"),
        ("2001:db8:1:2:ffff::9%eth0", "2001:0db8:0001:0002"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
        ("::1", "0000:0000:0000:0000"),
    ],
)
def test_addresses_that_cost_nothing_are_one(address: str, network: str) -> None:
    """Anybody has 2**64 addresses of IPv6: they count as one."""
    assert network_of(address) == network


async def test_an_idle_client_makes_room() -> None:
    """A new client gets the place of the one idle longest: keeping places locks nobody out."""
    limits = replace(LIMITS, max_connections=2)
    async with serving(snapshot(), limits) as server:
        first, second = await server.connect(), await server.connect()
        assert [await _answered(first), await _answered(second)] == [200, 200]
        assert await _answered(first) == 200  # now the second one is idle longest
        third = await server.connect()
        assert await _answered(third) == 200
        assert await _is_closed(second)
        assert await _answered(first) == 200
        assert server.server.admission.refused == 0
        for _, writer in (first, third):
            writer.close()


def _large(size: int, limits: Limits) -> GuardedServer:
    async def handle(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=bytes(size))

    return GuardedServer(handle, limits)


async def _never_reading(port: int, requests: int) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)  # noqa: FBT003 - the socket's own signature
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", port))
    await loop.sock_sendall(client, REQUEST * requests)
    return client


async def test_an_answer_must_be_taken_in_time() -> None:
    """A client that asks and never reads is closed, and its memory given back."""
    limits = replace(LIMITS, max_unsent_bytes=50_000_000, response_timeout_secs=0.2)
    server = _large(20_000_000, limits)
    async with listening(server) as port:
        client = await _never_reading(port, requests=1)
        await _until(lambda: server.open_connections() == 1)
        await _until(lambda: server.open_connections() == 0)
        client.close()


async def test_answers_nobody_takes_have_a_bound() -> None:
    """Clients that never read hold so many bytes together; beyond, the slowest ones are closed."""
    limits = replace(LIMITS, max_unsent_bytes=250_000, response_timeout_secs=60)
    server = _large(20_000_000, limits)
    async with listening(server) as port:
        clients = [await _never_reading(port, requests=1) for _ in range(6)]
        await _until(lambda: 0 < server.open_connections() <= 3)
        for client in clients:
            client.close()
        await _until(lambda: server.open_connections() == 0)


async def test_requests_that_never_end_have_a_bound() -> None:
    """Half requests hold so many bytes together; who sends more is closed, small ones are not."""
    limits = replace(LIMITS, max_arriving_bytes=200_000, fair_request_bytes=1000)
    async with serving(snapshot(), limits) as server:
        modest = await server.connect()
        modest[1].write(b"GET /health HTTP/1.1\r\n")
        greedy = [await server.connect() for _ in range(20)]
        lines = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 4000) for number in range(10))
        for _, writer in greedy:
            writer.write(b"GET / HTTP/1.1\r\n" + lines)
        await _until(lambda: server.server.open_connections() <= 6)
        assert (await server.get("/metrics")).status == 200
        assert server.server.arriving_bytes <= 200_000
        modest[1].write(b"Host: node\r\n\r\n")
        answer = await asyncio.wait_for(modest[0].readline(), PATIENCE_SECS)
        assert answer == b"HTTP/1.1 200 OK\r\n"
        for _, writer in (modest, *greedy):
            writer.close()
        await _until(lambda: server.server.open_connections() == 0)
        assert server.server.arriving_bytes == 0


async def _until(holds: Callable[[], bool]) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECS
    while not holds():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.005)  # what is waited for happens in the kernel: no event tells of it


async def test_a_bug_in_a_page_is_logged_and_tells_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A page that fails answers 500 with one constant sentence; the traceback is in the log."""

    async def broken(_: web.BaseRequest) -> web.StreamResponse:
        raise ValueError("secret")

    server = GuardedServer(broken, LIMITS)
    async with listening(server) as port:
        answer = parse(await Serving(server, None, port).exchange(REQUEST))  # type: ignore[arg-type] # no routes here
    assert answer.status == 500
    assert answer.body == b'{"error": "internal error"}'
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


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
