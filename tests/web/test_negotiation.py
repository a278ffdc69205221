"""What a client may ask for, and what it gets."""

import pytest

from exporter.exposition.render import Format
from exporter.web.negotiation import MAX_HEADER_CHARS, wanted_format, wants_gzip
from tests.growth import is_linear

OM = "application/openmetrics-text"
PROMETHEUS_2_42 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)
PROTOBUF_FIRST = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
    "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
VICTORIA = "text/plain;version=0.0.4;q=1,*/*;q=0.1"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

OPENMETRICS_FOR = [
    OM,
    f"{OM}; version=1.0.0",
    f"{OM}; version=0.0.1",
    f'{OM}; version="1.0.0"',
    f"{OM};charset=utf-8",
    f"{OM}; version=1.0.0; charset=utf-8",
    OM.upper(),
    f"{OM};q=1",
    f"{OM};q=1.000",
    f"{OM};q=0.001",
    f"{OM} ; q=0.5",
    f"{OM};Q=0.5",
    f"  {OM}  ",
    f",,{OM},,",
    f"{OM},{OM};q=0",
    f"{OM},text/plain",
    f"text/plain,{OM}",
    f"{OM};q=0.5,text/plain;q=0.5",
    f"{OM};q=0.5,text/plain;q=0.4",
    f"{OM};q=0.5,*/*;q=0.1",
    f"{OM};q=0.5,text/plain;version=1.0.0;q=0.9",
    f"image/png,{OM};q=0.3",
    f'text/plain;comment="a,b;q=1";q=0.1,{OM};q=0.2',
    PROMETHEUS_2_42,
    PROMETHEUS_3,
    PROTOBUF_FIRST,
]
TEXT_FOR = [
    "",
    " ",
    ",",
    ";",
    ";;;,,;",
    "=",
    "*",
    "*/*",
    "text/*",
    "application/*",
    "text/plain",
    "text/plain;version=0.0.4",
    "text/plain;version=0.0.4;charset=utf-8",
    "text/html",
    "application/json",
    "application/xml;q=0.9",
    BROWSER,
    VICTORIA,
    f"{OM};q=0",
    f"{OM};q=0.0",
    f"{OM};q=0.000",
    f"{OM};version=1.0.0;q=0",
    f"{OM};version=2.0.0",
    f"{OM};version=garbage",
    f"{OM};q=2",
    f"{OM};q=-1",
    f"{OM};q=1.001",
    f"{OM};q=nan",
    f"{OM};q=inf",
    f"{OM};q=1e0",
    f"{OM};q=0.0001",
    f"{OM};q=",
    f"{OM};q=abc",
    f'{OM};q="',
    f"{OM}x",
    f"x{OM}",
    "application/openmetrics",
    f"{OM};q=0.4,text/plain;q=0.5",
    f"{OM};q=0.4,text/plain;version=0.0.4;q=0.5",
    f"{OM};q=0,text/plain;q=0",
    f'text/plain;x="{OM}"',
    '"',
    '"unclosed',
    "\\",
    "text/plain;" * 500,
    "a" * 8000,
    "," * 8000,
    ";q=" * 2000,
    "\x00\xff",
    "ä/ö;q=ü",
    "text/plain,\x80",
    f"{'a/b,' * 101}{OM}",
]

GZIP_FOR = [
    "gzip",
    "GZIP",
    "x-gzip",
    "gzip, deflate, br",
    "deflate, gzip;q=1.0, *;q=0.5",
    "gzip;q=0.001",
    "*",
    "*;q=0.1",
    "identity;q=0, gzip",
    "br;q=1.0, gzip;q=0.8, *;q=0.1",
    "identity, gzip;q=0.5",
    " gzip ",
    "gzip;level=9",
]
NO_GZIP_FOR = [
    "",
    "identity",
    "deflate",
    "br",
    "zstd, br",
    "gzip;q=0",
    "gzip;q=0.0",
    "gzip;q=0.000",
    "gzip;q=0, *",
    "*;q=0",
    "gzip;q=garbage",
    "gzip;q=2",
    "gzipped",
    "not-gzip",
    '"gzip"',
    ";q=1",
    ",,,",
    "\x00",
]


@pytest.mark.parametrize("accept", OPENMETRICS_FOR)
def test_openmetrics_goes_to_who_asks_for_it(accept: str) -> None:
    """OpenMetrics is the answer wherever it is wanted at least as much as plain text."""
    assert wanted_format(accept) is Format.OPENMETRICS


@pytest.mark.parametrize("accept", TEXT_FOR)
def test_everybody_else_gets_plain_text(accept: str) -> None:
    """A weight of zero is a no, and what nobody can give is answered with plain text."""
    assert wanted_format(accept) is Format.TEXT


@pytest.mark.parametrize("accept_encoding", GZIP_FOR)
def test_gzip_goes_to_who_takes_it(accept_encoding: str) -> None:
    """Gzip is used where it is named, or covered by the asterisk."""
    assert wants_gzip(accept_encoding)


@pytest.mark.parametrize("accept_encoding", NO_GZIP_FOR)
def test_nobody_gets_gzip_unasked(accept_encoding: str) -> None:
    """Without a wish, or with a weight of zero, the page is not packed."""
    assert not wants_gzip(accept_encoding)


HOSTILE = ['q;\\"', '\\"', '"q;', '";', "\\", '"\\', ";q=", ",", 'a;b="', " ;", '"a" ', "; \t"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_header_made_to_be_slow_costs_what_its_length_costs(piece: str) -> None:
    """Quotes and separators cost their number, not its square; a longer header counts as none."""
    most = MAX_HEADER_CHARS // len(piece)
    assert is_linear(wanted_format.__wrapped__, lambda count: '"' + piece * count, most)
    assert wanted_format(piece * 4000) is Format.TEXT
    assert not wants_gzip(piece * 4000)
