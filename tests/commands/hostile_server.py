"""A server that means ill: it redirects, drips, and answers what a terminal would obey."""

import socketserver
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import TypeAlias

from tests.serving import serving

TRICK = "\x1b]0;pwned\x07\x1b[31m\x9b31m\u202e\x08\x7f"
"""What a terminal obeys: a title, colours in both lengths, right to left, a backspace."""

DRIP_SECS = 0.05
Script: TypeAlias = Callable[[str, Callable[[bytes], object]], object]
"""Answers a path by what it sends."""


@contextmanager
def hostile(
    script: Script, context: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Give the address, as HOST:PORT, and the heads of all requests."""
    heads: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            lines = []
            try:
                while (line := self.rfile.readline(65536)).strip():
                    lines.append(line.decode("latin-1"))
                heads.append("".join(lines))
                script(heads[-1].split(" ")[1] if lines else "", self.wfile.write)
            except OSError:  # who asks has gone
                pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server) as place:
        yield place, heads


def says(raw: bytes) -> Script:
    """Answer everything with these bytes."""
    return lambda _, send: send(raw)


def answer(body: bytes, status: bytes = b"200 OK", headers: bytes = b"") -> bytes:
    """Return a whole answer."""
    length = str(len(body)).encode()
    return b"HTTP/1.1 %b\r\n%bContent-Length: %b\r\n\r\n%b" % (status, headers, length, body)


def drips(first: bytes, again: bytes) -> Script:
    """Send the first bytes, and then the others for a minute."""

    def script(_: str, send: Callable[[bytes], object]) -> None:
        send(first)
        for _turn in range(int(60 / DRIP_SECS)):
            time.sleep(DRIP_SECS)
            send(again)

    return script


DRIPPING = {
    "nothing": drips(b"", b""),
    "status line": drips(b"HTTP/1.1 ", b"2"),
    "100 Continue": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "one header": drips(b"HTTP/1.1 200 OK\r\nA: ", b"b"),
    "body": drips(b"HTTP/1.1 200 OK\r\n\r\n{", b" "),
    "chunks": drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}
_TRICK = TRICK.encode()
OBEYED = {
    "status line": answer(b"{}", b"200 " + _TRICK),
    "no status line": _TRICK + b"\r\n\r\n",
    "version": b"HTTP/" + _TRICK + b" 200 OK\r\n\r\n",
    "status": b"HTTP/1.1 2" + _TRICK + b"00 OK\r\n\r\n",
    "header": answer(b"{}", headers=b"Content-Type: " + _TRICK + b"\r\n"),
    "encoding": answer(b"{}", headers=b"Content-Encoding: gzip\r\nX: " + _TRICK + b"\r\n"),
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: \xb2" + _TRICK + b"\r\n\r\n",
    "chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + _TRICK + b"\r\n",
    "login": answer(_TRICK, b"401 " + _TRICK, b"WWW-Authenticate: " + _TRICK + b"\r\n"),
    "redirect": answer(b"", b"302 Found", b"Location: http://" + _TRICK + b"/\r\n"),
    "text": answer(b"# HELP hw_" + _TRICK + b" " + _TRICK + b"\nhw_x{node=" + _TRICK + b"} 1\n"),
    "UTF-16": answer(f'{{"error": "{TRICK}"}}'.encode("utf-16")),
    "health": answer(b'{"status": "healthy", "version": "1", "reasons": "%b"}' % _TRICK),
}
