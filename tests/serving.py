"""Runs an HTTP server of a test beside it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer

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
