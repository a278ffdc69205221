"""Secrets: in no page, no error and no log line, whatever is asked for and however."""

import base64
import time
from pathlib import Path

import bcrypt
import pytest

from tests.program import Program, exchange

PASSWORD, TOKEN, VARIABLE = (
    "open-sesame-4711",
    "token-of-the-scraper-4712",
    "in-the-environment-4713",
)
PATHS = (
    *(
        "/",
        "/metrics",
        "/metrics/json",
        "/node",
        "/faults",
        "/processes",
        "/why",
        "/health",
        "/recording",
    ),
    *("/ready", "/none", "/why?pid=1", "/../etc/passwd", "/%2e%2e/token", "//metrics"),
)
OPEN = ("/health", "/healthz", "/ready")


@pytest.fixture(scope="module")
def hashed() -> str:
    """The bcrypt hash of the password."""
    return bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(10)).decode()


def _basic(password: str, user: str = "prometheus") -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_no_secret_is_said(tmp_path: Path, hashed: str) -> None:
    """Neither with nor without a login does any answer or log line hold a secret."""
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN)
    environment = {
        "APP__SERVER__AUTH__BASIC_USERS__PROMETHEUS": hashed,
        "APP__SERVER__AUTH__BEARER_TOKEN_FILE": str(token_file),
        "AWS_SECRET_ACCESS_KEY": VARIABLE,
        "LOG_LEVEL": "debug",
    }
    said = []
    with Program(tmp_path / "program", environment=environment) as program:
        logins = ("", _basic(PASSWORD), _basic("wrong"), f"Bearer {TOKEN}", f"Bearer {TOKEN}x")
        for login in logins:
            for path in PATHS:
                answer = program.get(path, **({"Authorization": login} if login else {}))
                assert answer.status < 500 or answer.status == 503, "503: nothing collected yet"
                is_known = login in (_basic(PASSWORD), f"Bearer {TOKEN}")
                if not is_known and path not in OPEN:
                    assert answer.status == 401
                said.append(answer.text + str(answer.headers))
        said.append(
            exchange(program.port, f"GET /{TOKEN} HTTP/1.1\r\nX: {PASSWORD}".encode()).decode()
        )
        program.stop()
        said.append(program.log_file.read_text())
    for secret in (PASSWORD, TOKEN, VARIABLE, hashed):
        assert not [text for text in said if secret in text]


def test_a_flood_of_wrong_passwords_is_bounded(tmp_path: Path, hashed: str) -> None:
    """Three hundred wrong passwords: neither health nor a known client is slowed."""
    environment = {"APP__SERVER__AUTH__BASIC_USERS__PROMETHEUS": hashed}
    with Program(tmp_path, environment=environment) as program:
        good = {"Authorization": _basic(PASSWORD)}
        assert program.get("/node", **good).status in (200, 503)
        statuses = []
        began = time.monotonic()
        for number in range(330):
            statuses.append(program.get("/node", Authorization=_basic("same wrong one")).status)
            assert program.get("/health").status == 200
            assert program.get("/node", **good).status in (200, 503), number
        assert time.monotonic() - began < 10
        assert set(statuses) == {401}
