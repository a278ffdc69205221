"""Commands that ask a server: no secret, no screen and no minute is lost to one that means ill."""

import argparse
import json
import random
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from exporter.commands.arguments import build_parser
from exporter.commands.http_client import Address, Unreachable, get, parse_address
from tests.commands.hostile_server import (
    DRIPPING,
    OBEYED,
    TRICK,
    Script,
    answer,
    hostile,
    says,
)
from tests.commands.running import NO_EXPORTER, QUIET, ROOT, on_terminal, run
from tests.fakes.certificates import Authority
from tests.program import Program, wait_for

pytestmark = pytest.mark.system

SECRET = "hush-4711"
SECRETS = {"OPENAI_API_KEY": SECRET}
PAGES = ("/status", "/processes", "/faults", "/why", "/doctor", "/metrics")
HOSTILE_VALUES = (
    *("null", "true", "-1", "0.5", "1" * 400, "1e308", "1e999", '""', "[]", "{}", "[[[{}]]]"),
    *(json.dumps(TRICK), json.dumps({TRICK: TRICK}), '"\\ud800"', "[" * 400 + "]" * 400),
)
"""As JSON."""

MUTATIONS = 20
PATIENCE_SECS = 200.0
"""Many commands start at the same time: a busy machine takes long until the last has begun."""


NEEDED = {"silence": ("--for", "2h", "--reason", "x"), "clear": ("gpu_lost",)}
"""What a command cannot do without."""


def _commands() -> Iterator[tuple[str, ...]]:
    """Each command that takes an address, alone and with each of its flags and addresses."""
    (commands,) = (a.choices for a in build_parser()._actions if a.dest == "command")
    assert commands is not None
    for name, parser in dict(commands).items():
        actions = parser._actions
        if not any(action.dest == "url" for action in actions):
            continue
        alone = (name, *NEEDED.get(name, ()))
        yield alone
        for more in (more for action in actions for more in _uses(action)):
            yield (name, *more) if more == ("--list",) else (*alone, *more)


def _uses(action: argparse.Action) -> Iterator[tuple[str, ...]]:
    if isinstance(action, argparse._StoreTrueAction):
        yield (action.option_strings[0],)
    elif action.metavar == "URL":
        yield (*action.option_strings, "URL")


COMMANDS = tuple(_commands())
REDIRECTS = (301, 302, 303, 307, 308)
ON_PAPER = tuple(words for words in COMMANDS if words[0] != "top")


def _asking(words: tuple[str, ...], url: str) -> list[str]:
    """The command with the address in all places where one can be."""
    return [*(url if word == "URL" else word for word in words), "--url", url]


def test_every_command_that_asks_is_here() -> None:
    """Only three modules can ask a server, and the commands that use them take an address."""
    asking = set()
    for path in (ROOT / "exporter/commands").glob("*.py"):
        text = path.read_text()
        if re.search(r"import (urllib\.request|http\.client|aiohttp|socket)\b|\bget,", text):
            asking.add(path.stem)
    assert asking == {"http_client", "readings", "selfcheck", "ask"}
    handlers = set()
    (commands,) = (a.choices for a in build_parser()._actions if a.dest == "command")
    for name, parser in dict(commands or {}).items():
        module = str(parser.get_default("handler")).partition(":")[0]
        text = (ROOT / f"exporter/commands/{module}.py").read_text() if module != "None" else ""
        if re.search(r"connected|print_page|http_client|running_exporter", text):
            handlers.add(name)
    assert handlers == {words[0] for words in COMMANDS}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        *((words, REDIRECTS[place % len(REDIRECTS)]) for place, words in enumerate(COMMANDS)),
        *((COMMANDS[0], status) for status in REDIRECTS[1:]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_no_secret_follows_a_redirect(words: tuple[str, ...], status: int) -> None:
    """Nobody but the named server is asked, and one sentence says that it redirects.

    Each command meets one status, the first command every status: all commands share one client.
    """
    with hostile(says(answer(b"{}"))) as (other, stolen):
        port = other.partition(":")[2]
        places = (f"http://{other}/x", f"http://localhost:{port}/", f"//{other}/")
        line = f"Location: {places[status % len(places)]}\r\n".encode()
        with hostile(says(answer(b"", str(status).encode(), line))) as (url, asked):
            code, out = _ended(_asking(words, f"http://ada:{SECRET}@{url}/v1"), SECRETS)
        assert code != 0 or words == ("top",)
        assert f"answers {status}, a redirect, which is not followed" in _joined(out)
        assert asked
        assert SECRET not in out
    assert stolen == []


def _joined(out: str) -> str:
    """The text without the line ends and sequences of a terminal."""
    return " ".join(re.sub(r"\x1b\[(\?\d+[hl]|[HKJ])", "", out).split())


def _ended(arguments: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Run the command here, or on a terminal where it needs one; all that it prints."""
    if arguments[0] == "top":
        return on_terminal(arguments, environment)
    ended = run(*arguments, environment=environment)
    assert len(ended.stderr.splitlines()) <= 1
    return ended.returncode, ended.stdout + ended.stderr


def test_no_secret_leaves_tls(tmp_path: Path) -> None:
    """A redirect from https to http is not followed either."""
    authority = Authority(tmp_path)
    pair = authority.sign("server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.cert, pair.key)
    with hostile(says(answer(b"{}"))) as (other, stolen):
        line = f"Location: http://{other}/\r\n".encode()
        with hostile(says(answer(b"", b"302", line)), context) as (url, asked):
            address = Address(f"https://{url}", {"Authorization": SECRET}, str(pair.cert))
            with pytest.raises(Unreachable, match="answers 302, a redirect"):
                get(address, "/status")
    assert [f"Authorization: {SECRET}" in head for head in asked] == [True]
    assert stolen == []


@pytest.mark.parametrize("kind", OBEYED)
def test_a_terminal_obeys_no_server(kind: str) -> None:
    """Whatever part of the answer holds control characters: none of them is printed."""
    with hostile(says(OBEYED[kind])) as (url, _):
        for words in ON_PAPER:
            code, out = _ended(_asking(words, url), {})
            assert code in range(4), words
            assert _obeyed(out) == set(), (words, out)


def _obeyed(text: str) -> set[str]:
    return {char for char in set(text) if not char.isprintable()} - {"\n"}


@pytest.mark.parametrize("kind", ["status line", "no status line", "redirect", "login"])
def test_the_live_status_obeys_no_server(kind: str) -> None:
    """On its own screen no sequence is there but its own."""
    with hostile(says(OBEYED[kind])) as (url, _):
        _, out = on_terminal(["top", "--url", url], {})
    assert _obeyed(_joined(out)) == set()


@pytest.mark.parametrize("kind", DRIPPING)
def test_no_server_takes_longer_than_the_deadline(kind: str) -> None:
    """Also one that always sends something."""
    with hostile(DRIPPING[kind]) as (url, _):
        began = time.monotonic()
        with pytest.raises(Unreachable, match=r"does not answer within 0\.3 s"):
            get(parse_address(url), "/status", timeout_secs=0.3)
        assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("kind", "commands"), [("one header", ON_PAPER[::2]), ("body", ON_PAPER[1::2])]
)
def test_every_command_ends(kind: str, commands: tuple[tuple[str, ...], ...]) -> None:
    """Half of the commands at once, against a server that drips."""
    environment = {**QUIET, **NO_EXPORTER, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    with hostile(DRIPPING[kind]) as (url, _), ExitStack() as stack:
        started = []
        for words in commands:
            process = subprocess.Popen(
                [sys.executable, "-m", "exporter", *_asking(words, url)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)  # none is left behind when one does not end
            started.append(process)
        said = [process.communicate(timeout=PATIENCE_SECS)[0] for process in started]
    assert [text for text in said if "does not answer within 5 s" not in text] == []
    assert [process.returncode for process in started if not process.returncode] == []


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a simulated node with faults answers."""
    command = (sys.executable, "-m", "exporter", "demo", "--whole-node", "--speed=20")
    with Program(tmp_path_factory.mktemp("demo"), {}, command=command) as program:
        program.first_page()
        wait_for(lambda: program.get("/faults").document["faults"] or None, "a fault", secs=40)
        return {path: program.get(path).body for path in PAGES}


@pytest.mark.parametrize("words", ON_PAPER, ids=" ".join)
def test_any_json_is_printed_or_refused(
    documents: dict[str, bytes], words: tuple[str, ...]
) -> None:
    """A number of 400 digits, 500 levels, any kind in any place: no traceback, no control."""
    chance = random.Random(" ".join(words))  # noqa: S311 - the same in every run
    current: dict[str, bytes] = {}

    def script(path: str, send: Any) -> None:
        send(answer(current.get(path.partition("?")[0], b'{"status": "healthy"}')))

    with hostile(script) as (url, _):
        for _ in range(MUTATIONS):
            for path, body in documents.items():
                current[path] = body if path == "/metrics" else _mutated(body, chance)
            code, out = _ended(_asking(words, url), {})
            assert code in range(4)
            assert _obeyed(out) == set(), out


def _mutated(body: bytes, chance: random.Random) -> bytes:
    """The document with one to three of its values replaced, near the top as often as below."""
    document = json.loads(body)
    for _ in range(chance.randrange(1, 4)):
        place, depth = document, chance.randrange(6)
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = chance.choice(keys)
            if depth and isinstance(place[key], (dict, list)) and place[key]:
                place, depth = place[key], depth - 1
                continue
            place[key] = json.loads(chance.choice(HOSTILE_VALUES))
            break
    text = json.dumps(document, ensure_ascii=chance.random() < 0.5)
    return text.replace("Infinity", "1e999").encode("utf-8", "replace")


@pytest.mark.parametrize("body", [b'{"faults":' + b"[" * 10**6, b'{"a":' * 10**5, b"[" * 10**7])
def test_deep_json_is_a_sentence(body: bytes) -> None:
    """Whatever the reader of JSON of this Python can hold."""
    with hostile(says(answer(body))) as (url, _):
        for words in ON_PAPER:
            least = 0 if words == ("metrics",) else 1  # a page is not understood
            assert _ended(_asking(words, url), {})[0] in range(least, 4)


@pytest.mark.parametrize(
    "secret",
    [
        f"ftp://ada:{SECRET}@host/",
        f"http://ada:{SECRET}/x@host/",
        f"http://ada:{SECRET}@host:x/",
        f"http://ada:{SECRET}@[::1/",
        f"http://ada:{SECRET}@127.0.0.1:1/",
        f"http://ada:{SECRET}%0a@127.0.0.1:1/",
    ],
)
def test_no_password_is_repeated(secret: str) -> None:
    """Not in the sentence about an address that is none, or where nobody answers."""
    with hostile(says(answer(b'{"choices": []}'))) as (url, _):
        for words in ON_PAPER:
            code, out = _ended(_asking(words, secret), {})
            assert code
            assert SECRET not in out
        _, out = _ended(["why", "--ask", secret, "--url", url], {})
        assert SECRET not in out


@pytest.mark.parametrize("key", [f"{SECRET}\n", f"{SECRET}\nX: y", f"{SECRET}…"])
def test_no_key_is_repeated(documents: dict[str, bytes], key: str) -> None:
    """A key with a character that no header may have costs a sentence without the key."""
    script: Script = lambda path, send: send(  # noqa: E731 - shorter
        answer(documents.get(path, b'{"choices": [{"message": {"content": "well"}}]}'))
    )
    is_good = key.strip() == SECRET
    with hostile(script) as (url, _):
        login = f"ada:{SECRET}@" if is_good else ""
        asking = ["why", "--ask", f"http://{login}{url}", "--url", url]
        code, out = _ended(asking, {"OPENAI_API_KEY": key})
    assert SECRET not in out
    assert code == (0 if is_good else 1)
    assert code or f"language model at http://{url}; it may" in out
