"""Sends requests to other programs: bounded in time and size, with files of secrets and CAs."""

import asyncio
import ssl
from abc import ABC, abstractmethod
from http import HTTPStatus

import aiohttp

from exporter.blocking import NO_THREAD, is_thread_limit
from exporter.openssl import bring_back
from exporter.record import dataclass
from exporter.regular_file import FileUnusable, read_text

bring_back()

MAX_ANSWER_BYTES = 8 * 1024 * 1024
MAX_FILE_BYTES = 1024 * 1024
LONGEST_PAUSE_SECS = 300.0
LONGEST_WISH_SECS, LONGEST_WISH_DIGITS = 3600.0, 9
"""So long a receiver may ask to be left alone."""


class RequestFailed(Exception):
    """A request could not be sent, or was refused; the message is one sentence."""


class Repeated(ABC):
    """Takes a step at each interval for ever; less often after failures, which steps count."""

    def __init__(self, interval_secs: float) -> None:
        self._interval_secs = interval_secs
        self._failures = 0
        self._complaint = ""
        self._wished_secs = 0.0  # the pause that the last reply asked for

    async def run(self) -> None:
        """Take steps for ever."""
        while True:
            await asyncio.sleep(self.pause_secs())
            await self.step()

    @abstractmethod
    async def step(self) -> None:
        """Send the current values once, and count a failure."""

    def pause_secs(self) -> float:
        """Return the seconds until the next step."""
        doubled = self._interval_secs * 2.0 ** min(self._failures, 16)
        return max(self._wished_secs, min(doubled, max(LONGEST_PAUSE_SECS, self._interval_secs)))


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `trust` is what a server's certificate is checked with, True the system's CAs."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    trust: ssl.SSLContext | bool


@dataclass(frozen=True, slots=True)
class Reply:
    """A status with its words, the content, and the pause in seconds that it asks for."""

    status: int
    reason: str
    body: bytes
    retry_after_secs: float = 0.0

    @property
    def is_ok(self) -> bool:
        """Whether the status is 200, or another that says yes, as 202 and 204."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


async def send(request: Request, who: str, secs: float) -> Reply:
    """Return the reply of one request, without redirects; raise RequestFailed, naming `who`."""
    try:
        async with (
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=secs),
                connector=aiohttp.TCPConnector(ssl=request.trust, force_close=True),
            ) as session,
            session.request(
                request.method,
                request.url,
                data=request.body,
                headers=request.headers,
                allow_redirects=False,
            ) as answer,
        ):
            body = b""
            async for part in answer.content.iter_chunked(64 * 1024):
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    raise RequestFailed(f"{who} answered with too much")
            wished_secs = _seconds_in(answer.headers.get("Retry-After", ""))
            return Reply(answer.status, answer.reason or "", body, wished_secs)
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
        raise RequestFailed(f"{who} cannot be asked: {type(error).__name__}") from error
    except RuntimeError as error:  # names are resolved in threads
        if not is_thread_limit(error):
            raise
        raise RequestFailed(f"{who} cannot be asked: {NO_THREAD}") from error


def _seconds_in(word: str) -> float:
    """Return the seconds of a Retry-After, at most an hour; 0 for a date, or without one."""
    is_number = word.isascii() and word.isdigit() and len(word) <= LONGEST_WISH_DIGITS
    return min(float(word), LONGEST_WISH_SECS) if is_number else 0.0


def content(key: str, name: str) -> str:
    """Return the text of the file that a key of the configuration names; raise RequestFailed."""
    try:
        return read_text(name, MAX_FILE_BYTES)
    except FileUnusable as error:
        raise RequestFailed(f"{key}: {name}: {error}") from error


def trust_in(key: str, name: str) -> ssl.SSLContext | bool:
    """Return a context with the CAs of this PEM file, the system's without one.

    Python 3.13 asks by default for ids of keys that CAs of clusters, as those of EKS, do not have.
    """
    if not name:
        return True
    authorities = content(key, name)
    try:
        context = ssl.create_default_context(cadata=authorities)
    except (ssl.SSLError, ValueError) as error:
        raise RequestFailed(f"{key}: no PEM certificates") from error
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
