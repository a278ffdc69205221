"""Runs a command of the real program, and servers that answer what no exporter would."""

import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECS = 60.0
NO_EXPORTER = {"APP__SERVER__PORT": "9"}
"""The port that a command looks for the exporter of this machine at: nobody listens there."""

QUIET = {
    "APP__KERNEL_LOG__ENABLED": "false",
    "APP__GPU__DRIVER_MARKERS": "/nowhere/driver",
    "APP__SOURCES__CPU_MODEL_PROBE": "false",
}


def run(
    *arguments: str,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    under: Sequence[str] = (),
) -> "subprocess.CompletedProcess[str]":
    """End with what the command printed; it touches nothing but this machine's own files.

    `under` is a program that starts it, such as unshare.
    """
    ended = subprocess.run(
        [
            *(shutil.which(under[0]) or under[0] for _ in under[:1]),
            *under[1:],
            sys.executable,
            "-m",
            "exporter",
            *arguments,
        ],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            **NO_EXPORTER,
            **QUIET,
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECS,
        check=False,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


@contextmanager
def answering(body: bytes, status: int = 200, kind: str = "application/json") -> Iterator[str]:
    """Give the address of a server that answers everything with this."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name http.server calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
