"""HTTP client for a running exporter: bounded in time and size, never through a proxy."""

import base64
import http.client
import json
import re
import socket
import ssl
import threading
import urllib.parse
import zlib
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import field
from types import MappingProxyType
from typing import Any

from exporter.record import dataclass
from exporter.regular_file import FileUnusable, read_regular
from exporter.reports.units import one_line

TIMEOUT_SECS = 5.0
MAX_BYTES = 32 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
GZIP_WINDOW = 31
REDIRECTS = (301, 302, 303, 307, 308)
MAX_PEM_BYTES = 1024 * 1024
CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")
LENGTH = re.compile(r"\d{1,18}", re.ASCII)


class Unreachable(Exception):
    """No exporter answers at the address; the message is one sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__(one_line(sentence))


class Silent(Unreachable):
    """Something is at the address and does not answer in time."""


@dataclass(frozen=True, slots=True)
class Response:
    """One response: status, headers and the decompressed body."""

    status: int
    content_type: str
    body: bytes
    content_length: int = 0
    was_gzipped: bool = False

    @property
    def text(self) -> str:
        """Return the body as text."""
        return self.body.decode("utf-8", "replace")

    def document(self) -> dict[str, Any]:
        """Return the body as a JSON object; raise Unreachable for any other body."""
        try:
            document = json.loads(self.body.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise Unreachable(f"the answer is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise Unreachable("the answer is not a JSON object")
        return document


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an exporter: URL without a path, and headers for each request.

    `cert_file` begins with the only accepted certificate: of any issuer, host name and time.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    cert_file: str = ""


def parse_address(text: str) -> Address:
    """Parse `HOST:PORT` or a URL, also with `user:password@`; raise Unreachable.

    Messages never repeat the login.
    """
    url = text if "://" in text else f"http://{text}"
    wrong = Unreachable(f"{text.rpartition('@')[2]} is not an http address")
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
        user, password = parts.username, parts.password or ""
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise wrong
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = host if port is None else f"{host}:{port}"
    headers = {}
    if user is not None:
        login = f"{urllib.parse.unquote(user)}:{urllib.parse.unquote(password)}"
        headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    path = parts.path.rstrip("/")
    return Address(f"{parts.scheme}://{place}{path}", headers)


def get(
    address: Address,
    path: str,
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    *,
    data: bytes | None = None,
    timeout_secs: float = TIMEOUT_SECS,
) -> Response:
    """Return the response to one request, with any status; raise Unreachable.

    A redirect is not followed: it would take the login to another address. The request runs in a
    daemon thread, since a name server may be silent, and a server may send a byte now and then for
    ever.
    """
    results: list[Response | Unreachable] = []
    sockets: list[socket.socket] = []
    silence = Silent(f"{address.url} does not answer within {timeout_secs:g} s")

    def ask() -> None:
        try:
            with closing(_connection(address, timeout_secs)) as connection:
                connection.connect()
                sockets.append(_checked(connection.sock, address))
                sent = {**address.headers, **(headers or {}), "Connection": "close"}
                place = urllib.parse.urlsplit(address.url).path + path
                connection.request(method, place, data, sent)
                with connection.getresponse() as answer:
                    results.append(_response(answer))
        except TimeoutError:
            results.append(silence)
        except (OSError, ValueError, http.client.HTTPException, Unreachable) as error:
            results.append(Unreachable(f"{address.url} {_sentence(error)}"))

    thread = threading.Thread(target=ask, name="request", daemon=True)
    thread.start()
    thread.join(timeout_secs)
    if not results:
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        raise silence
    if isinstance(results[0], Unreachable):
        raise results[0]
    return results[0]


def _sentence(error: Exception) -> str:
    """Say why there is no response, without an invalid header, which may be the login."""
    if isinstance(error, Unreachable):
        return str(error)
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return "cannot be asked: the address, login or key has a character that HTTP forbids"
    text = (isinstance(error, OSError) and error.strerror) or str(error).strip()
    return f"does not answer: {text.splitlines()[0] if text else type(error).__name__}"


def _connection(address: Address, timeout_secs: float) -> http.client.HTTPConnection:
    parts = urllib.parse.urlsplit(address.url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        return http.client.HTTPConnection(host, parts.port, timeout=timeout_secs)
    if address.cert_file:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # its certificate is compared with the file
    else:
        context = ssl.create_default_context()  # loading all certificates takes 40 ms
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # Python 3.13 alone refuses private CAs
    return http.client.HTTPSConnection(host, parts.port, timeout=timeout_secs, context=context)


def _checked(sock: socket.socket, address: Address) -> socket.socket:
    """Return the socket; raise Unreachable if its certificate is not that of `cert_file`."""
    if not address.cert_file or not isinstance(sock, ssl.SSLSocket):
        return sock
    try:
        text = read_regular(address.cert_file, MAX_PEM_BYTES).decode("ascii", "replace")
    except FileUnusable as error:
        raise Unreachable(f"cannot be asked: {address.cert_file}: {error}") from error
    found = CERTIFICATE.search(text)
    wanted = ssl.PEM_cert_to_DER_cert(found[0]) if found else b""
    if sock.getpeercert(binary_form=True) != wanted:
        raise Unreachable(f"does not have the certificate in {address.cert_file}")
    return sock


def _response(answer: http.client.HTTPResponse) -> Response:
    if answer.status in REDIRECTS:
        sentence = f"answers {answer.status}, a redirect, which is not followed"
        raise Unreachable(f"{sentence}: name the address that it leads to")
    body = _read(answer)
    length = answer.headers.get("Content-Length") or ""
    was_gzipped = answer.headers.get("Content-Encoding") == "gzip"
    return Response(
        status=answer.status,
        content_type=answer.headers.get("Content-Type") or "",
        content_length=int(length) if LENGTH.fullmatch(length) else 0,
        was_gzipped=was_gzipped,
        body=_unpacked(body) if was_gzipped and body else body,
    )


def _read(answer: http.client.HTTPResponse) -> bytes:
    """Read to the end of the body, or MAX_BYTES."""
    chunks, size = [], 0
    while size < MAX_BYTES and (chunk := answer.read1(CHUNK_BYTES)):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def _unpacked(body: bytes) -> bytes:
    try:
        return zlib.decompressobj(GZIP_WINDOW).decompress(body, MAX_BYTES)
    except zlib.error as error:
        raise Unreachable(f"the packed answer cannot be unpacked: {error}") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
