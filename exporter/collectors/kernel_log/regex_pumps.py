"""Inputs made to be slow for a regular expression: the text that a loop repeats, many times."""

import re
import time
from collections.abc import Iterator
from typing import Any

try:
    from re import _compiler as sre_compile  # type: ignore[attr-defined] # no stub; from 3.11 on
    from re import _constants as sre  # type: ignore[attr-defined] # the same
    from re import _parser as sre_parse  # type: ignore[attr-defined] # the same
except ImportError:
    import sre_compile
    import sre_constants as sre
    import sre_parse

ALPHABET = "a0 A:,.-_/()[]<>=\"'\\;\t\n#%+*|é"
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
MANY = 16
"""A loop that is bounded by fewer turns costs a constant."""

LENGTHS = tuple(int(8 * 1.5**step) for step in range(14))
"""Of the inputs that are tried: from 8 to 1,556 characters, the longest that are ever looked at.

The time of a bad pattern may double with each character, so a length is tried after the shorter
ones were quick.
"""

MOST_SECS = 0.005
"""A linear pattern takes some 10 µs for the longest input, a quadratic one ten times this limit."""

Pump = tuple[str, str]


def slow_input(pattern: "re.Pattern[str]") -> Pump | None:
    """Return a text and its repeated part with which the pattern takes too long; None for none."""
    for before, pump in pumps(pattern):
        for length in LENGTHS:
            text = before + pump * (length // len(pump)) + "\0\n!"
            if min(_seconds(pattern, text) for _ in range(3)) > MOST_SECS:
                return before, pump
    return None


def _seconds(pattern: "re.Pattern[str]", text: str) -> float:
    began = time.thread_time()
    pattern.match(text)
    return time.thread_time() - began


def pumps(pattern: "re.Pattern[str]") -> list[Pump]:
    """Return texts that lead to each loop of the pattern, each with a text that it may repeat."""
    return list(dict.fromkeys(_pumps(sre_parse.parse(pattern.pattern, pattern.flags))))


def _pumps(tree: Any, before: str = "") -> Iterator[Pump]:
    for operator, argument in tree:
        for body in _bodies(operator, argument):
            yield from _pumps(body, before)
        if operator in REPEATS and argument[1] >= MANY:
            for text in _samples(argument[2]):
                yield before, text
        before += next(iter(_samples([(operator, argument)])), "")


def _bodies(operator: Any, argument: Any) -> list[Any]:
    if operator in REPEATS:
        return [argument[2]]
    if operator is sre.SUBPATTERN:
        return [argument[-1]]
    if operator is sre.BRANCH:
        return list(argument[1])
    return [argument[1]] if operator in (sre.ASSERT, sre.ASSERT_NOT) else []


def _samples(tree: Any) -> list[str]:
    """Return at most 8 texts that the tree matches, which differ from the first in one place."""
    found = [""]
    for operator, argument in tree:
        choices = _choices(operator, argument) or [""]
        found = [found[0] + choices[0], *(text + choices[0] for text in found[1:])] + [
            found[0] + choice for choice in choices[1:4]
        ]
    return found[:8]


def _choices(operator: Any, argument: Any) -> list[str]:
    if operator is sre.LITERAL:
        return [chr(argument)]
    if operator in (sre.NOT_LITERAL, sre.IN, sre.ANY):
        return _characters(operator, argument)
    if operator in REPEATS:
        return [text * max(1, argument[0]) if argument[0] else "" for text in _samples(argument[2])]
    return [text for body in _bodies(operator, argument) for text in _samples(body)]


def _characters(operator: Any, argument: Any) -> list[str]:
    """Return the characters, of the alphabet or named in the part, that the part matches."""
    named = argument if operator is sre.IN else [(operator, argument)]
    signs = ALPHABET + "".join(chr(value) for kind, value in named if kind is sre.LITERAL)
    part = sre_parse.SubPattern(sre_parse.State(), [(operator, argument)])
    matches = sre_compile.compile(part, re.ASCII).match
    return [char for char in signs if matches(char)]
