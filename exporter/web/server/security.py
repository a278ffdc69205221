"""TLS and authentication: certificates, passwords and tokens from their files.

The files are read every few seconds, so that certificates and tokens can be rotated without a
restart; while a file is unusable, the last contents stay in force.
"""

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from exporter.blocking import CallBlocking
from exporter.config.server import ServerConfig, TlsConfig
from exporter.regular_file import FileUnusable, read_regular
from exporter.web.server.auth import Authenticator, PasswordVerifier
from exporter.web.server.credentials import SecurityError, Tokens, parse_tokens, usable_users

if TYPE_CHECKING:
    import ssl

RELOAD_SECS = 5.0
TOKENS_KEY = "bearer_token_file"
MAX_BYTES = {TOKENS_KEY: 64 * 1024}
MAX_PEM_BYTES = 1024 * 1024

log = logging.getLogger("exporter")


class Security:
    """The certificates, users and tokens of `[server.tls]` and `[server.auth]`, as last read."""

    def __init__(self, server: ServerConfig, call: CallBlocking) -> None:
        """Read every file; raise SecurityError."""
        self._server = server
        self._call = call
        tls = server.tls
        _require_certificate(tls)
        files = {
            "cert_file": tls.cert_file,
            "key_file": tls.key_file,
            "client_ca_file": tls.client_ca_file,
            TOKENS_KEY: server.auth.bearer_token_file,
        }
        self._names = {key: name for key, name in files.items() if name}
        users = usable_users(server.auth.basic_users)
        self._passwords = PasswordVerifier(users, call) if users else None
        self._error = ""
        contents = _read(self._names)
        self._digest = _digest(contents)
        self._context, self._tokens = _load(server, self._names, contents)

    def context(self) -> "ssl.SSLContext | None":
        """Return the TLS context of new connections; None for plain HTTP."""
        return self._context

    def tokens(self) -> Tokens:
        """Return the bearer tokens that are accepted now."""
        return self._tokens

    def last_reload_successful(self) -> bool | None:
        """Return whether the last read of the files succeeded; None without files."""
        return not self._error if self._names else None

    def authenticator(self) -> Authenticator:
        """Return the authenticator of all requests."""
        return Authenticator(
            self._passwords,
            self.tokens,
            needs_certificate=bool(self._server.tls.client_ca_file),
        )

    async def watch(self) -> None:
        """Read the files every few seconds, for ever."""
        while True:
            await asyncio.sleep(RELOAD_SECS)
            if self._names:
                await self.refresh()

    def take(self, other: "Security") -> None:
        """Replace all settings and loaded files by those of `other`."""
        vars(self).update(vars(other))

    async def refresh(self) -> None:
        """Read the files and apply changes; a mistake is logged once."""
        server, names, known, changed = self._server, self._names, self._digest, None
        try:
            contents = await self._call(lambda: _read(names))
            digest = _digest(contents)
            if digest != known:
                changed = await self._call(lambda: _load(server, names, contents))
        except SecurityError as error:
            if self._names is names:
                self._complain(str(error))
            return
        if self._names is not names:
            return  # `take` was faster: these are files of the settings before
        if changed is not None:
            self._context, self._tokens = changed
        if changed is not None or self._error:
            log.info("certificates and tokens were reloaded")
        self._digest, self._error = digest, ""

    def _complain(self, sentence: str) -> None:
        """Log a new mistake, and keep it."""
        if sentence != self._error:
            log.error("%s; the previous ones stay in use", sentence)
        self._error = sentence


def _read(names: Mapping[str, str]) -> dict[str, bytes]:
    """Return the contents of the files, by key; raise SecurityError."""
    contents = {}
    for key, name in names.items():
        section = "auth" if key == TOKENS_KEY else "tls"
        try:
            contents[key] = read_regular(name, MAX_BYTES.get(key, MAX_PEM_BYTES))
        except FileUnusable as error:
            raise SecurityError(f"server.{section}.{key}: {name}: {error}") from error
    return contents


def _load(
    server: ServerConfig, names: Mapping[str, str], contents: Mapping[str, bytes]
) -> "tuple[ssl.SSLContext | None, Tokens]":
    tokens = Tokens()
    if TOKENS_KEY in contents:
        tokens = parse_tokens(
            contents[TOKENS_KEY], f"server.auth.{TOKENS_KEY}: {names[TOKENS_KEY]}"
        )
    if not server.tls.cert_file:
        return None, tokens
    from exporter.web.server.tls import load_context  # noqa: PLC0415 - with OpenSSL, 4 MiB

    return load_context(server.tls, contents), tokens


def _require_certificate(tls: TlsConfig) -> None:
    """Raise SecurityError if a key or authorities are configured without a certificate."""
    for key in ("key_file", "client_ca_file"):
        if getattr(tls, key) and not tls.cert_file:
            raise SecurityError(f"server.tls.{key}: is of no use without server.tls.cert_file")


def _digest(contents: Mapping[str, bytes]) -> list[bytes]:
    return [hashlib.sha256(content).digest() for content in contents.values()]
