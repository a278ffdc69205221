"""`hw-exporter selfcheck` against the running program and against others."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.cli import run_command
from exporter.commands.page_checks import PAGE_CHECKS
from exporter.commands.selfcheck import HTTP_CHECKS
from tests.program import Program

pytestmark = pytest.mark.system


class _Liar(http.server.BaseHTTPRequestHandler):
    """Answers everything with the same wrong thing."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html>" + self.path.encode())

    do_HEAD = do_POST = do_GET  # noqa: N815 - the names http.server calls

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def liar() -> Iterator[str]:
    """The address of a server that is no exporter."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Liar) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_running_program_keeps_all_its_promises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One PASS line for each check, and exit code 0."""
    with Program(tmp_path) as program:
        program.first_page()
        code = run_command(["selfcheck", f"http://127.0.0.1:{program.port}/"], {})
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("PASS ")] == []
    assert len(lines) == len(HTTP_CHECKS) + len(PAGE_CHECKS)
    assert code == 0


def test_something_else_fails_every_check(liar: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing passes by accident, and the exit code says so."""
    code = run_command(["selfcheck", liar], {})
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("FAIL ")] == []
    assert code == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "file:///etc/passwd", "no address"])
def test_nobody_there_is_said_once(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An address without an exporter is one line with its reason, without a traceback."""
    assert run_command(["selfcheck", url], {}) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert "does not answer" in line or "is not an http address" in line


def test_an_address_needs_no_scheme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`localhost:8080` is as good as a URL."""
    with Program(tmp_path) as program:
        program.first_page()
        assert run_command(["selfcheck", f"localhost:{program.port}"], {}) == 0
    assert "FAIL" not in capsys.readouterr().out
