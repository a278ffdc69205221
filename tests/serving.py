"""Runs an HTTP server of a test beside it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

LOOK_SECS = 0.01
"""How often it looks whether it shall end: the half second of `serve_forever` adds up."""


@contextmanager
def serving(server: HTTPServer) -> Iterator[str]:
    """Answer in a thread until the block ends; give the address, as HOST:PORT."""
    thread = threading.Thread(target=server.serve_forever, args=(LOOK_SECS,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def replying(answer: Callable[[str, bytes], bytes]) -> Iterator[str]:
    """Reply to a GET or POST with what `answer` makes of its path and body, as metrics in text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answer(self.path, self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError):  # who asked did not wait
                self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name http.server calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield address
