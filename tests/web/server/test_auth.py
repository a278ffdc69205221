"""Who is admitted, who is not, and what guessing costs."""

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import TypeVar

import bcrypt
import pytest

from exporter.web.server.auth import (
    MAX_WAITING,
    OPEN_PATHS,
    Authenticator,
    AuthError,
    Client,
    PasswordVerifier,
)
from exporter.web.server.credentials import SecurityError, Tokens
from tests.fakes.virtual_time import in_virtual_time

T = TypeVar("T")

TOKEN = "correct-horse-battery"


def _hash(password: bytes) -> str:
    return bcrypt.hashpw(password, bcrypt.gensalt(4)).decode()


HASH = _hash(b"secret:word")
LONG_HASH = _hash(b"x" * 72)


def _at_once(function: Callable[[], T]) -> Awaitable[T]:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    future.set_result(function())
    return future


def _passwords() -> PasswordVerifier:
    return PasswordVerifier({"prometheus": HASH, "long": LONG_HASH}, _at_once)


def _tokens() -> Tokens:
    return Tokens((hashlib.sha256(TOKEN.encode()).digest(),))


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def _status(
    authenticator: Authenticator,
    authorization: str = "",
    *,
    path: str = "/metrics",
    certificate: bool = False,
) -> int:
    try:
        await authenticator.authenticate(Client(path, authorization, certificate))
    except AuthError as error:
        return error.status
    return 200


async def test_everybody_may_read_while_nothing_is_asked_for() -> None:
    """Without users, tokens and authorities there is no login, whatever is sent."""
    assert await _status(Authenticator()) == 200
    assert await _status(Authenticator(), "Basic nonsense") == 200


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
async def test_probes_need_no_login(path: str) -> None:
    """Liveness and readiness stay open: kubelets have no password and no certificate."""
    authenticator = Authenticator(_passwords(), _tokens, needs_certificate=True)
    assert await _status(authenticator, path=path) == 200


@pytest.mark.parametrize(
    "path", ["/", "/metrics", "/node", "/none", "/health/", "//health", "/ready%2f"]
)
async def test_everything_else_needs_it(path: str) -> None:
    """No other path is open, not even one that does not exist or looks like an open one."""
    assert await _status(Authenticator(_passwords()), path=path) == 401


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (_basic("prometheus", "secret:word"), 200),
        (_basic("prometheus", "secret:word").replace("Basic", "bAsIc"), 200),
        (_basic("long", "x" * 72), 200),
        (_basic("long", "x" * 90), 200),
        (_basic("long", "x" * 71), 401),
        (_basic("prometheus", "secret"), 401),
        (_basic("prometheus", ""), 401),
        (_basic("prometheus", "secret:word\0"), 401),
        (_basic("Prometheus", "secret:word"), 401),
        (_basic("nobody", "secret:word"), 401),
        (_basic("", ""), 401),
        ("Basic " + base64.b64encode(b"prometheus").decode(), 401),
        ("Basic " + base64.b64encode(b"\xff\xfe:\xff").decode(), 401),
        ("Basic !!!!", 401),
        ("Basic", 401),
        ("", 401),
        ("Digest username=x", 401),
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN} ", 200),
        (f"Bearer {TOKEN}x", 401),
        ("Bearer", 401),
        ("Bearer \udcff", 401),
        (TOKEN, 401),
    ],
)
async def test_credentials_are_right_or_wrong(authorization: str, status: int) -> None:
    """A right password or a right token admits; nothing else does, and nothing else breaks."""
    assert await _status(Authenticator(_passwords(), _tokens), authorization) == status


async def test_a_refusal_says_how_to_log_in() -> None:
    """The answer names the schemes that are accepted, and none that is not."""
    client = Client("/metrics", "", has_certificate=False)
    with pytest.raises(AuthError) as both:
        await Authenticator(_passwords(), _tokens).authenticate(client)
    with pytest.raises(AuthError) as only:
        await Authenticator(None, _tokens).authenticate(client)
    assert both.value.headers["WWW-Authenticate"] == (
        'Basic realm="hw-exporter", charset="UTF-8", Bearer realm="hw-exporter"'
    )
    assert only.value.headers["WWW-Authenticate"] == 'Bearer realm="hw-exporter"'


async def test_a_certificate_is_needed_where_authorities_are_named() -> None:
    """Mutual TLS and a login are asked for together where both are configured."""
    authenticator = Authenticator(None, _tokens, needs_certificate=True)
    token = f"Bearer {TOKEN}"
    assert await _status(authenticator, token) == 403
    assert await _status(authenticator, token, certificate=True) == 200
    assert await _status(authenticator, certificate=True) == 401


async def test_a_password_is_of_no_use_where_none_are_configured() -> None:
    """Only tokens are: a login by name is refused like any other."""
    authenticator = Authenticator(None, _tokens)
    assert await _status(authenticator, _basic("prometheus", "secret:word")) == 401


async def test_passwords_need_their_package() -> None:
    """Where it is not installed the program says how to get it, and does not start."""

    def missing(name: str) -> ModuleType:
        raise ImportError(name)

    with pytest.raises(SecurityError, match=r"pip install 'hw-exporter\[auth\]'"):
        PasswordVerifier({"prometheus": HASH}, _at_once, missing)


@in_virtual_time
async def test_guessing_costs_a_fifth_of_a_processor() -> None:
    """A check of a tenth of a second that fails is followed by a pause of four; others wait."""
    loop = asyncio.get_running_loop()

    async def slow(function: Callable[[], T]) -> T:
        await asyncio.sleep(0.1)
        return function()

    passwords = PasswordVerifier({"prometheus": HASH}, slow)
    ended = []
    for password in ("a", "b", "secret:word", "c"):
        await passwords.verify("prometheus", password)
        ended.append(round(loop.time(), 3))
    assert ended == [0.1, 0.6, 1.1, 1.2]


async def test_what_is_known_costs_nothing() -> None:
    """A thousand requests with one right and one wrong password are two bcrypt checks."""
    passwords = _passwords()
    authenticator = Authenticator(passwords)
    for _ in range(500):
        assert await _status(authenticator, _basic("prometheus", "secret:word")) == 200
        assert await _status(authenticator, _basic("prometheus", "wrong")) == 401
    assert passwords.checks == 2


async def test_guessing_is_bounded_and_spares_who_is_known() -> None:
    """Of many guesses at once a few wait, the rest is sent away; a known client notices nothing."""
    release = asyncio.Event()
    running = 0

    async def slow(function: Callable[[], T]) -> T:
        nonlocal running
        running += 1
        assert running == 1
        await release.wait()
        running -= 1
        return function()

    passwords = PasswordVerifier({"prometheus": HASH}, slow)
    authenticator = Authenticator(passwords)
    release.set()
    good = _basic("prometheus", "secret:word")
    assert await _status(authenticator, good) == 200
    release.clear()
    guesses = [
        asyncio.ensure_future(_status(authenticator, _basic("prometheus", str(number))))
        for number in range(1000)
    ]
    await asyncio.sleep(0)
    assert await _status(authenticator, good) == 200
    release.set()
    statuses = await asyncio.gather(*guesses)
    assert statuses.count(401) == MAX_WAITING
    assert statuses.count(503) == 1000 - MAX_WAITING
    assert passwords.checks == 1 + MAX_WAITING


async def test_equal_logins_at_once_are_one_check() -> None:
    """Five clients that send one login at the same moment cost a single bcrypt check."""
    passwords = _passwords()
    assert all(
        await asyncio.gather(*(passwords.verify("prometheus", "secret:word") for _ in range(5)))
    )
    assert passwords.checks == 1


async def test_an_unknown_name_costs_as_much_as_a_known_one() -> None:
    """Names cannot be found out by the time an answer takes."""
    passwords = _passwords()
    assert not await passwords.verify("nobody", "secret:word")
    assert passwords.checks == 1


def test_wrong_passwords_are_forgotten_in_time() -> None:
    """Memory is bounded however many wrong passwords are tried."""
    passwords = _passwords()
    for number in range(1100):
        passwords._remember_wrong(str(number).encode())
    assert len(passwords._wrong) == 1024
