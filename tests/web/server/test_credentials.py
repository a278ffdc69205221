"""Users, tokens and certificates from the configuration: taken, or refused in one sentence."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from exporter.blocking import DaemonThreads
from exporter.config.server import AuthConfig, ServerConfig, TlsConfig
from exporter.web.server.credentials import SecurityError
from exporter.web.server.security import Security
from tests.fakes.certificates import Authority

TOKEN = "correct-horse-battery"
HASH = "$2b$04$I1NKqpmsyDMfajUqCshuZuC8ZbDpgPBr2Ex0B2QOrOk4r7pkKgmmW"


def _security(tls: TlsConfig | None = None, auth: AuthConfig | None = None) -> Security:
    return Security(
        ServerConfig(tls=tls or TlsConfig(), auth=auth or AuthConfig()), DaemonThreads()
    )


def _refusal(tls: TlsConfig | None = None, auth: AuthConfig | None = None) -> str:
    with pytest.raises(SecurityError) as caught:
        _security(tls, auth)
    return str(caught.value)


def test_nothing_is_asked_for_by_default() -> None:
    """Without settings the pages are plain HTTP."""
    assert _security().context() is None


@pytest.mark.parametrize(
    ("stored", "sentence"),
    [
        ("secret", "must be a bcrypt hash"),
        ("", "must be a bcrypt hash"),
        (HASH[:-1], "must be a bcrypt hash"),
        ("$1$" + HASH, "must be a bcrypt hash"),
        (HASH.replace("$04$", "$31$"), "has cost 31, but must have 4 to 15"),
    ],
)
def test_only_hashes_of_a_bearable_cost_are_taken(stored: str, sentence: str) -> None:
    """What is no bcrypt hash is refused, and the message does not repeat it."""
    said = _refusal(auth=AuthConfig(basic_users={"prometheus": stored}))
    assert said.startswith("server.auth.basic_users.prometheus: ")
    assert sentence in said
    assert not stored or stored not in said


@pytest.mark.parametrize("name", ["", "a:b"])
def test_names_that_no_client_can_send_are_refused(name: str) -> None:
    """Basic authentication separates name and password by a colon."""
    assert "a name must not" in _refusal(auth=AuthConfig(basic_users={name: HASH}))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "holds no token"),
        (b" \n\n", "holds no token"),
        (b"short", "token 1 must be 16 or more printable characters"),
        (b"correct-horse-battery\nwith a blank in the line\n", "token 2 must be"),
        (b"x" * 70_000, "is larger than 65536 bytes"),
    ],
)
def test_token_files_are_checked(tmp_path: Path, content: bytes, sentence: str) -> None:
    """A token file that cannot be meant is refused without repeating what it holds."""
    file = tmp_path / "token"
    file.write_bytes(content)
    said = _refusal(auth=AuthConfig(bearer_token_file=str(file)))
    assert said.startswith(f"server.auth.bearer_token_file: {file}: ")
    assert sentence in said
    assert "blank in" not in said


def test_certificates_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    """No certificate, another key, an encrypted key, no authorities: one sentence each."""
    authority = Authority(tmp_path)
    pair, other = authority.sign("server"), authority.sign("other")
    locked = authority.sign("locked", password=b"secret")
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("no certificate")
    cert, key = str(pair.cert), str(pair.key)
    assert "not a PEM certificate with its key" in _refusal(TlsConfig(cert_file=str(garbage)))
    assert "not a PEM certificate with its key" in _refusal(TlsConfig(cert_file=cert))
    assert f"is not the key of {cert}" in _refusal(
        TlsConfig(cert_file=cert, key_file=str(other.key))
    )
    said = _refusal(TlsConfig(cert_file=str(locked.cert), key_file=str(locked.key)))
    assert said == f"server.tls.key_file: {locked.key}: the key is encrypted"
    tls = TlsConfig(cert_file=cert, key_file=key, client_ca_file=str(garbage))
    assert _refusal(tls).endswith("no PEM certificates")


@pytest.mark.parametrize("key", ["key_file", "client_ca_file"])
def test_settings_without_effect_are_refused(key: str) -> None:
    """A key or authorities without a certificate would leave the pages open: an error."""
    assert _refusal(TlsConfig(**{key: "/x"})) == (
        f"server.tls.{key}: is of no use without server.tls.cert_file"
    )


async def test_changed_files_are_read_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A new token is accepted and the old one refused; a mistake keeps what was there."""
    caplog.set_level(logging.INFO)
    file = tmp_path / "token"
    file.write_text(TOKEN)
    security = _security(auth=AuthConfig(bearer_token_file=str(file)))
    file.write_text(f"{TOKEN}-2\n{TOKEN}-3\n")
    await security.refresh()
    assert not security.tokens().accept(TOKEN)
    assert security.tokens().accept(f"{TOKEN}-2")
    assert security.tokens().accept(f"{TOKEN}-3")
    file.unlink()
    for _ in range(3):
        await security.refresh()
    assert security.tokens().accept(f"{TOKEN}-2")
    assert [record.levelname for record in caplog.records] == ["INFO", "ERROR"]
    assert TOKEN not in caplog.text


async def test_a_renewed_certificate_is_taken(tmp_path: Path) -> None:
    """The context changes with the file, and stays while certificate and key do not match."""
    authority = Authority(tmp_path)
    pair = authority.sign("server")
    security = _security(TlsConfig(cert_file=str(pair.cert), key_file=str(pair.key)))
    first = security.context()
    await security.refresh()
    assert security.context() is first
    renewed = authority.sign("renewed")
    os.replace(renewed.cert, pair.cert)  # noqa: PTH105 - as a renewal does it
    await security.refresh()
    assert security.context() is first
    os.replace(renewed.key, pair.key)  # noqa: PTH105 - same
    await security.refresh()
    assert security.context() is not first


@pytest.mark.parametrize("with_certificate", [False, True])
async def test_files_of_replaced_settings_are_not_taken(
    tmp_path: Path,
    *,
    with_certificate: bool,
) -> None:
    """A reload of the configuration while files are read: the tokens of the new file stay."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text(TOKEN)
    new.write_text(f"{TOKEN}-2")
    pair = Authority(tmp_path).sign("server")
    tls = TlsConfig(cert_file=str(pair.cert), key_file=str(pair.key))
    other = _security(tls if with_certificate else None, AuthConfig(bearer_token_file=str(new)))

    async def read_slowly(function: Callable[[], Any]) -> Any:
        result = function()
        security.take(other)
        return result

    auth = AuthConfig(bearer_token_file=str(old))
    security = Security(ServerConfig(auth=auth), read_slowly)
    old.write_text(f"{TOKEN}-3")
    await security.refresh()
    assert security.tokens().accept(f"{TOKEN}-2")
    assert not security.tokens().accept(f"{TOKEN}-3")
    assert (security.context() is not None) == with_certificate


def test_a_key_that_is_too_short_is_named_as_such(tmp_path: Path) -> None:
    """It is a certificate with its key; OpenSSL says why it takes it no more."""
    key = rsa.generate_private_key(65537, 1024)  # noqa: S505 - the mistake
    pair = Authority(tmp_path).sign("server", key=key)
    said = _refusal(TlsConfig(cert_file=str(pair.cert), key_file=str(pair.key)))
    assert said.endswith(f"{pair.cert}: OpenSSL refuses it: ee key too small")
