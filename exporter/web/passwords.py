"""Passwords against bcrypt hashes, at a bounded cost whoever asks and however often.

A bcrypt check takes a tenth of a second of processor time on purpose. Checks run one at a time,
away from the event loop, and a wrong password is followed by a pause of four times as long, so
that guessing costs at most a fifth of one processor. What was right or wrong before is known by
a keyed hash and costs nothing.
"""

import asyncio
import hashlib
import hmac
import importlib
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Protocol, TypeVar

from exporter.web.credentials import SecurityError

T = TypeVar("T")

MAX_WAITING = 8
MAX_KNOWN_WRONG = 1024
PAUSE_FACTOR = 4
BCRYPT_BYTES = 72


class TooBusy(Exception):  # noqa: N818 - a condition of the moment, not an error
    """Too many passwords wait to be checked."""


class CallBlocking(Protocol):
    """How a function that takes long is called: elsewhere, never on the event loop."""

    def __call__(self, function: Callable[[], T]) -> Awaitable[T]:
        """The function's result."""
        ...


class Passwords:
    """Knows whether a password belongs to a user."""

    def __init__(
        self,
        users: Mapping[str, str],
        call: CallBlocking,
        find_module: Callable[[str], ModuleType] = importlib.import_module,
    ) -> None:
        """Take users and their hashes; raises SecurityError where bcrypt is not installed."""
        try:
            self._bcrypt = find_module("bcrypt")
        except ImportError as error:
            raise SecurityError(
                "server.auth.basic_users: needs the package bcrypt; "
                "install it with: pip install 'hw-exporter[auth]'"
            ) from error
        self._users = users
        self._call = call
        self._key = secrets.token_bytes(32)
        self._right: dict[str, bytes] = {}
        self._wrong: OrderedDict[bytes, None] = OrderedDict()
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._rest_until = 0.0
        self.checks = 0

    async def fit(self, user: str, password: str) -> bool:
        """Whether the password is the user's; raises TooBusy."""
        digest = self._digest(user, password)
        known = self._known(user, digest)
        if known is not None:
            return known
        if self._waiting >= MAX_WAITING:
            raise TooBusy
        self._waiting += 1
        try:
            async with self._turn:
                known = self._known(user, digest)
                return await self._check(user, password, digest) if known is None else known
        finally:
            self._waiting -= 1

    def _known(self, user: str, digest: bytes) -> bool | None:
        if hmac.compare_digest(self._right.get(user, b""), digest):
            return True
        return False if digest in self._wrong else None

    async def _check(self, user: str, password: str, digest: bytes) -> bool:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(max(0.0, self._rest_until - clock()))
        began = clock()
        # An unknown user takes as long as a known one: names cannot be found out by the clock.
        stored = self._users.get(user) or next(iter(self._users.values()))
        self.checks += 1
        fits = await self._call(lambda: self._matches(password, stored)) and user in self._users
        if fits:
            self._right[user] = digest
            return True
        self._rest_until = clock() + PAUSE_FACTOR * (clock() - began)
        self._remember_wrong(digest)
        return False

    def _remember_wrong(self, digest: bytes) -> None:
        self._wrong[digest] = None
        if len(self._wrong) > MAX_KNOWN_WRONG:
            self._wrong.popitem(last=False)

    def _matches(self, password: str, stored: str) -> bool:
        # bcrypt itself reads 72 bytes and no more; tools that make hashes cut longer ones.
        given = password.encode("utf-8", "surrogateescape")[:BCRYPT_BYTES]
        try:
            return bool(self._bcrypt.checkpw(given, stored.encode()))
        except ValueError:
            return False  # a password with a NUL

    def _digest(self, user: str, password: str) -> bytes:
        said = f"{len(user)}:{user}{password}".encode("utf-8", "surrogateescape")
        return hmac.new(self._key, said, hashlib.sha256).digest()
