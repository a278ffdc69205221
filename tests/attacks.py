"""Clients that mean ill, as many as a test wants, against a program on this machine."""

import asyncio
import gzip
import random
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from tests.program import PATIENCE_SECS, value_of

SCRAPE = (
    b"GET /metrics HTTP/1.1\r\nHost: node\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
)
PLAIN = b"GET /metrics HTTP/1.1\r\nHost: node\r\n\r\n"
HALF = b"GET /metrics HTTP/1.1\r\nHost: node\r\nX-Slow: "
AT_ONCE = 50

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connect(port: int, first: bytes = b"") -> Streams:
    """A connection on which these bytes were sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first)
    return reader, writer


async def scrape(port: int) -> str:
    """One page, unpacked; fails unless it is whole."""
    reader, writer = await connect(port, SCRAPE)
    head, _, body = (await asyncio.wait_for(reader.read(), PATIENCE_SECS)).partition(b"\r\n\r\n")
    writer.close()
    assert head.startswith(b"HTTP/1.1 200 OK\r\n"), head
    return gzip.decompress(body).decode()


async def is_closed(streams: Streams, secs: float = PATIENCE_SECS) -> bool:
    """Whether the program closes this connection before the time is over."""
    reader, writer = streams
    try:
        while await asyncio.wait_for(reader.read(65536), secs):
            pass
    except ConnectionError:  # or a broken pipe, where the last bytes were on their way
        return True
    finally:
        writer.close()
    return True


def is_of_one_moment(page: str) -> bool:
    """Whether used and available memory make the total, as they do in one snapshot."""
    used, available, total = (
        value_of(page, f"hw_memory_{name}_bytes") or 0 for name in ("used", "available", "total")
    )
    return 0 < used + available == total


async def at_once(count: int, start: Callable[[], Awaitable[Any]]) -> list[Any]:
    """The results of so many clients that begin together."""
    return list(await asyncio.gather(*(start() for _ in range(count))))


def deaf_client(port: int) -> socket.socket:
    """A client that asks for many pages and reads none: the answers fill every buffer."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", port))
    sock.setblocking(False)  # noqa: FBT003 - the name of the standard library
    with suppress(BlockingIOError):  # it is full already: that is what is wanted
        sock.send(PLAIN * 200)
    return sock


def reset_in_the_middle(port: int, count: int) -> None:
    """So many clients reset their connection while the answer is on its way."""
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.sendall(PLAIN * 3)


async def send_garbage(port: int, count: int, seed: int = 1) -> int:
    """So many malformed requests, fifty at a time; how many were answered with a 5xx."""
    chance = random.Random(seed)  # noqa: S311 - the same garbage in every run
    wrong = 0
    for _ in range(count // AT_ONCE):
        requests = [_garbage(chance) for _ in range(AT_ONCE)]
        answers = await asyncio.gather(*(_answer(port, request) for request in requests))
        wrong += sum(answer.startswith(b"HTTP/1.1 5") for answer in answers)
    return wrong


def _garbage(chance: random.Random) -> bytes:
    kinds = (
        chance.randbytes(chance.randrange(1, 300)) + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n%c: \x00\r\n\r\n" % chance.randrange(256),
        b"GET /%s HTTP/9.%d\r\n\r\n" % (chance.randbytes(5).hex().encode(), chance.randrange(10)),
        b"POST / HTTP/1.1\r\nContent-Length: -%d\r\n\r\n" % chance.randrange(1, 1000),
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"\x16\x03\x01" + chance.randbytes(60) + b"\r\n\r\n",
    )
    return chance.choice(kinds)


async def _answer(port: int, request: bytes) -> bytes:
    reader, writer = await connect(port, request)
    try:
        writer.write_eof()
        return await asyncio.wait_for(reader.read(), PATIENCE_SECS)
    except (ConnectionError, OSError):
        return b""  # closed without a word
    finally:
        writer.close()
