"""`hw-exporter selfcheck` against the running program and against others."""

import http.server
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from exporter.commands.page_checks import PAGE_CHECKS
from exporter.commands.selfcheck import HTTP_CHECKS
from tests.commands.hostile_server import hostile, says
from tests.commands.running import run
from tests.program import Answer, Program
from tests.serving import serving

pytestmark = pytest.mark.system

Damage = Callable[[str, Answer], Answer]
JSON = {"content-type": "application/json; charset=utf-8"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """The real program, which has a page."""
    with Program(tmp_path_factory.mktemp("program")) as running:
        running.first_page()
        yield running


@pytest.mark.parametrize("address", ["http://127.0.0.1:{}/", "localhost:{}", ""])
def test_the_running_program_keeps_all_its_promises(program: Program, address: str) -> None:
    """One PASS line for each check; without an address it is the exporter of this machine."""
    named = [address.format(program.port)] if address else []
    ended = run("selfcheck", *named, environment={"APP__SERVER__PORT": str(program.port)})
    lines = ended.stdout.splitlines()
    assert [line for line in lines if not line.startswith("PASS ")] == []
    assert len(lines) == len(HTTP_CHECKS) + len(PAGE_CHECKS)
    assert ended.returncode == 0


def test_something_else_fails_every_check() -> None:
    """Nothing passes by accident, and the exit code says so."""
    with hostile(says(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>")) as (url, _):
        ended = run("selfcheck", url)
    assert [line for line in ended.stdout.splitlines() if not line.startswith("FAIL ")] == []
    assert ended.returncode == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "file:///etc/passwd", "no address"])
def test_nobody_there_is_said_once(url: str) -> None:
    """An address without an exporter is one line with its reason, without a traceback."""
    ended = run("selfcheck", url)
    (line,) = ended.stdout.splitlines()
    assert "does not answer" in line or "is not an http address" in line
    assert ended.returncode == 1


def _broken(program: Program, damage: Damage) -> type[http.server.BaseHTTPRequestHandler]:
    """Hand on what the program answers, with one thing broken."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            named = {name.replace("-", "_"): value for name, value in self.headers.items()}
            named.pop("Host", None)
            answer = damage(self.path, program.get(self.path, self.command, **named))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name not in ("content-length", "connection", "date", "server"):
                    self.send_header(name, value)
            length = answer.headers.get("content-length") if self.command == "HEAD" else None
            self.send_header("Content-Length", length or str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_HEAD = do_POST = do_GET  # noqa: N815 - the names http.server calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


def _instead(path: str, status: int, body: bytes) -> Damage:
    """Answer something else for one path."""

    def damage(asked: str, answer: Answer) -> Answer:
        return Answer(status, JSON, body) if asked == path else answer

    return damage


def _page(old: bytes, new: bytes) -> Damage:
    """Change a text on the page of metrics."""

    def damage(asked: str, answer: Answer) -> Answer:
        is_page = asked == "/metrics"
        return replace(answer, body=answer.body.replace(old, new)) if is_page else answer

    return damage


def _without(header: str) -> Damage:
    """Leave out a header of the page of metrics."""

    def damage(asked: str, answer: Answer) -> Answer:
        kept = {name: value for name, value in answer.headers.items() if name != header}
        return replace(answer, headers=kept) if asked == "/metrics" else answer

    return damage


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (_instead("/health", 200, b'{"status": "healthy"}'), "FAIL health: /health names no"),
        (_instead("/ready", 503, b'{"reasons": ["starting"]}'), "FAIL ready: not ready: ['start"),
        (_without("content-type"), "FAIL content types: the type is ''"),
        (_without("content-encoding"), "FAIL gzip: the answer is not packed"),
        (_instead("/no-such-page", 200, b"{}"), "FAIL 404 and 405: an unknown page answers 200"),
        (
            _instead("/node", 200, b'{"hostname": "n", "node": ""}'),
            "FAIL inventory: /node lacks node",
        ),
        (_page(b"hw_cpu_threads{", b"cpu_threads{"), "FAIL prefix and node label: cpu_threads has"),
    ],
    ids=lambda value: value[5:30] if isinstance(value, str) else "",
)
def test_what_is_broken_is_named(program: Program, damage: Damage, line: str) -> None:
    """Of exporters with one broken promise each the right line fails."""
    handler = _broken(program, damage)
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)) as address:
        ended = run("selfcheck", address)
    failed = [row for row in ended.stdout.splitlines() if row.startswith("FAIL")]
    assert any(row.startswith(line) for row in failed), failed
    assert ended.returncode == 1
