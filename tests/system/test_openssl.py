"""OpenSSL is loaded once something is encrypted, and everything is encrypted as before."""

import http.client
import signal
import ssl
from pathlib import Path

import pytest

from tests.commands.running import run_program
from tests.fakes.certificates import Authority
from tests.fakes.otlp_receiver import receiving
from tests.program import Program, wait_for

pytestmark = pytest.mark.system


def _has_openssl(program: Program) -> bool:
    return "libcrypto" in Path(f"/proc/{program.process.pid}/maps").read_text()


def _with_certificate(folder: Path) -> dict[str, str]:
    pair = Authority(folder).sign("localhost")
    return {"tls.cert_file": str(pair.cert), "tls.key_file": str(pair.key)}


def _encrypted(port: int) -> bool:
    context = ssl._create_unverified_context()  # noqa: S323 - a certificate of this test
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
    try:
        connection.request("GET", "/health")
        return bool(connection.getresponse().read())
    except ssl.SSLError:  # it still answers without
        return False
    finally:
        connection.close()


def test_a_program_that_encrypts_nothing_is_without(tmp_path: Path) -> None:
    """Its pages are complete without the library."""
    with Program(tmp_path) as program:
        assert "hw_node_healthy" in program.page_with("hw_node_healthy").text
        assert not _has_openssl(program)
        assert "liblzma" not in Path(f"/proc/{program.process.pid}/maps").read_text()


def test_a_server_with_a_certificate_encrypts(tmp_path: Path) -> None:
    """Also for the commands, which are started without the library too."""
    with Program(tmp_path, {"server": _with_certificate(tmp_path)}) as program:
        program.first_page()
        assert _has_openssl(program)
        url = f"https://127.0.0.1:{program.port}"
        trusted = {"SSL_CERT_FILE": str(tmp_path / "authority.pem")}
        said = run_program("status", "--url", url, environment=trusted)
    assert (said.returncode, said.stderr) == (0, "")


def test_a_certificate_that_a_reload_brings_is_used(tmp_path: Path) -> None:
    """The next connection is encrypted, by a program that was started without the library."""
    with Program(tmp_path) as program:
        program.first_page()
        config = tmp_path / "program.toml"
        more = [f'{key} = "{name}"' for key, name in _with_certificate(tmp_path).items()]
        config.write_text(
            "\n".join(["[server]", *more, config.read_text().removeprefix("[server]")])
        )
        program.process.send_signal(signal.SIGHUP)
        wait_for(lambda: _encrypted(program.port), "a connection to be encrypted")


def test_what_is_pushed_is_encrypted(tmp_path: Path) -> None:
    """A receiver that speaks only TLS gets the values."""
    authority = Authority(tmp_path)
    with receiving(authority.sign("receiver")) as receiver:
        settings = {"endpoint": receiver.url, "ca_file": str(authority.file), "interval_secs": 1}
        with Program(tmp_path, {"otlp": settings}):
            wait_for(lambda: receiver.requests, "a push")
            assert receiver.samples()
