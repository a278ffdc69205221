"""Decides about each request whether its sender may read the page."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from exporter.web.credentials import Tokens
from exporter.web.passwords import Passwords, TooBusy

OPEN_PATHS = frozenset({"/health", "/healthz", "/ready"})
"""What probes of Kubernetes ask: they have no certificate and no password, and learn nothing."""

REALM = 'realm="hw-exporter"'


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered: the status, one sentence, and further headers."""

    status: int
    sentence: str
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Visitor:
    """What is known of the sender of a request."""

    path: str
    authorization: str
    has_certificate: bool  # one that was verified


class Gatekeeper:
    """Admits or refuses; with neither users nor tokens, everybody is admitted."""

    def __init__(
        self,
        passwords: Passwords | None = None,
        tokens: Callable[[], Tokens] = Tokens,
        *,
        needs_certificate: bool = False,
    ) -> None:
        self._passwords = passwords
        self._tokens = tokens
        self._needs_certificate = needs_certificate

    async def refusal(self, visitor: Visitor) -> Refusal | None:
        """Why the visitor may not read the page; None when he may."""
        if visitor.path in OPEN_PATHS:
            return None
        if self._needs_certificate and not visitor.has_certificate:
            return Refusal(403, "a client certificate is needed")
        if self._passwords is None and not self._tokens().digests:
            return None
        try:
            is_known = await self._is_known(visitor.authorization)
        except TooBusy:
            return Refusal(503, "too many logins at once; try again", {"Retry-After": "5"})
        return None if is_known else Refusal(401, "log in to read this page", self._challenge())

    async def _is_known(self, authorization: str) -> bool:
        scheme, _, rest = authorization.partition(" ")
        if scheme.lower() == "bearer":
            return self._tokens().accept(rest.strip())
        if scheme.lower() == "basic" and self._passwords is not None:
            login = _login(rest.strip())
            return login is not None and await self._passwords.fit(*login)
        return False

    def _challenge(self) -> Mapping[str, str]:
        schemes = []
        if self._passwords is not None:
            schemes.append(f'Basic {REALM}, charset="UTF-8"')
        if self._tokens().digests:
            schemes.append(f"Bearer {REALM}")
        return {"WWW-Authenticate": ", ".join(schemes)}


def _login(encoded: str) -> tuple[str, str] | None:
    """User and password of a basic authorization; None where it is malformed."""
    try:
        text = base64.b64decode(encoded, validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon else None
