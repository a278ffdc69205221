"""Authentication: decides for each request whether the client may read the page.

A bcrypt check takes a tenth of a second of processor time by design. Checks run one at a time, in a
thread, and a wrong password is followed by a pause of four times as long, so that guessing costs at
most a fifth of one processor. Passwords checked before are found by a keyed hash at no cost.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import importlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType

from exporter.blocking import CallBlocking
from exporter.record import dataclass
from exporter.web.server.credentials import SecurityError, Tokens

OPEN_PATHS = frozenset({"/health", "/healthz", "/ready"})
"""Paths that Kubernetes probes: requests without certificate or password, answers without data."""

REALM = 'realm="hw-exporter"'
MAX_WAITING = 8
MAX_KNOWN_WRONG = 1024
PAUSE_FACTOR = 4
BCRYPT_BYTES = 72


class AuthError(Exception):
    """A refused request: status, one sentence, and further headers."""

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers


class TooManyLogins(Exception):
    """Too many passwords wait for their check."""


@dataclass(frozen=True, slots=True)
class Client:
    """The credentials of a request."""

    path: str
    authorization: str
    has_certificate: bool  # a verified one


class PasswordVerifier:
    """Checks passwords against bcrypt hashes, at a bounded cost for any number of requests."""

    def __init__(
        self,
        users: Mapping[str, str],
        call: CallBlocking,
        find_module: Callable[[str], ModuleType] = importlib.import_module,
    ) -> None:
        """Take users and their hashes; raise SecurityError where bcrypt is not installed."""
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
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._paused_until = 0.0
        self.checks = 0

    async def verify(self, user: str, password: str) -> bool:
        """Return whether the password is that of the user; raise TooManyLogins."""
        digest = self._digest(user, password)
        known = self._known(user, digest)
        if known is not None:
            return known
        if self._waiting >= MAX_WAITING:
            raise TooManyLogins
        self._waiting += 1
        try:
            async with self._lock:
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
        await asyncio.sleep(self._paused_until - clock())
        began = clock()
        # An unknown user takes as long as a known one: response times show no names.
        stored = self._users.get(user) or next(iter(self._users.values()))
        self.checks += 1
        is_right = await self._call(lambda: self._matches(password, stored)) and user in self._users
        if is_right:
            self._right[user] = digest
            return True
        self._paused_until = clock() + PAUSE_FACTOR * (clock() - began)
        self._remember_wrong(digest)
        return False

    def _remember_wrong(self, digest: bytes) -> None:
        self._wrong[digest] = None
        if len(self._wrong) > MAX_KNOWN_WRONG:
            self._wrong.popitem(last=False)

    def _matches(self, password: str, stored: str) -> bool:
        # bcrypt reads 72 bytes only; tools that make hashes cut longer passwords.
        given = password.encode("utf-8", "surrogateescape")[:BCRYPT_BYTES]
        try:
            return bool(self._bcrypt.checkpw(given, stored.encode()))
        except ValueError:
            return False  # a password with a NUL

    def _digest(self, user: str, password: str) -> bytes:
        login = f"{len(user)}:{user}{password}".encode("utf-8", "surrogateescape")
        return hmac.new(self._key, login, hashlib.sha256).digest()


class Authenticator:
    """Admit or refuse requests; with neither users, tokens nor certificates, admit everybody."""

    def __init__(
        self,
        passwords: PasswordVerifier | None = None,
        tokens: Callable[[], Tokens] = Tokens,
        *,
        needs_certificate: bool = False,
    ) -> None:
        self._passwords = passwords
        self._tokens = tokens
        self._needs_certificate = needs_certificate

    async def authenticate(self, client: Client) -> None:
        """Return if the client may read the page; else raise AuthError."""
        if client.path in OPEN_PATHS:
            return
        if self._needs_certificate and not client.has_certificate:
            raise AuthError(403, "a client certificate is required")
        if self._passwords is None and not self._tokens().digests:
            return
        try:
            is_known = await self._is_known(client.authorization)
        except TooManyLogins:
            sentence = "too many logins at once; try again"
            raise AuthError(503, sentence, {"Retry-After": "5"}) from None
        if not is_known:
            raise AuthError(401, "log in to read this page", self._challenge())

    async def _is_known(self, authorization: str) -> bool:
        scheme, _, rest = authorization.partition(" ")
        if scheme.lower() == "bearer":
            return self._tokens().accept(rest.strip())
        if scheme.lower() == "basic" and self._passwords is not None:
            login = _login(rest.strip())
            return login is not None and await self._passwords.verify(*login)
        return False

    def _challenge(self) -> Mapping[str, str]:
        schemes = []
        if self._passwords is not None:
            schemes.append(f'Basic {REALM}, charset="UTF-8"')
        if self._tokens().digests:
            schemes.append(f"Bearer {REALM}")
        return {"WWW-Authenticate": ", ".join(schemes)}


def _login(encoded: str) -> tuple[str, str] | None:
    """Return user and password of a basic authorization; None where it is malformed."""
    try:
        text = base64.b64decode(encoded, validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon else None
