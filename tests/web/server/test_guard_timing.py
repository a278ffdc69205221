"""How long a client may take, in virtual time: to ask, to take its answer, and to stay idle."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse

from exporter.web.server.admission import Limits
from exporter.web.server.guard import REGULAR_PATHS, GuardedServer
from tests.fakes.virtual_time import Story, in_virtual_scene

LIMITS = Limits(max_connections=3, request_timeout_secs=5.0, keepalive_timeout_secs=7.0)
REQUEST = b"GET %s HTTP/1.1\r\nHost: node\r\n\r\n"
HELLO = b"\x16\x03\x01\x02\x00" + bytes(100)  # the begin of a TLS handshake


class Client:
    """Our end of a connection to the server."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.received = b""
        self._has_ended = False

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def take(self) -> bytes:
        """All that has come since."""
        before = len(self.received)
        while not self._has_ended:
            try:
                data = self._sock.recv(1 << 20)
            except BlockingIOError:
                break
            except ConnectionResetError:
                data = b""
            self.received += data
            self._has_ended = not data
        return self.received[before:]

    @property
    def is_closed(self) -> bool:
        """Whether the server has closed it, once all that came is taken."""
        self.take()
        return self._has_ended

    @property
    def status(self) -> int:
        """That of the answer which has come since; 0 for none."""
        answer = self.take()
        return int(answer.split()[1]) if answer else 0

    def close(self) -> None:
        self._sock.close()


class Scene:
    """A server whose clients are at the other ends of socket pairs."""

    def __init__(self, limits: Limits = LIMITS, context: ssl.SSLContext | None = None) -> None:
        self.server = GuardedServer(self._handle, limits, lambda: context)
        self.clients: list[Client] = []
        self.size = 10
        self.status = 200
        self.failure: Exception | None = None
        self.is_open = asyncio.Event()
        self.is_open.set()

    async def client(self, first: bytes = b"", peer: str = "10.0.0.1") -> Client:
        """One more, that has sent this much."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - the socket's own signature
        theirs.setblocking(False)  # noqa: FBT003 - the socket's own signature
        self.server.take(theirs, peer, first)
        self.clients.append(Client(ours))
        await rest()
        return self.clients[-1]

    async def asking(self, path: str = "/metrics", peer: str = "10.0.0.1") -> Client:
        """One more, that has sent a whole request."""
        return await self.client(REQUEST % path.encode(), peer)

    async def _handle(self, _: BaseRequest) -> StreamResponse:
        await self.is_open.wait()
        if self.failure is not None:
            raise self.failure
        return Response(body=bytes(self.size), status=self.status)


async def rest() -> None:
    """Let everybody do what is to be done now."""
    for _ in range(20):
        await asyncio.sleep(0)


@asynccontextmanager
async def _scene(limits: Limits, context: ssl.SSLContext | None) -> AsyncIterator[Scene]:
    """A scene after whose end nothing is left of any client."""
    scene = Scene(limits, context)
    try:
        yield scene
    finally:
        for client in scene.clients:
            client.close()
        await asyncio.sleep(100)
    assert scene.server.open_connections() == 0
    assert scene.server.arriving_bytes == 0


def story(
    limits: Limits = LIMITS, context: ssl.SSLContext | None = None
) -> Callable[[Story], Callable[..., None]]:
    """Play a test in virtual time, with such a scene."""
    return in_virtual_scene(lambda: _scene(limits, context))


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nA: "])
@story()
async def test_a_request_has_so_long_to_arrive_and_drips_do_not_extend_it(
    scene: Scene, first: bytes
) -> None:
    """From the moment the connection is taken."""
    client = await scene.client(first)
    for byte in (b"" if first else b"GET / HTTP/1.1\r\nA: ").ljust(49, b"x"):
        await asyncio.sleep(0.1)
        client.send(bytes((byte,)))
    assert (client.take(), client.is_closed) == (b"", False)
    await asyncio.sleep(0.2)
    assert (client.take(), client.is_closed) == (b"", True)


@story(replace(LIMITS, keepalive_timeout_secs=100.0))
async def test_each_request_has_its_own_time(scene: Scene) -> None:
    """An answered one costs the next nothing; it begins with its first byte."""
    client = await scene.client()
    for _ in range(4):
        await asyncio.sleep(4.0)
        client.send(REQUEST % b"/")
        await rest()
        assert client.status == 200
    await asyncio.sleep(4.0)
    client.send(b"G")
    await asyncio.sleep(4.9)
    assert not client.take()
    assert not client.is_closed
    await asyncio.sleep(0.2)
    assert client.is_closed


@story()
async def test_an_idle_connection_is_kept_for_the_time_of_keepalive(scene: Scene) -> None:
    """Then it is closed, whatever it did before."""
    client = await scene.asking()
    assert client.status == 200
    await asyncio.sleep(6.5)
    assert not client.is_closed
    await asyncio.sleep(2.0)
    assert client.is_closed


@story()
async def test_a_request_that_is_answered_slowly_is_not_ended(scene: Scene) -> None:
    """The page may take its time: only the client's time is bounded."""
    scene.is_open.clear()
    client = await scene.asking()
    await asyncio.sleep(60)
    scene.is_open.set()
    await rest()
    assert client.status == 200


@story()
async def test_an_answer_has_so_long_to_be_taken(scene: Scene) -> None:
    """A client that takes all of it in time is kept; one that does not is closed at once."""
    scene.size = 3_000_000
    deaf, slow = await scene.asking(), await scene.asking()
    await asyncio.sleep(9.9)
    for _ in range(100):
        slow.take()
        await rest()
    assert len(slow.received) > 3_000_000
    assert scene.server.open_connections() == 2
    await asyncio.sleep(0.2)
    assert scene.server.open_connections() == 1
    scene.size = 10
    slow.send(REQUEST % b"/")
    await rest()
    assert slow.status == 200
    assert deaf.is_closed
    assert len(deaf.received) < 3_000_000


@story(replace(LIMITS, max_connections=1))
async def test_who_has_taken_his_answer_is_idle(scene: Scene) -> None:
    """He makes room for a new client, and that costs nobody an answer."""
    scene.size = 3_000_000
    slow = await scene.asking()
    while slow.take():
        await rest()
    assert len(slow.received) > 3_000_000
    scene.size = 10
    assert (await scene.asking()).status == 200
    assert slow.is_closed
    assert scene.server.admission.refused == 0


@story()
async def test_who_left_before_his_answer_takes_no_place(scene: Scene) -> None:
    """Nor is he one whose place could be given away."""
    scene.is_open.clear()
    gone = await scene.asking()
    gone.close()
    await rest()
    scene.is_open.set()
    await rest()
    assert scene.server.open_connections() == 0
    scene.is_open.clear()
    for _ in range(4):
        await scene.asking()
    assert (scene.server.open_connections(), scene.server.admission.refused) == (3, 1)
    scene.is_open.set()


@story()
async def test_a_body_is_never_unpacked(scene: Scene) -> None:
    """What would be a bomb is not even looked at."""
    head = b"POST / HTTP/1.1\r\nHost: n\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n"
    assert (await scene.client(head + b"hello")).status == 200


@story()
async def test_who_finds_all_places_served_is_turned_away(scene: Scene) -> None:
    """And counted; who comes when one is free again is served."""
    scene.is_open.clear()
    served = [await scene.asking() for _ in range(3)]
    late = await scene.asking()
    assert (late.take(), late.is_closed) == (b"", True)
    assert (scene.server.admission.refused, scene.server.open_connections()) == (1, 3)
    scene.is_open.set()
    await rest()
    assert [client.status for client in served] == [200] * 3
    assert (await scene.asking()).status == 200
    assert scene.server.admission.refused == 1


@story()
async def test_who_comes_in_one_crowd_is_turned_away_before_he_costs_anything(scene: Scene) -> None:
    """Of many at the same moment as many are begun with as there are places."""
    pairs = [socket.socketpair() for _ in range(5)]
    for ours, theirs in pairs:
        ours.setblocking(False)  # noqa: FBT003 - the socket's own signature
        theirs.setblocking(False)  # noqa: FBT003 - the socket's own signature
        scene.server.take(theirs, "10.0.0.1", REQUEST % b"/")
        scene.clients.append(Client(ours))
    assert [theirs.fileno() < 0 for _, theirs in pairs] == [False] * 3 + [True] * 2
    assert (scene.server.admission.refused, scene.server.failed_handshakes) == (2, 0)
    await rest()
    assert [client.status for client in scene.clients] == [200] * 3 + [0] * 2
    assert (await scene.asking()).status == 200


@pytest.mark.parametrize(
    ("path", "status", "is_regular"),
    [
        *((path, 200, True) for path in REGULAR_PATHS),
        ("/metrics", 304, True),
        ("/metrics", 401, False),
        ("/metrics", 400, False),
        ("/", 200, False),
    ],
)
@story()
async def test_who_is_given_a_page_of_scrapers_is_ended_last(
    scene: Scene,
    path: str,
    status: int,
    is_regular: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """Not who asks for another one, nor who is refused it."""
    scene.status = status
    first = await scene.asking(path, "10.0.0.1")
    scene.status = 200
    second = await scene.asking("/", "10.0.0.2")
    third = await scene.asking("/", "10.0.0.3")
    await scene.asking("/", "10.0.0.4")
    assert [first.is_closed, second.is_closed] == [not is_regular, is_regular]
    assert not third.is_closed


@story()
async def test_bytes_that_arrive_are_counted_until_their_request_is_whole(scene: Scene) -> None:
    """Or until the connection ends."""
    head = b"GET / HTTP/1.1\r\nHost: x\r\n"
    client = await scene.client(head)
    other = await scene.client(b"G")
    assert scene.server.arriving_bytes == len(head) + 1
    client.send(b"\r\n")
    await rest()
    assert client.status == 200
    assert scene.server.arriving_bytes == 1
    other.close()
    await rest()
    assert scene.server.arriving_bytes == 0


@pytest.mark.parametrize(
    ("own", "all_together", "is_ended"),
    [(101, 201, True), (100, 300, False), (150, 150, False), (200, 200, False)],
)
@story(replace(LIMITS, max_arriving_bytes=200, fair_request_bytes=100))
async def test_who_sends_more_than_is_fair_when_all_is_full_is_ended(
    scene: Scene,
    own: int,
    all_together: int,
    is_ended: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """Beyond the bound of all together; who sent no more than its share stays."""
    head = b"GET / HTTP/1.1\r\nA: "
    for _ in range((all_together - own) // 100):
        await scene.client(head.ljust(100, b"x"))
    client = await scene.client(head.ljust(own, b"x"))
    assert client.is_closed is is_ended
    assert scene.server.arriving_bytes == all_together - own * is_ended


@story()
async def test_a_malformed_request_gets_one_short_answer_and_no_line_in_the_log(
    scene: Scene,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Then the connection is closed."""
    client = await scene.client(b"GARBAGE\r\n\r\n")
    await asyncio.sleep(2)
    answer = client.take()
    assert answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400"))
    assert answer.endswith(b'{"error": "malformed request"}')
    assert b"Server: hw-exporter\r\n" in answer
    assert client.is_closed
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


@story()
async def test_a_page_that_breaks_is_logged_with_its_error_and_tells_nothing(
    scene: Scene,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The connection is closed after the answer."""
    scene.failure = ValueError("secret")
    client = await scene.asking()
    await asyncio.sleep(2)
    answer = client.take()
    assert b" 500 " in answer
    assert answer.endswith(b'{"error": "internal error"}')
    assert client.is_closed
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (
        logging.ERROR,
        "a request failed: ValueError",
    )
    assert record.exc_info is not None


@story(replace(LIMITS, max_handshakes=3), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
async def test_handshakes_have_places_of_their_own(scene: Scene) -> None:
    """When they are taken the oldest of the address with most of them is ended, and counted."""
    assert scene.server.is_tls()
    other = await scene.client(HELLO, "10.0.0.9")
    greedy = [await scene.client(HELLO) for _ in range(2)]
    assert scene.server.open_connections() == 3
    assert (scene.server.admission.refused, scene.server.failed_handshakes) == (0, 0)
    await scene.client(HELLO)
    assert [each.is_closed for each in (other, *greedy)] == [False, True, False]
    assert scene.server.open_connections() == 3
    assert (scene.server.admission.refused, scene.server.failed_handshakes) == (1, 1)
    await asyncio.sleep(5.1)
    assert scene.server.open_connections() == 0
    assert scene.server.failed_handshakes == 4


@pytest.mark.parametrize(("tls", "failed"), [(True, 2), (False, 0)])
async def test_who_is_closed_before_a_handshake_has_failed_it(tls: bool, failed: int) -> None:  # noqa: FBT001 - a column of the table
    """Only where there is one to be made; being full is counted in either case."""
    scene = Scene(context=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None)
    scene.server.turned_away(because_full=False)
    scene.server.turned_away(because_full=True)
    assert scene.server.failed_handshakes == failed
    assert scene.server.admission.refused == 1
