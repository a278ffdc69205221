"""Anything at all in headers, credentials, configuration and rules: an answer or one sentence."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.collectors.everything import rule_book
from exporter.config.file import MAX_SENTENCES, ConfigError, environment_layer, load, read_file
from exporter.web.negotiation import wanted_format, wants_gzip
from exporter.web.server.acceptor import MAX_FIRST_BYTES, _is_http_head, _is_tls_record
from exporter.web.server.credentials import SecurityError, parse_tokens, usable_users
from exporter.web.server.local_client import refusal_of
from tests.growth import is_linear

pytestmark = pytest.mark.slow

HEADER = st.text(alphabet=st.sampled_from('abz/*;=,." \\q01\t\x00é'), max_size=3000)
TOML = st.text(alphabet=st.sampled_from("[]{}.=\"'\n# abserv_19eE-+:Tx\\\x00é"), max_size=400)
LINES = st.lists(
    st.sampled_from(
        [
            "[server]",
            "[[probes]]",
            "[[rule]]",
            "[server.tls]",
            "[faults]",
            "port = 1",
            "port = 'x'",
            "id = 'a'",
            "when = 'a > 1'",
            "when = '" + "(" * 200 + "'",
            "entity = 'node'",
            "name = [1, {a = 2}]",
            "a.b.c = 1979-05-27",
            "for = '1m'",
            "explained_by = [{ rule = 'a', via = 'same' }]",
            "severity = nan",
        ]
    ),
    max_size=12,
).map("\n".join)
ROUNDS = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


@ROUNDS
@given(HEADER)
def test_any_header_is_answered(header: str) -> None:
    """Whatever a client wants, it gets one of the formats."""
    wanted_format.__wrapped__(header)
    wants_gzip.__wrapped__(header)


@ROUNDS
@given(st.text(max_size=50), st.lists(st.text(max_size=50), max_size=3), HEADER)
def test_any_sender_is_judged(remote: str, hosts: list[str], name: str) -> None:
    """Nobody is a program of this machine by chance."""
    refusal = refusal_of(remote, "/-/quiesce", [name], hosts)
    assert refusal is None or "\n" not in refusal


@ROUNDS
@given(st.binary(min_size=1, max_size=200), st.integers(min_value=0, max_value=200))
def test_any_first_bytes_are_told_apart(data: bytes, before: int) -> None:
    """A whole head is seen as one, wherever it was cut on its way."""
    assert _is_http_head(data + b"\r\n\r\n", min(before, len(data)))
    assert _is_http_head(b"A" * MAX_FIRST_BYTES, 0)
    assert _is_tls_record(b"\x16\x03\x01\x00\x05hello" + data, 0)


@ROUNDS
@given(st.binary(max_size=2000))
def test_any_token_file_is_tokens_or_a_sentence(content: bytes) -> None:
    """What is no token is refused, and not repeated."""
    sentence = "here: "
    try:
        assert parse_tokens(content, "here").digests
    except SecurityError as error:
        sentence = str(error)
    assert sentence.startswith("here: ")
    assert len(sentence) < 200


@ROUNDS
@given(st.dictionaries(st.text(max_size=20), st.text(max_size=80), max_size=3))
def test_any_users_are_users_or_a_sentence(users: dict[str, str]) -> None:
    """A hash that is none is refused."""
    with suppress(SecurityError):
        usable_users(users)


@ROUNDS
@given(st.one_of(TOML, LINES).map(str.encode) | st.binary(max_size=300))
def test_any_configuration_is_one_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    """Nothing but ConfigError comes out, in short sentences, and not too many."""
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    sentence = ""
    try:
        load([read_file(path)])
    except ConfigError as error:
        sentence = str(error)
    lines = sentence.split("\n")
    assert len(lines) <= MAX_SENTENCES + 1
    assert all(len(line) < 1000 for line in lines)


@ROUNDS
@given(st.dictionaries(st.text(max_size=10).map("APP__SERVER__{}".format), HEADER, max_size=3))
def test_any_environment_is_settings_or_a_sentence(environment: dict[str, str]) -> None:
    """So it is with variables."""
    with suppress(ConfigError):
        load([environment_layer(environment)])


@settings(ROUNDS, max_examples=100)
@given(st.one_of(TOML, LINES).map(str.encode) | st.binary(max_size=300))
def test_any_rule_file_is_rules_or_mistakes(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    """A file that is wrong is left out, with its mistakes; what ships goes on."""
    path = tmp_path_factory.getbasetemp() / "any_rules.toml"
    path.write_bytes(content)
    book = rule_book((str(path),))
    assert len(book.rules) > 50
    assert all(str(mistake) for mistake in book.mistakes)


@pytest.mark.parametrize("piece", [b"a", b"\n", b"correct-horse-battery\n", b"\xff", b" "])
def test_token_files_cost_what_their_length_costs(piece: bytes) -> None:
    """Up to the 64 KiB that are read."""

    def parse(content: bytes) -> None:
        with suppress(SecurityError):
            parse_tokens(content, "here")

    assert is_linear(parse, lambda count: piece * count, 65536 // len(piece))


def test_configurations_cost_what_their_length_costs(tmp_path: Path) -> None:
    """Keys, tables and lists by the thousand."""
    path = tmp_path / "any.toml"

    def parse(content: bytes) -> None:
        path.write_bytes(content)
        with suppress(ConfigError):
            read_file(path)

    for piece in (b"k%d = 1\n", b"[t%d]\n", b"[[probes]]\n#%d\n", b"#%d\n"):

        def make(count: int, piece: bytes = piece) -> bytes:
            return b"".join(piece % number for number in range(count))

        assert is_linear(parse, make, 16_000), piece
