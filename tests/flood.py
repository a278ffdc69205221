"""`python -m tests.flood KIND PORT CLIENTS RATE SECS`: clients by the thousand, from one process.

KIND is what a client does after it has connected; closed ones are opened again, at most RATE a
second. Prints how many connections were made.
"""

import contextlib
import os
import select
import socket
import ssl
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HALF = b"GET /metrics HTTP/1.1\r\nHost: node\r\nX-Slow: "
NUMBER = b"NUMBER"
SLOW_ACCEPT = b'"' + b'q;\\"' * 1990 + NUMBER
HEADER = b"GET /metrics HTTP/1.1\r\nHost: node\r\nAccept: " + SLOW_ACCEPT + b"\r\n\r\n"
LAST = b" HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"
WHY = (
    b"GET /why?all=1&format=text HTTP/1.1\r\nHost: node\r\n\r\n" * 5
    + b"GET /why?pid=5NUMBER"
    + LAST
)
RESET = struct.pack("ii", 1, 0)
ADDRESS = "127.0.0.2"


def hello() -> bytes:
    """What a TLS client says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="node")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


HELLO = hello()
KINDS = {
    "half": (HALF,),
    "header": (HEADER,),
    "silent": (b"",),
    "why": (WHY,),
    "greeting": (b"close", HELLO, HELLO[:40], b"reset", HELLO[:5]),
}
"""What its clients send, one after the other; `close` and `reset` end the connection at once."""


class Flood:
    """Keep so many clients connected, at most so many new ones a second."""

    def __init__(self, kind: str, port: int, clients: int, rate: float) -> None:
        self._words = KINDS[kind]
        self._address = ("127.0.0.1", port)
        self._clients = clients
        self._rate = rate
        self._open: dict[int, tuple[socket.socket, bytes]] = {}
        self._poll = select.epoll()
        self.made = 0

    def run(self, secs: float) -> None:
        """Flood for so long."""
        began = time.monotonic()
        while (passed := time.monotonic() - began) < secs:
            room = min(self._clients - len(self._open), int(passed * self._rate) - self.made, 200)
            for _ in range(room):
                self._connect()
            for descriptor, event in self._poll.poll(0.002, 500):
                self._serve(descriptor, event)
        for sock, _ in self._open.values():
            sock.close()

    def _connect(self) -> None:
        sock = socket.socket()
        sock.setblocking(False)  # noqa: FBT003 - the socket's own signature
        sock.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        sock.bind((ADDRESS, 0))
        with suppress(BlockingIOError, OSError):
            sock.connect(self._address)
        self._open[sock.fileno()] = (sock, self._words[self.made % len(self._words)])
        self.made += 1
        self._poll.register(sock, select.EPOLLOUT | select.EPOLLIN | select.EPOLLHUP)

    def _serve(self, descriptor: int, event: int) -> None:
        sock, word = self._open[descriptor]
        if not event & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
            if word in (b"close", b"reset"):
                self._end(descriptor, word)
                return
            with contextlib.suppress(OSError):
                sock.send(word.replace(NUMBER, b"%04d" % (self.made % 10_000)))
            self._poll.modify(sock, select.EPOLLIN | select.EPOLLHUP)
            return
        try:
            over = not sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            over = True
        if over or word == HELLO:
            self._end(descriptor, b"reset" if word == HELLO else b"")

    def _end(self, descriptor: int, word: bytes) -> None:
        sock, _ = self._open.pop(descriptor)
        if word == b"reset":
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        sock.close()


@contextmanager
def flooding(kind: str, port: int, clients: int, rate: float, secs: float) -> Iterator[None]:
    """Flood from a process of its own until the block ends, for `secs` at the most."""
    arguments = [kind, str(port), str(clients), str(rate), str(secs)]
    root = Path(__file__).resolve().parent.parent
    process = subprocess.Popen([sys.executable, "-m", "tests.flood", *arguments], cwd=root)
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    os.nice(10)  # real attackers have processors of their own
    name, number, count, speed, seconds = sys.argv[1:]
    flood = Flood(name, int(number), int(count), float(speed))
    flood.run(float(seconds))
    print(flood.made)  # noqa: T201 - the figure that is asked for
