"""Asks a running exporter over HTTP: bounded in time and size, and never through a proxy."""

import gzip
import json
import urllib.error
import urllib.request
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import IO, Any

TIMEOUT_SECS = 5.0
MAX_BYTES = 32 * 1024 * 1024


class NoAnswer(Exception):  # noqa: N818 - reads as what it is
    """There is no exporter at the address, or it does not answer; one sentence."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: status, headers and the body as it was before packing."""

    status: int
    content_type: str
    content_length: int
    was_gzipped: bool
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def document(self) -> dict[str, Any]:
        """The body as a JSON object; raises NoAnswer when it is none."""
        try:
            document = json.loads(self.body, parse_constant=_refuse)
        except ValueError as error:
            raise NoAnswer(f"the answer is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise NoAnswer("the answer is not a JSON object")
        return document


def ask(url: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Answer:
    """The answer to one request, whatever its status; raises NoAnswer."""
    if not url.startswith(("http://", "https://")):
        raise NoAnswer(f"{url} is not an http address")
    request = urllib.request.Request(url, headers=dict(headers or {}), method=method)  # noqa: S310 - checked above
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=TIMEOUT_SECS) as response:
            return _answer(response.status, response.headers, response)
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error.code, error.headers, error)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise NoAnswer(f"{url} does not answer: {reason}") from error


def _answer(status: int, headers: Message, stream: IO[bytes]) -> Answer:
    body = stream.read(MAX_BYTES)
    was_gzipped = headers.get("Content-Encoding") == "gzip"
    if was_gzipped and body:
        try:
            body = gzip.decompress(body)
        except (OSError, EOFError, zlib.error) as error:
            raise NoAnswer(f"the packed answer cannot be unpacked: {error}") from error
    length = headers.get("Content-Length") or "0"
    return Answer(
        status=status,
        content_type=headers.get("Content-Type") or "",
        content_length=int(length) if length.isdigit() else 0,
        was_gzipped=was_gzipped,
        body=body,
    )


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
