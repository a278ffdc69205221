"""Users and tokens as the configuration names them: read, checked, or refused in a sentence."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MAX_TOKEN_FILE_BYTES = 64 * 1024
LEAST_TOKEN_CHARS = 16
COSTS = range(4, 16)
_HASH = re.compile(r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}")
_TOKEN = re.compile(r"[!-~]+")


class SecurityError(Exception):
    """What the server needs for its security cannot be used; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The bearer tokens that are accepted, as SHA-256 digests."""

    digests: tuple[bytes, ...] = ()

    def accept(self, token: str) -> bool:
        """Whether this is one of the tokens; takes the same time whichever it is."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        same = [hmac.compare_digest(digest, known) for known in self.digests]
        return any(same)


def read_tokens(name: str) -> Tokens:
    """The tokens of the file, one on each line; none when no file is named.

    Raises SecurityError, which never repeats what is in the file.
    """
    if not name:
        return Tokens()
    where = f"server.auth.bearer_token_file: {name}"
    lines = [line.strip() for line in _text_of(name, where).splitlines()]
    tokens = [line for line in lines if line]
    if not tokens:
        raise SecurityError(f"{where}: holds no token")
    for number, token in enumerate(tokens, start=1):
        if len(token) < LEAST_TOKEN_CHARS or not _TOKEN.fullmatch(token):
            rule = f"{LEAST_TOKEN_CHARS} or more printable characters without blanks"
            raise SecurityError(f"{where}: token {number} must be {rule}")
    return Tokens(tuple(hashlib.sha256(token.encode()).digest() for token in tokens))


def _text_of(name: str, where: str) -> str:
    try:
        with Path(name).open("rb") as file:
            content = file.read(MAX_TOKEN_FILE_BYTES + 1)
    except OSError as error:
        raise SecurityError(f"{where}: cannot be read: {error.strerror}") from error
    if len(content) > MAX_TOKEN_FILE_BYTES:
        raise SecurityError(f"{where}: is larger than {MAX_TOKEN_FILE_BYTES} bytes")
    return content.decode("utf-8", "replace")


def usable_users(users: Mapping[str, str]) -> Mapping[str, str]:
    """The users with their bcrypt hashes, each checked; raises SecurityError."""
    for name, stored in users.items():
        where = f"server.auth.basic_users.{name}"
        if not name or ":" in name:
            raise SecurityError(f"{where}: a name must not be empty and must not hold a colon")
        match = _HASH.fullmatch(stored)
        if match is None:
            raise SecurityError(f"{where}: must be a bcrypt hash, $2b$COST$…, not a password")
        if int(match[1]) not in COSTS:
            allowed = f"{COSTS.start} to {COSTS.stop - 1}"
            raise SecurityError(f"{where}: has cost {int(match[1])}, but must have {allowed}")
    return users
