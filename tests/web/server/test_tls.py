"""Encrypted connections, spoken to by real clients on loopback."""

import asyncio
import gc
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from exporter.blocking import DaemonThreads
from exporter.config.server import ServerConfig, TlsConfig
from exporter.web.server.admission import Limits
from exporter.web.server.guard import GuardedServer
from exporter.web.server.security import Security
from exporter.web.server.tls import TlsHandshake
from tests.fakes.certificates import Authority, KeyPair
from tests.web.serving import listening, serving, until

LIMITS = Limits(max_connections=20, request_timeout_secs=0.5, keepalive_timeout_secs=5)


@dataclass(frozen=True, slots=True)
class _Running:
    """The server with the certificates and tokens of a configuration."""

    security: Security
    server: GuardedServer
    port: int

    async def get(self, path: str, context: ssl.SSLContext, **headers: str) -> int:
        connector = aiohttp.TCPConnector(ssl=context, force_close=True)
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.get(f"https://127.0.0.1:{self.port}{path}", headers=headers) as answer,
        ):
            await answer.read()
            return answer.status


@asynccontextmanager
async def _running(config: ServerConfig) -> AsyncIterator[_Running]:
    security = Security(config, DaemonThreads())
    async with serving(limits=LIMITS, security=security) as served:
        yield _Running(security, served.server, served.port)


def _server(pair: KeyPair, authority: Authority | None = None) -> ServerConfig:
    ca = str(authority.file) if authority else ""
    return ServerConfig(tls=TlsConfig(str(pair.cert), str(pair.key), ca))


def _trusting(authority: Authority, own: KeyPair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.file))
    if own is not None:
        context.load_cert_chain(own.cert, own.key)
    return context


async def test_pages_are_encrypted(tmp_path: Path) -> None:
    """A client that trusts the authority reads the page; one that does not refuses us."""
    authority = Authority(tmp_path)
    async with _running(_server(authority.sign("server"))) as running:
        assert await running.get("/", _trusting(authority)) == 200
        assert running.server.failed_handshakes == 0
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await running.get("/", _trusting(Authority(tmp_path, "another")))


async def test_old_protocols_are_not_spoken(tmp_path: Path) -> None:
    """Nothing older than TLS 1.2 is accepted, and 1.2 is."""
    authority = Authority(tmp_path)
    async with _running(_server(authority.sign("server"))) as running:
        context = _trusting(authority)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        assert await running.get("/", context) == 200
    served = running.security.context()
    assert served is not None
    assert served.minimum_version == ssl.TLSVersion.TLSv1_2


# Python 3.10's own client forgets its transport when the other side ends the handshake.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_clients_prove_who_they_are(tmp_path: Path) -> None:
    """Where authorities are named, theirs is admitted, none is refused, and probes still answer.

    A certificate that is expired or of somebody else ends the connection.
    """
    authority = Authority(tmp_path)
    stranger = Authority(tmp_path, "stranger").sign("strange")
    async with _running(_server(authority.sign("server"), authority)) as running:
        client = authority.sign("client")
        assert await running.get("/", _trusting(authority, client)) == 200
        assert await running.get("/", _trusting(authority)) == 403
        assert await running.get("/health", _trusting(authority)) == 200
        assert await running.get("/ready", _trusting(authority)) == 200
        for wrong in (authority.sign("old", days=-1), stranger):
            with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
                await running.get("/", _trusting(authority, wrong))
        assert running.server.failed_handshakes >= 2


async def test_a_renewed_certificate_is_shown_without_a_restart(tmp_path: Path) -> None:
    """After a rotation new connections see the new certificate; the authority may be another."""
    first, second = Authority(tmp_path), Authority(tmp_path, "second")
    pair = first.sign("server")
    async with _running(_server(pair)) as running:
        assert await running.get("/", _trusting(first)) == 200
        second.sign("server")
        await running.security.refresh()
        assert await running.get("/", _trusting(second)) == 200


async def _closes(port: int, words: bytes) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(words)
    try:
        await asyncio.wait_for(reader.read(), 3)
    except ConnectionError:
        return True
    finally:
        writer.close()
    return True


async def test_clients_that_do_not_speak_tls_are_let_go(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Plain HTTP, garbage, half a handshake and silence are closed in time, without a log line."""
    authority = Authority(tmp_path)
    async with _running(_server(authority.sign("server"))) as running:
        words = (
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\xff\xff" + b"x" * 70_000,
            b"\x16\x03",
            b"",
        )
        assert all(await asyncio.gather(*(_closes(running.port, word) for word in words)))
        assert running.server.failed_handshakes == 4
        assert running.server.open_connections() == 0
        assert await running.get("/", _trusting(authority)) == 200
    assert caplog.text == ""


def _hello(context: ssl.SSLContext) -> bytes:
    """What a client says first, as it goes over the wire."""
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


async def test_nothing_is_left_of_a_handshake_that_failed(tmp_path: Path) -> None:
    """What a handshake held is free when its client leaves, without a garbage collection."""
    authority = Authority(tmp_path)
    hello = _hello(_trusting(authority))
    gc.collect()
    gc.disable()
    try:
        async with _running(_server(authority.sign("server"))) as running:
            for first in (hello, hello + b"nonsense", b"\x16\x03\x01\x00\x05hello"):
                for _ in range(3):
                    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
                    writer.write(first)
                    if first == hello:
                        await reader.read(100)
                    writer.close()
            await until(lambda: running.server.failed_handshakes == 9)
            await until(lambda: _sizes_of_handshakes() == [])
    finally:
        gc.enable()


async def test_clients_that_never_read_hold_little_together(tmp_path: Path) -> None:
    """Of forty pages of 20 MB that nobody takes one megabyte is kept, and others are served."""
    authority = Authority(tmp_path)
    context = _trusting(authority)
    whole = bytes(20_000_000)
    limits = replace(LIMITS, max_connections=60, max_unsent_bytes=1_000_000)
    security = Security(_server(authority.sign("node")), DaemonThreads())
    arrived: list[web.BaseRequest] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        arrived.append(request)
        return web.Response(body=whole)

    server = GuardedServer(handle, limits, security.context)
    held: list[int] = []
    async with listening(server) as port:
        writers: list[asyncio.StreamWriter] = []
        for asked in range(1, 41):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, limit=1)
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # every socket has it
            writer.write(b"GET / HTTP/1.1\r\nHost: n\r\n\r\n")
            writers.append(writer)
            await until(lambda asked=asked: len(arrived) == asked)  # type: ignore[misc]  # a default
            if asked % 5 == 0:
                held.append(_unsent_bytes())
            del reader
        taken = await _whole_answer(port, context)
        for writer in writers:
            writer.transport.abort()
        await until(lambda: server.open_connections() == 0)
    assert taken.endswith(whole)
    assert 0 < max(held) <= 1_000_000 + 2 * 64 * 1024


async def _whole_answer(port: int, context: ssl.SSLContext) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(b"GET / HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


def _unsent_bytes() -> int:
    """What our side holds for all clients together, encrypted or not."""
    found = [each for each in gc.get_objects() if isinstance(each, TlsHandshake) and each._wire]
    return sum(each._wire.get_write_buffer_size() for each in found if each._wire)


def _sizes_of_handshakes() -> list[int]:
    """The buffers that handshakes still hold."""
    found = [each for each in gc.get_objects() if isinstance(each, TlsHandshake)]
    return [len(each._ssl_buffer or b"") for each in found if each._sslobj or each._ssl_buffer]
