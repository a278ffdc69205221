"""From the text of an expression to its words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exporter.faults.expr.syntax import MAX_LENGTH, ExpressionError

_TOKEN = re.compile(
    r"""
      (?P<duration>\d+(?:\.\d+)?(?:ms|[smhd])\b)
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![A-Za-z0-9_]))
    | (?P<text>"[^"\n]*"|'[^'\n]*')
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign><=|>=|==|!=|[-+*/<>()\[\],.=])
    """,
    re.VERBOSE | re.ASCII,
)
_SPACE = re.compile(r"[ \t\r\n]*")
END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One word of an expression and the character it starts at, from 1."""

    kind: str  # duration, number, text, word, sign, end
    text: str
    position: int


def tokens(source: str) -> list[Token]:
    """All words with an end mark behind them; raises ExpressionError."""
    if len(source) > MAX_LENGTH:
        raise ExpressionError(1, f"is longer than {MAX_LENGTH} characters")
    return list(_words(source))


def _words(source: str) -> Iterator[Token]:
    place = _after_space(source, 0)
    while place < len(source):
        match = _TOKEN.match(source, place)
        if match is None:
            raise ExpressionError(place + 1, f"{source[place]!r} means nothing here")
        yield Token(str(match.lastgroup), match[0], place + 1)
        place = _after_space(source, match.end())
    yield Token(END, "the end", place + 1)


def _after_space(source: str, place: int) -> int:
    match = _SPACE.match(source, place)
    return match.end() if match else place
