"""TLS as the configuration asks for it, and the handshake of each encrypted connection."""

import asyncio
import os
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from exporter.config import Tls
from exporter.web.credentials import SecurityError


def require_certificate(tls: Tls) -> None:
    """Raise SecurityError where a key or authorities are named, but no certificate."""
    for key in ("key_file", "client_ca_file"):
        if getattr(tls, key) and not tls.cert_file:
            raise SecurityError(f"server.tls.{key}: is of no use without server.tls.cert_file")


def load_context(tls: Tls, files: Mapping[str, bytes]) -> ssl.SSLContext | None:
    """Return the TLS context of these files by key; None when no certificate is named.

    A client certificate is asked for where `client_ca_file` is named, and checked if it is
    given; whether one is needed is decided for each request, since probes have none.
    Raise SecurityError.
    """
    if not tls.cert_file:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    _load_own_certificate(context, tls, files)
    if tls.client_ca_file:
        _load_authorities(context, tls.client_ca_file, files["client_ca_file"])
    return context


def _load_own_certificate(context: ssl.SSLContext, tls: Tls, files: Mapping[str, bytes]) -> None:
    key_name = tls.key_file or tls.cert_file

    def no_password() -> str:
        # Without this, OpenSSL would ask for a password on the terminal and wait.
        raise SecurityError(f"server.tls.key_file: {key_name}: the key is encrypted")

    try:
        with _named(files["cert_file"]) as cert, _named(files.get("key_file", b"")) as key:
            context.load_cert_chain(cert, key if tls.key_file else None, no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            sentence = f"server.tls.key_file: {key_name}: is not the key of {tls.cert_file}"
        else:
            named = " and ".join(dict.fromkeys((tls.cert_file, key_name)))
            sentence = f"server.tls.cert_file: {named}: not a PEM certificate with its key"
        raise SecurityError(sentence) from error


def _load_authorities(context: ssl.SSLContext, name: str, content: bytes) -> None:
    try:
        with _named(content) as file:
            context.load_verify_locations(file)
    except ssl.SSLError as error:
        raise SecurityError(f"server.tls.client_ca_file: {name}: no PEM certificates") from error
    context.verify_mode = ssl.CERT_OPTIONAL


@contextmanager
def _named(content: bytes) -> Iterator[str]:
    """Give this content a name for OpenSSL, which only reads files; it stays in memory."""
    with os.fdopen(os.memfd_create("pem"), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


class TlsHandshake(asyncio.Protocol):
    """Do the TLS handshake of a new connection, then hand the connection to `inner`.

    It counts as a connection from its first byte on, and ends after `timeout_secs`.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        inner: asyncio.Protocol,
        ended: Callable[["TlsHandshake", bool], None],
        timeout_secs: float,
    ) -> None:
        self._context = context
        self._inner = inner
        self._ended = ended
        self._timeout_secs = timeout_secs
        self._early = bytearray()
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        if isinstance(transport, asyncio.Transport):
            self._task = asyncio.get_running_loop().create_task(self._shake_hands(transport))

    def data_received(self, data: bytes) -> None:
        """Keep what a quick client sends together with the last message of the handshake."""
        self._early += data

    async def _shake_hands(self, transport: asyncio.Transport) -> None:
        options: dict[str, Any] = {"ssl_handshake_timeout": self._timeout_secs}
        if sys.version_info >= (3, 11):
            options["ssl_shutdown_timeout"] = self._timeout_secs
        is_done = False
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                transport, self, self._context, server_side=True, **options
            )
            is_done = encrypted is not None
        except OSError:
            transport.abort()  # counted by whoever is told that it ended
            return
        finally:
            self._ended(self, is_done)
        if encrypted is not None:
            encrypted.set_protocol(self._inner)
            self._inner.connection_made(encrypted)
            if self._early:
                self._inner.data_received(bytes(self._early))
