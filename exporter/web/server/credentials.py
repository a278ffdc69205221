"""Parses and checks configured users and tokens."""

import hashlib
import hmac
import re
from collections.abc import Mapping

from exporter.record import dataclass

LEAST_TOKEN_CHARS = 16
COSTS = range(4, 16)
_HASH = re.compile(r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}")
_TOKEN = re.compile(r"[!-~]+")


class SecurityError(ValueError):
    """Unusable certificates, users or tokens; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The bearer tokens that are accepted, as SHA-256 digests."""

    digests: tuple[bytes, ...] = ()

    def accept(self, token: str) -> bool:
        """Return whether the token is accepted; takes the same time for every token."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        same = [hmac.compare_digest(digest, known) for known in self.digests]
        return any(same)


def parse_tokens(content: bytes, where: str) -> Tokens:
    """Return the tokens of a file, one on each line.

    Raise SecurityError, whose message begins with `where` and never has contents of the file.
    """
    lines = [line.strip() for line in content.decode("utf-8", "replace").split("\n")]
    tokens = [line for line in lines if line]
    if not tokens:
        raise SecurityError(f"{where}: holds no token")
    for number, token in enumerate(tokens, start=1):
        if len(token) < LEAST_TOKEN_CHARS or not _TOKEN.fullmatch(token):
            rule = f"{LEAST_TOKEN_CHARS} or more printable characters without blanks"
            raise SecurityError(f"{where}: token {number} must be {rule}")
    return Tokens(tuple(hashlib.sha256(token.encode()).digest() for token in tokens))


def usable_users(users: Mapping[str, str]) -> Mapping[str, str]:
    """Return the users with their bcrypt hashes, each checked; raise SecurityError."""
    for name, stored in users.items():
        where = f"server.auth.basic_users.{name}"
        if not name or ":" in name:
            raise SecurityError(f"{where}: a name must not be empty or contain a colon")
        match = _HASH.fullmatch(stored)
        if match is None:
            raise SecurityError(f"{where}: must be a bcrypt hash, $2b$COST$…, not a password")
        if int(match[1]) not in COSTS:
            allowed = f"{COSTS.start} to {COSTS.stop - 1}"
            raise SecurityError(f"{where}: has cost {int(match[1])}, but must have {allowed}")
    return users
