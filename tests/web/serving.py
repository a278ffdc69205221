"""The guarded server on loopback with pages of a made-up node, and a raw client for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from exporter.blocking import DaemonThreads
from exporter.collectors.everything import EVERYTHING
from exporter.config.server import ServerConfig
from exporter.exposition.page import Moment, Pages
from exporter.model.snapshot import Snapshot, SourceReport
from exporter.web.live import LivePages
from exporter.web.renderer import Renderer
from exporter.web.routes import Routes
from exporter.web.server.acceptor import Acceptor, Bounds
from exporter.web.server.admission import Limits
from exporter.web.server.guard import GuardedServer
from exporter.web.server.listening import listening_sockets
from exporter.web.server.security import Security

PATIENCE_SECS = 10.0
LIMITS = Limits(max_connections=100, request_timeout_secs=5, keepalive_timeout_secs=5)


@dataclass(slots=True)
class Node:
    """How the program is doing, as a test wants it."""

    latest: Snapshot | None = None
    live: bool = True
    reasons: list[str] = field(default_factory=list)

    def snapshot(self) -> Snapshot | None:
        return self.latest

    def is_live(self) -> bool:
        return self.live

    def unready_reasons(self) -> list[str]:
        return self.reasons

    def boottime(self) -> float:
        return 1000.0


@dataclass(frozen=True, slots=True)
class Response:
    """One answer, taken apart; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Serving:
    """The server under test."""

    server: GuardedServer
    routes: Routes
    port: int

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which nothing was sent."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def exchange(self, data: bytes) -> bytes:
        """All that comes back for these bytes until the server closes."""
        reader, writer = await self.connect()
        writer.write(data)
        try:
            return await asyncio.wait_for(reader.read(), PATIENCE_SECS)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    async def get(self, path: str, method: str = "GET", **headers: str) -> Response:
        """The answer to one request; `Accept_Encoding="gzip"` is a header."""
        lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n{''.join(lines)}\r\n"
        )
        return parse(await self.exchange(head.encode("utf-8", "surrogateescape")))


def parse(answer: bytes) -> Response:
    """The answer taken apart."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    headers = {name.lower(): value for name, value in pairs}
    return Response(int(first.split()[1]), headers, body)


def snapshot(
    node: str = "node-1",
    readings: dict[type, object] | None = None,
    reports: tuple[SourceReport, ...] = (),
) -> Snapshot:
    """A snapshot taken at boot time 1000."""
    return Snapshot(
        node=node,
        sequence=1,
        taken_at=1.8e9,
        taken_boottime=1000.0,
        duration_secs=0.01,
        readings=readings or {},
        reports=reports,
    )


@asynccontextmanager
async def serving(
    latest: Snapshot | None = None,
    limits: Limits = LIMITS,
    node: Node | None = None,
    security: Security | None = None,
) -> AsyncIterator[Serving]:
    """The server, running until the block ends."""
    pages = Pages(EVERYTHING, lambda: 1000.0, Moment)
    if latest is not None:
        pages.publish(latest)
    security = security or Security(ServerConfig(), DaemonThreads())
    routes = Routes(
        "1.2.3",
        node or Node(latest),
        pages,
        security.authenticator(),
        actions={},
        maintenance=None,
        live=LivePages("1.2.3"),
        recordings=lambda: EVERYTHING.recordings,
        renderer=Renderer(DaemonThreads()),
    )
    server = GuardedServer(routes.handle, limits, security.context)
    async with listening(server) as port:
        yield Serving(server, routes, port)


@asynccontextmanager
async def listening(server: GuardedServer, bounds: Bounds | None = None) -> AsyncIterator[int]:
    """The port on which the server is reached, until the block ends."""
    (sock,) = listening_sockets("127.0.0.1", 0, 5)
    bounds = bounds or Bounds(1000, server.limits.request_timeout_secs)
    acceptor = Acceptor([sock], bounds, server)
    acceptor.start()
    try:
        yield sock.getsockname()[1]
    finally:
        acceptor.close()
        await server.shutdown(0.1)


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what happens in the kernel: no event tells of it."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECS
    while not holds():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.005)
