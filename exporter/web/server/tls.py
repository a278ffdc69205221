"""Builds the TLS context of the configuration; makes the handshake of each connection."""

import asyncio
import os
import ssl
import sys
from asyncio import sslproto
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from exporter.config.server import TlsConfig
from exporter.openssl import bring_back
from exporter.web.server.credentials import SecurityError

bring_back()

SHUTDOWN_SECS = 1.0
REFUSED = ("_TOO_SMALL", "_TOO_WEAK")
"""Ends of OpenSSL's reasons for a certificate that is one, below the security level."""

HIGH_WATER, LOW_WATER = 64 * 1024, 16 * 1024
"""Sending stops above the first number of unread encrypted bytes, and resumes at the second."""


def load_context(tls: TlsConfig, files: Mapping[str, bytes]) -> ssl.SSLContext:
    """Return the TLS context of these files by key.

    A client certificate is requested if `client_ca_file` is set, and verified if the client sends
    one; whether one is required is decided for each request, since probes have none. Raise
    SecurityError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    _load_own_certificate(context, tls, files)
    if tls.client_ca_file:
        _load_authorities(context, tls.client_ca_file, files["client_ca_file"])
    return context


def _load_own_certificate(
    context: ssl.SSLContext, tls: TlsConfig, files: Mapping[str, bytes]
) -> None:
    key_name = tls.key_file or tls.cert_file

    def no_password() -> str:
        # Without this, OpenSSL would wait for a password on the terminal.
        raise SecurityError(f"server.tls.key_file: {key_name}: the key is encrypted")

    try:
        with _named(files["cert_file"]) as cert, _named(files.get("key_file", b"")) as key:
            context.load_cert_chain(cert, key if tls.key_file else None, no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            sentence = f"server.tls.key_file: {key_name}: is not the key of {tls.cert_file}"
        elif error.reason and error.reason.endswith(REFUSED):
            why = error.reason.lower().replace("_", " ")
            sentence = f"server.tls.cert_file: {tls.cert_file}: OpenSSL refuses it: {why}"
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
    """Yield a path of this content for OpenSSL, which reads only files; it stays in memory."""
    with os.fdopen(os.memfd_create("pem"), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


class TlsHandshake(sslproto.SSLProtocol):
    """The TLS of one connection; `inner` gets the connection after the handshake.

    asyncio reserves 256 KiB for each connection, and a failed handshake leaves a reference cycle
    that only a full garbage collection finds: a thousand clients a second would cost hundreds of
    megabytes.
    """

    max_size = 16 * 1024  # the size of one TLS record
    peer = ""  # the address of the client, set by the server

    def __init__(
        self,
        context: ssl.SSLContext,
        inner: asyncio.Protocol,
        first: bytes,
        ended: Callable[["TlsHandshake"], None],
        timeout_secs: float,
    ) -> None:
        options: dict[str, Any] = {"ssl_handshake_timeout": timeout_secs}
        if sys.version_info >= (3, 11):
            options["ssl_shutdown_timeout"] = SHUTDOWN_SECS
        loop = asyncio.get_running_loop()
        nobody_waits = cast("asyncio.Future[None]", None)
        super().__init__(loop, inner, context, nobody_waits, server_side=True, **options)
        self._first = first
        self._ended = ended
        self._wire: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake with the bytes that have already arrived."""
        self._wire = cast("asyncio.Transport", transport)
        super().connection_made(transport)
        if sys.version_info >= (3, 11):  # the transport resumes with the connection below
            self._set_write_buffer_limits(HIGH_WATER + 1, LOW_WATER)
            self._wire.set_write_buffer_limits(HIGH_WATER, LOW_WATER)
        first, self._first = self._first, b""
        while first and self._wire is not None:
            first = first[self._feed(first) :]

    def _get_write_buffer_size(self) -> int:
        """Return the number of bytes, encrypted or not, that the kernel has not taken yet.

        Python 3.11 and newer leave out the buffer of the connection below; without it, clients that
        do not read would not be ended.
        """
        below = 0 if self._wire is None else self._wire.get_write_buffer_size()
        above: int = super()._get_write_buffer_size()  # type: ignore[misc]  # not in typeshed
        return above + below

    def connection_lost(self, exc: BaseException | None) -> None:
        """Drop all references at once, in any state of the handshake."""
        self._wire = None
        super().connection_lost(exc)
        self._ended(self)
        self._sslobj = None
        self._ssl_buffer = self._ssl_buffer_view = None

    def abort(self) -> None:
        """Close the connection at once."""
        if self._wire is not None:
            self._wire.abort()

    def _feed(self, data: bytes) -> int:
        """Pass bytes on as a transport would; return the number of bytes taken."""
        if sys.version_info < (3, 11):
            self.data_received(data)
            return len(data)
        buffer = self.get_buffer(len(data))
        count = min(len(buffer), len(data))
        buffer[:count] = data[:count]
        self.buffer_updated(count)
        return count
