"""`hw-exporter selfcheck` against the running program and against others."""

import gzip
import http.server
from collections.abc import Callable, Iterator

import pytest

from exporter.cli import run_command
from exporter.commands.page_checks import PAGE_CHECKS
from exporter.commands.selfcheck import HTTP_CHECKS
from tests.commands.running import run
from tests.program import Answer, Program
from tests.serving import serving

pytestmark = pytest.mark.system

Damage = Callable[[str, Answer], Answer]
JSON = {"content-type": "application/json; charset=utf-8"}


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
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Liar)) as address:
        yield f"http://{address}"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """The real program, which has a page."""
    with Program(tmp_path_factory.mktemp("program")) as running:
        running.first_page()
        yield running


def test_the_running_program_keeps_all_its_promises(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    """One PASS line for each check, and exit code 0."""
    code = run_command(["selfcheck", f"http://127.0.0.1:{program.port}/"], {})
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("PASS ")] == []
    assert len(lines) == len(HTTP_CHECKS) + len(PAGE_CHECKS)
    assert code == 0


def test_the_exporter_of_this_machine_is_checked(program: Program) -> None:
    """Without an address it is the configured one, as for every other command."""
    ended = run("selfcheck", environment={"APP__SERVER__PORT": str(program.port)})
    assert (ended.returncode, "FAIL" in ended.stdout) == (0, False)


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
    """Change a text on the page of metrics, packed or not."""

    def damage(asked: str, answer: Answer) -> Answer:
        if asked != "/metrics" or not answer.body:
            return answer
        is_packed = answer.headers.get("content-encoding") == "gzip"
        text = gzip.decompress(answer.body) if is_packed else answer.body
        text = text.replace(old, new)
        return Answer(answer.status, answer.headers, gzip.compress(text) if is_packed else text)

    return damage


def _without(header: str) -> Damage:
    """Leave out a header of the page of metrics, and pack nothing."""

    def damage(asked: str, answer: Answer) -> Answer:
        if asked != "/metrics":
            return answer
        body = answer.body
        if answer.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        kept = {name: value for name, value in answer.headers.items() if name != header}
        return Answer(answer.status, kept, body)

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
        (_page(b"} 1\n", b"} one\n"), "FAIL both formats parse: the page cannot be parsed"),
        (_page(b"# HELP hw_memory_total_bytes", b"# HALP"), "FAIL HELP and TYPE for every family"),
        (_page(b"hw_cpu_threads{", b"cpu_threads{"), "FAIL prefix and node label: cpu_threads has"),
        (
            _page(b"# TYPE hw_cpu_cores gauge", b"# TYPE hw_cpu_cores counter"),
            "FAIL counters are typed counter: hw_cpu_cores is typed counter",
        ),
        (
            _page(b"hw_cpu_threads{", b"hw_cpu_cores{"),
            "FAIL no duplicate series: there twice: ['hw_cpu_cores']",
        ),
    ],
    ids=lambda value: value[5:30] if isinstance(value, str) else "",
)
def test_what_is_broken_is_named(
    program: Program, capsys: pytest.CaptureFixture[str], damage: Damage, line: str
) -> None:
    """Of eleven exporters with one broken promise each the right line fails."""
    handler = _broken(program, damage)
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)) as address:
        assert run_command(["selfcheck", address], {}) == 1
    failed = [row for row in capsys.readouterr().out.splitlines() if row.startswith("FAIL")]
    assert any(row.startswith(line) for row in failed), failed


def test_an_address_needs_no_scheme(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    """`localhost:8080` is as good as a URL."""
    assert run_command(["selfcheck", f"localhost:{program.port}"], {}) == 0
    assert "FAIL" not in capsys.readouterr().out


def test_without_an_address_the_configured_one_is_checked(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of every command: another port, TLS and the token come from the configuration."""
    assert run_command(["selfcheck"], {"APP__SERVER__PORT": str(program.port)}) == 0
    assert "FAIL" not in capsys.readouterr().out
