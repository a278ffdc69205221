"""Who may speak to the server and how: certificates, passwords and tokens from their files.

The files are read again when they change, so that certificates and tokens can be rotated without
a restart; while a changed file is unusable, what was read before stays in force.
"""

import asyncio
import logging
import os
import ssl

from exporter.config import Server
from exporter.web.auth import Authenticator, CallBlocking, PasswordVerifier
from exporter.web.credentials import SecurityError, Tokens, read_tokens, usable_users
from exporter.web.tls import load_context

LOOK_SECS = 5.0

log = logging.getLogger("exporter")

Stamp = tuple[tuple[int, int, int] | None, ...]


class Security:
    """What `[server.tls]` and `[server.auth]` ask for, always as the files last said it."""

    def __init__(self, server: Server, call: CallBlocking) -> None:
        """Read every file; raises SecurityError."""
        self._server = server
        self._call = call
        files = (
            server.tls.cert_file,
            server.tls.key_file,
            server.tls.client_ca_file,
            server.auth.bearer_token_file,
        )
        self._files = tuple(name for name in files if name)
        self._stamp = self._look()
        users = usable_users(server.auth.basic_users)
        self._passwords = PasswordVerifier(users, call) if users else None
        self._context, self._tokens = self._read()

    def context(self) -> ssl.SSLContext | None:
        """What new connections are encrypted with; None for plain HTTP."""
        return self._context

    def tokens(self) -> Tokens:
        """The bearer tokens that are accepted now."""
        return self._tokens

    def authenticator(self) -> Authenticator:
        """Return what decides about each request."""
        return Authenticator(
            self._passwords,
            self.tokens,
            needs_certificate=bool(self._server.tls.client_ca_file),
        )

    async def watch(self) -> None:
        """Look at the files every few seconds, for ever."""
        while self._files:
            await asyncio.sleep(LOOK_SECS)
            await self.refresh()

    async def refresh(self) -> None:
        """Read the files again if one of them has changed; a mistake is logged once."""
        stamp = await self._call(self._look)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._context, self._tokens = await self._call(self._read)
        except SecurityError as error:
            log.error("%s; what was read before stays in force", error)  # noqa: TRY400 - one sentence says it
        else:
            log.info("certificates and tokens were read again")

    def _read(self) -> tuple[ssl.SSLContext | None, Tokens]:
        return load_context(self._server.tls), read_tokens(self._server.auth.bearer_token_file)

    def _look(self) -> Stamp:
        return tuple(_stamp_of(name) for name in self._files)


def _stamp_of(name: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(name)  # noqa: PTH116 - follows the link that a mounted secret is
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
