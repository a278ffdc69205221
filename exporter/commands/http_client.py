"""HTTP client for a running exporter: bounded in time and size, and never through a proxy."""

import base64
import http.client
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from types import MappingProxyType
from typing import IO, Any

TIMEOUT_SECS = 5.0
MAX_BYTES = 32 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
GZIP_WINDOW = 31


class Unreachable(Exception):
    """There is no exporter at the address, or it does not answer; one sentence."""


@dataclass(frozen=True, slots=True)
class Response:
    """One answer: status, headers and the body as it was before packing."""

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
        """Return the body as a JSON object; raise Unreachable when it is none."""
        try:
            document = json.loads(self.body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise Unreachable(f"the answer is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise Unreachable("the answer is not a JSON object")
        return document


@dataclass(frozen=True, slots=True)
class Address:
    """Where an exporter is: the URL without a path at its end, and what to send with a request.

    `ca_file` names the only certificate that is believed, whatever host name it is for.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    ca_file: str = ""


def parse_address(text: str) -> Address:
    """Read `HOST:PORT` or a URL, also with `user:password@`; raise Unreachable."""
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
        user, password = parts.username, parts.password or ""
    except ValueError as error:
        raise Unreachable(f"{text} is not an http address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unreachable(f"{text} is not an http address")
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
    """Return the answer to one request, whatever its status; raise Unreachable."""
    url = address.url + path
    sent = {**address.headers, **(headers or {})}
    deadline = time.monotonic() + timeout_secs
    try:
        request = urllib.request.Request(url, data, headers=sent, method=method)  # noqa: S310 - parse_address lets only http through
        opener = urllib.request.build_opener(*_handlers(address))
        with opener.open(request, timeout=timeout_secs) as response:
            return _response(response.status, response.headers, response, deadline)
    except urllib.error.HTTPError as error:
        with error:
            return _response(error.code, error.headers, error, deadline)
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise Unreachable(f"{address.url} does not answer: {_sentence(reason)}") from error


def _sentence(reason: object) -> str:
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return text.splitlines()[0] if text else type(reason).__name__


def _handlers(address: Address) -> Iterator[urllib.request.BaseHandler]:
    yield urllib.request.ProxyHandler({})
    if address.url.startswith("https:"):  # to load all certificates takes 40 ms
        context = ssl.create_default_context(cafile=address.ca_file or None)
        context.check_hostname = not address.ca_file
        yield urllib.request.HTTPSHandler(context=context)


def _response(status: int, headers: Message, stream: IO[bytes], deadline: float) -> Response:
    body = _read(stream, deadline)
    was_gzipped = headers.get("Content-Encoding") == "gzip"
    length = headers.get("Content-Length") or "0"
    return Response(
        status=status,
        content_type=headers.get("Content-Type") or "",
        content_length=int(length) if length.isdigit() else 0,
        was_gzipped=was_gzipped,
        body=_unpacked(body) if was_gzipped and body else body,
    )


def _read(stream: IO[bytes], deadline: float) -> bytes:
    """Read to the end, which comes within the limits of size and time."""
    read_some = getattr(stream, "read1", stream.read)
    chunks, size = [], 0
    while size < MAX_BYTES:
        if time.monotonic() > deadline:
            raise TimeoutError("the answer does not end")
        chunk = read_some(CHUNK_BYTES)
        if not chunk:
            break
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
