"""`hw-exporter faults` and `metrics`: with a running exporter, without one, and with others."""

import json
import signal
import socket
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import ENDING
from exporter.commands.arguments import build_parser
from exporter.model.verdict import Cause, Conclusions, Fault, FaultState, Subject
from exporter.reports.faults import faults_document
from tests.commands.running import answering, run, run_program
from tests.fakes.certificates import Authority
from tests.faults.conclusions import GPU, fault
from tests.program import Program
from tests.web.serving import snapshot

pytestmark = pytest.mark.system

SLOT = Subject("pcie_port", "pcie", "0000:60:01.0", "0000:60:01.0")
DOWN = fault("pcie_link_down", SLOT, "critical", summary="The link of PCIe slot 6 went down")
CAUSE = Cause(DOWN.rule, SLOT, "below", DOWN.summary, DOWN.since)
LOST = fault("gpu_lost", GPU, "critical", summary="GPU 0 is lost", causes=(CAUSE,))
HEALTH = {"status": "healthy", "version": "1"}


def _document(*faults: Fault) -> dict[str, Any]:
    """What an exporter with these faults answers."""
    return faults_document(replace(snapshot("n"), conclusions=Conclusions(faults=faults)))


@pytest.mark.parametrize(
    ("document", "code", "npd", "sentence"),
    [
        (_document(), 0, 0, "Healthy: no active faults"),
        (_document(replace(DOWN, severity="info")), 0, 0, "1 info"),
        (_document(replace(DOWN, severity="warning")), 1, 1, "1 warning"),
        (_document(DOWN, LOST), 2, 1, "1 critical: GPU 0 is lost, because the link of PCIe slot 6"),
        # the answer to --since, --until or --rule that select no fault
        ({**_document(DOWN), "faults": []}, 2, 1, "1 critical: The link of PCIe"),
        (_document(replace(DOWN, state=FaultState.CLEARED, ended=1.8e9)), 0, 0, "Healthy"),
        (faults_document(snapshot("n")), 3, 2, "Unknown"),
    ],
)
def test_the_exit_code_is_the_worst_fault(
    document: dict[str, Any], code: int, npd: int, sentence: str
) -> None:
    """0 healthy, 1 warnings, 2 critical, 3 unknown; with --npd those of its plugins."""
    with answering(json.dumps(document).encode()) as url:
        ended = run("faults", "--url", url)
        assert (ended.returncode, sentence in ended.stdout) == (code, True), ended.stdout
        problem = run("--url", url, "faults", "--npd")
        assert problem.returncode == npd
        assert len(problem.stdout.splitlines()) == 1
        assert len(problem.stdout.strip()) <= 80


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_a_refusal_is_a_sentence(status: int) -> None:
    """The sentence of the exporter is shown; a login is asked for in words."""
    with answering(b'{"error": "not today"}', status) as url:
        ended = run("faults", "--url", url)
        assert ended.returncode == 3
        assert ("login" if status == 401 else "not today") in ended.stderr
        assert run("metrics", "--url", url).returncode == 3


@pytest.mark.parametrize("url", ["127.0.0.1:1", "file:///etc/passwd", "http://[::1", "a b", ""])
def test_nobody_there_is_a_sentence_and_unknown(url: str) -> None:
    """An address that was asked for and does not answer is not replaced by a reading."""
    ended = run("faults", "--url", url)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (3, 1)
    npd = run("faults", "--npd", "--url", url)
    assert (npd.returncode, len(npd.stdout.splitlines())) == (2, 1)


def test_what_cannot_be_asked_is_said_by_the_exporter(tmp_path: Path) -> None:
    """A part of the history is asked for over HTTP; what is no time is said in its words."""
    with Program(tmp_path) as program:
        program.first_page()
        url = f"127.0.0.1:{program.port}"
        assert run("faults", "--since", "2h", "--url", url).returncode in (0, 1, 2)
        wrong = run("faults", "--since", "yesterday", "--url", url)
    assert (wrong.returncode, "since must be" in wrong.stderr) == (3, True)


@pytest.mark.parametrize(
    ("days", "with_authority", "answers"),
    [(1, True, "server"), (1, False, "server"), (-1, False, "server"), (1, True, "other")],
)
def test_an_exporter_with_tls_is_asked(
    tmp_path: Path, *, days: int, with_authority: bool, answers: str
) -> None:
    """The one of this machine is known by its certificate; any other needs one that is trusted.

    Its file seldom has the root of the chain, and on a node with a wrong clock it has expired.
    """
    authority = Authority(tmp_path)
    pairs = {name: authority.sign(name, days=days) for name in ("server", "other")}
    chain = tmp_path / "chain.pem"
    chain.write_bytes(
        pairs["server"].cert.read_bytes() + authority.file.read_bytes() * with_authority
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pairs[answers].cert, pairs[answers].key)
    with answering(json.dumps({**HEALTH, **_document()}).encode(), context=context) as url:
        local = {
            "APP__SERVER__PORT": url.rpartition(":")[2],
            "APP__SERVER__TLS__CERT_FILE": str(chain),
            "APP__SERVER__TLS__KEY_FILE": str(pairs["server"].key),
        }
        ended = run("faults", cwd=tmp_path, environment=local)
        is_asked = f"from https://{url}" in ended.stdout
        assert is_asked == (answers == "server"), ended
        assert not is_asked or ended.returncode == 0
        assert run("faults", "--url", f"https://{url}").returncode == 3


def test_an_exporter_that_hangs_is_not_replaced_by_a_reading(tmp_path: Path) -> None:
    """It may know of a fault that lasts; a second collector would not."""
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        port = str(hanging.getsockname()[1])
        ended = run("faults", cwd=tmp_path, environment={"APP__SERVER__PORT": port})
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.endswith(f"http://127.0.0.1:{port} does not answer within 2 s\n")


def test_faults_that_nobody_judges_are_unknown(tmp_path: Path) -> None:
    """Where rules are switched off there is no verdict, and no silence passes for one."""
    ended = run("faults", cwd=tmp_path, environment={"APP__FAULTS__ENABLED": "false"})
    assert (ended.returncode, "Unknown" in ended.stdout) == (3, True)


def test_a_wrong_configuration_is_a_sentence(tmp_path: Path) -> None:
    """--config counts for every command, before and after its name; it is no critical fault."""
    (tmp_path / "bad.toml").write_text("[server]\nprot = 1\n")
    for code, *arguments in (
        (3, "faults", "--config", "bad.toml"),
        (2, "faults", "--npd", "--config", "bad.toml"),
        (2, "--config", "bad.toml", "metrics"),
    ):
        ended = run(*map(str, arguments), cwd=tmp_path)
        assert (ended.returncode, len(ended.stderr.splitlines())) == (code, 1)
        assert "bad.toml" in ended.stderr


def test_a_verdict_that_cannot_be_written_is_unknown(tmp_path: Path) -> None:
    """On a full disk a critical fault is no warning, and there is no traceback."""
    with answering(json.dumps(_document(DOWN)).encode()) as url:
        shell = ("sh", "-c", 'exec "$0" "$@" > /dev/full')
        ended = run_program("faults", "--url", url, cwd=tmp_path, under=shell)
    assert ended.returncode == 3
    assert ended.stderr.endswith("the output cannot be written: No space left on device\n")


OVER, TRIES = 99, 20
"""A command that has ended, or said what it found, before it is stopped is tried again."""


@pytest.mark.parametrize("command", ["faults", "doctor", "selfcheck", "--check-config"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_stopped_has_found_nothing(
    tmp_path: Path, command: str, number: signal.Signals
) -> None:
    """Stopped at any moment, it does not end as one that found the node healthy."""
    over = f'grep -q "^State:.Z" /proc/$p/status && exit {OVER}'
    ready = f'until grep -q "^SigCgt:.*[4-7c-f]...$" /proc/$p/status; do {over}; sleep 0.01; done'
    script = f'setsid "$0" "$@" & p=$!; {ready}; sleep 0.05; {over}; kill -{number} $p; wait $p'
    with socket.create_server(("127.0.0.1", 0)) as silent:  # selfcheck waits for its answer
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        arguments = ("--url", url) if command == "selfcheck" else ()
        tries = (
            run_program(command, *arguments, cwd=tmp_path, under=("sh", "-c", script))
            for _ in range(TRIES)
        )
        stopped = next(ran for ran in tries if ran.returncode != OVER and not ran.stdout)
    assert stopped.returncode == 128 + number


def test_only_what_serves_ends_well_when_it_is_stopped() -> None:
    """Every other command is listed as one that ends by itself."""
    commands = next(
        action.choices for action in build_parser()._actions if isinstance(action.choices, dict)
    )
    assert {*commands} - {"run", "demo"} == ENDING - {"--check-config"}
