"""Lines between a probe and us."""

import pytest

from exporter.probes.protocol import BadLine, LineSplitter, decode_line, encode_line


def test_what_is_encoded_is_decoded() -> None:
    """One message is one line, whatever its texts hold."""
    message = {"id": 7, "name": 'quote " newline \n ü', "value": None}
    line = encode_line(message)
    assert line.count(b"\n") == 1
    assert decode_line(line) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"7",
        b"not json",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1} trailing',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff\xfe",
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_a_bad_line_is_refused_with_a_reason(line: bytes) -> None:
    """Nothing but one JSON object with finite numbers gets in, and nothing else is raised."""
    with pytest.raises(BadLine):
        decode_line(line)


def test_what_is_no_json_is_not_written() -> None:
    """A request with NaN would be refused by whoever reads it."""
    with pytest.raises(ValueError, match="JSON"):
        encode_line({"left": float("nan")})


def test_a_line_has_four_mebibytes_at_most() -> None:
    """An answer about sixteen GPUs with thousands of processes fits; more is no answer."""
    splitter = LineSplitter()
    splitter.feed(b"x" * 4 * 2**20)
    with pytest.raises(BadLine):
        splitter.feed(b"x")


def test_lines_are_put_together_from_chunks() -> None:
    """However the bytes arrive, whole lines come out; empty ones do not."""
    splitter = LineSplitter()
    assert splitter.feed(b'{"a"') == []
    assert splitter.feed(b':1}\n\n{"b":2}\n{"c"') == [b'{"a":1}', b'{"b":2}']
    assert splitter.feed(b":3}\n") == [b'{"c":3}']


def test_a_line_without_end_is_refused() -> None:
    """A probe that never writes a newline cannot make us grow."""
    splitter = LineSplitter(limit_bytes=1000)
    splitter.feed(b"x" * 900)
    with pytest.raises(BadLine, match="more than 1000 bytes"):
        splitter.feed(b"x" * 200)


def test_a_line_may_be_as_long_as_the_limit() -> None:
    """Each of them anew: what was counted of one line is none of the next."""
    longest = b"x" * 10
    splitter = LineSplitter(10)
    assert [splitter.feed(longest + b"\n") for _ in range(3)] == [[longest]] * 3
