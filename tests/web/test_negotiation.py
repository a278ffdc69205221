"""What a client may ask for, and what it gets: headers.toml has headers by their answers."""

from pathlib import Path

import pytest

from exporter.exposition.render import Format
from exporter.toml import tomllib
from exporter.web.negotiation import MAX_HEADER_CHARS, wanted_format, wants_gzip
from tests.growth import is_linear

HEADERS = tomllib.loads(Path(__file__).with_name("headers.toml").read_text("utf-8"))
MANY = "a/b," * 101 + "application/openmetrics-text"
LONG = [MANY, "text/plain;" * 500, "a" * 8000, "," * 8000, ";q=" * 2000]
HOSTILE = ['q;\\"', '\\"', '"q;', '";', "\\", '"\\', ";q=", ",", 'a;b="', " ;", '"a" ', "; \t"]


@pytest.mark.parametrize("accept", HEADERS["accept"]["openmetrics"])
def test_openmetrics_goes_to_who_asks_for_it(accept: str) -> None:
    """OpenMetrics is the answer wherever it is wanted at least as much as plain text."""
    assert wanted_format(accept) is Format.OPENMETRICS


@pytest.mark.parametrize("accept", [*HEADERS["accept"]["text"], *LONG])
def test_everybody_else_gets_plain_text(accept: str) -> None:
    """A weight of zero is a no, and what nobody can give is answered with plain text."""
    assert wanted_format(accept) is Format.TEXT


@pytest.mark.parametrize("accept_encoding", HEADERS["accept_encoding"]["gzip"])
def test_gzip_goes_to_who_takes_it(accept_encoding: str) -> None:
    """Gzip is used where it is named, or covered by the asterisk."""
    assert wants_gzip(accept_encoding)


@pytest.mark.parametrize("accept_encoding", HEADERS["accept_encoding"]["plain"])
def test_nobody_gets_gzip_unasked(accept_encoding: str) -> None:
    """Without a wish, or with a weight of zero, the page is not packed."""
    assert not wants_gzip(accept_encoding)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_header_made_to_be_slow_costs_what_its_length_costs(piece: str) -> None:
    """Quotes and separators cost their number, not its square; a longer header counts as none."""
    most = MAX_HEADER_CHARS // len(piece)
    assert is_linear(wanted_format.__wrapped__, lambda count: '"' + piece * count, most)
    assert wanted_format(piece * 4000) is Format.TEXT
    assert not wants_gzip(piece * 4000)
