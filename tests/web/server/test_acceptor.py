"""Who may wait before his first request is complete, and who is closed meanwhile."""

import asyncio
import errno
import socket
import struct
from functools import partial
from typing import Any

import pytest

from exporter.web.server.acceptor import (
    MAX_FIRST_BYTES,
    Acceptor,
    Bounds,
    _is_http_head,
    _is_tls_record,
    network_of,
)
from exporter.web.server.guard import GuardedServer
from tests.fakes.virtual_time import in_virtual_time
from tests.web.serving import until

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class _Server(GuardedServer):
    """Takes whoever has sent enough, and counts whoever was closed before."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.closed: list[bool] = []

    def is_tls(self) -> bool:
        return False

    def take(self, sock: socket.socket, _: str, first: bytes) -> None:
        self.taken.append(first)
        sock.close()

    def turned_away(self, *, because_full: bool) -> None:
        self.closed.append(because_full)


class _Scene:
    """An acceptor on loopback, and its clients."""

    def __init__(self, bounds: Bounds) -> None:
        self.server = _Server()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setblocking(False)  # noqa: FBT003 - the socket's own signature
        self._address = self._listening.getsockname()
        self.acceptor = Acceptor([self._listening], bounds, self.server)
        self.acceptor.start()
        self.clients: list[socket.socket] = []

    async def client(self, first: bytes = b"", host: str = "127.0.0.1") -> socket.socket:
        """One more, that has sent this much from this address."""
        sock = socket.create_connection(self._address, source_address=(host, 0))
        sock.setblocking(False)  # noqa: FBT003 - the socket's own signature
        sock.sendall(first)
        self.clients.append(sock)
        await asyncio.sleep(0)
        return sock

    def close(self) -> None:
        """End all of it."""
        self.acceptor.close()
        for sock in self.clients:
            sock.close()


async def _is_closed(sock: socket.socket) -> bool:
    try:
        received = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sock, 10), 0.2)
    except TimeoutError:
        return False
    except asyncio.TimeoutError:  # what Python 3.10 raises
        return False
    return received == b""


async def test_as_many_wait_as_there_is_room_for() -> None:
    """One more closes the oldest of the greediest address, counted as one that found all full."""
    scene = _Scene(Bounds(3, 60.0))
    other = await scene.client(b"GET", "127.0.0.9")
    first, second = await scene.client(), await scene.client(b"GET")
    await until(lambda: len(scene.acceptor) == 3)
    assert scene.server.closed == []
    third = await scene.client()
    await until(lambda: scene.server.closed == [True])
    assert len(scene.acceptor) == 3
    waiting = (other, first, second, third)
    assert [await _is_closed(sock) for sock in waiting] == [False, True, False, False]
    scene.close()


class _Crowded(socket.socket):
    """A listening socket for which there is no descriptor, so many times."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals = 0
        self.asked: list[float] = []

    def accept(self) -> tuple[socket.socket, Any]:
        self.asked.append(asyncio.get_running_loop().time())
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return super().accept()


@pytest.mark.parametrize(("waiting", "asked"), [(0, [0.0, 0.1, 0.2, 0.3]), (1, [0.0])])
@in_virtual_time
async def test_without_a_descriptor_who_waits_goes_or_all_are_waited_for(
    waiting: int, asked: list[float]
) -> None:
    """Where nobody waits there is a pause before the next try: it is no busy loop."""
    listening, server = _Crowded(), _Server()
    listening.setblocking(False)  # noqa: FBT003 - the socket's own signature
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    acceptor = Acceptor([listening], Bounds(9, 60.0), server)
    acceptor.start()
    clients = [socket.create_connection(listening.getsockname()) for _ in range(waiting)]
    await asyncio.sleep(0.01)
    before = asyncio.get_running_loop().time()
    listening.asked, listening.refusals = [], 1 if waiting else 3
    clients.append(socket.create_connection(listening.getsockname()))
    await asyncio.sleep(1)
    found = [round(at - before, 3) for at in listening.asked]
    counts = sorted(set(found)), list(server.closed), len(acceptor)
    acceptor.close()
    for client in clients:
        client.close()
    assert counts == (asked, [True] * waiting, 1)


def _are_closed(scene: _Scene, count: int) -> bool:
    return len(scene.server.closed) == count


async def test_a_client_that_breaks_off_costs_itself() -> None:
    """Before it was accepted, or while it waits."""
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: complaints.append(said))
    scene = _Scene(Bounds(5, 60.0))
    for count in (1, 2):
        client = await scene.client()
        if count > 1:
            await until(lambda: len(scene.acceptor) == 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # by a reset
        await until(partial(_are_closed, scene, count))
    await scene.client(HEAD)
    await until(lambda: scene.server.taken == [HEAD])
    assert complaints == []
    scene.close()


async def test_who_waits_when_it_ends_is_closed() -> None:
    """No socket is left, and nobody more is accepted."""
    scene = _Scene(Bounds(5, 60.0))
    clients = [await scene.client(b"GET") for _ in range(3)]
    await until(lambda: len(scene.acceptor) == 3)
    scene.acceptor.close()
    assert len(scene.acceptor) == 0
    assert [await _is_closed(sock) for sock in clients] == [True, True, True]
    for sock in clients:
        sock.close()


@pytest.mark.parametrize(
    ("sent", "is_dropped"), [((20, 10), False), ((21, 10), True), ((10, 10), False)]
)
async def test_who_sent_no_more_than_is_fair_is_left_alone(
    sent: tuple[int, int], *, is_dropped: bool
) -> None:
    """Beyond the bound of all together only those go that sent more than their share."""
    scene = _Scene(Bounds(5, 60.0, all_bytes=25, fair_bytes=20))
    modest = await scene.client(b"G" * sent[1])
    await until(lambda: len(scene.acceptor) == 1)
    other = await scene.client(b"G" * sent[0])
    await until(lambda: len(scene.acceptor) + len(scene.server.closed) == 2)
    assert (len(scene.server.closed) == 1) is is_dropped
    assert [await _is_closed(sock) for sock in (modest, other)] == [False, is_dropped]
    scene.close()


async def test_a_whole_head_is_handed_over_with_all_that_came() -> None:
    """In one piece or in several; what waits is none of it any more."""
    scene = _Scene(Bounds(5, 60.0))
    sock = await scene.client(HEAD[:7])
    await until(lambda: len(scene.acceptor) == 1)
    sock.sendall(HEAD[7:])
    await until(lambda: scene.server.taken == [HEAD])
    assert len(scene.acceptor) == 0
    scene.close()


@pytest.mark.parametrize(
    ("data", "before", "is_here"),
    [
        (HEAD, 0, True),
        (HEAD, len(HEAD) - 1, True),  # its last byte came alone
        (HEAD[:-1], 0, False),
        (b"\x16\x03\x01", 0, True),  # no request at all
        (b"G", 0, False),
        (b"G" * (MAX_FIRST_BYTES - 1), 0, False),
        (b"G" * MAX_FIRST_BYTES, 0, True),
    ],
)
def test_a_head_is_whole_or_cannot_become_one(data: bytes, before: int, *, is_here: bool) -> None:
    """The end of the head, a byte that begins no method, or more than is waited for."""
    assert _is_http_head(data, before) is is_here


@pytest.mark.parametrize(
    ("length", "come", "is_here"),
    [
        (0x0200, 5 + 0x0200, True),
        (0x0200, 4 + 0x0200, False),
        (0x0200, 4, False),
        (0, 5, True),
        (0xFFFF, MAX_FIRST_BYTES, True),
        (0xFFFF, MAX_FIRST_BYTES - 1, False),
    ],
)
def test_a_handshake_begins_with_a_whole_record(length: int, come: int, *, is_here: bool) -> None:
    """As long as its head says, and no longer than is waited for."""
    record = (b"\x16\x03\x01" + length.to_bytes(2, "big")).ljust(0x20000, b"x")
    assert _is_tls_record(record[:come], 0) is is_here
    assert _is_tls_record(b"GET", 0)  # no handshake at all


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:0db8:0001:0002"),
        ("2001:db8:1:2:ffff::9%eth0", "2001:0db8:0001:0002"),
        ("::1", "0000:0000:0000:0000"),
        ("fe80::1%eth0", "fe80:0000:0000:0000"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
    ],
)
def test_a_client_is_known_by_what_it_cannot_change(address: str, network: str) -> None:
    """Of an IPv6 address it is the network; an IPv4 address is one in either spelling."""
    assert network_of(address) == network
