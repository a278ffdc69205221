"""Kernel lines that hold words which a tenant chooses, and the words that gain most there."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from exporter.collectors.kernel_log.pattern_file import shipped_lines
from exporter.collectors.kernel_log.user_words import WORD_BYTES, UserWords
from tests.collectors.kernel_log.lines import KNOWN_LINES

COMM_BYTES = WORD_BYTES["comm"]

ROWS = shipped_lines().rows


def _rows_of(line: str) -> tuple[int, ...]:
    """The places of the rows that the line matches; none where only lines before give it sense."""
    rows = enumerate(ROWS)
    return tuple(at for at, row in rows if row.contains in line and row.pattern.match(line))


@cache
def wanted_lines() -> dict[str, list[str]]:
    """One line for every row, or rows together: what a tenant would like to be taken for.

    With each are the tags of which a text holds one that is taken for the line.
    """
    rows_of = {line: _rows_of(line) for line in reversed(KNOWN_LINES)}
    wanted = {rows or line: line for line, rows in rows_of.items()}.values()
    return {line: [ROWS[at].contains for at in rows_of[line]] or [""] for line in wanted}


PLACE = re.compile("{(" + "|".join(WORD_BYTES) + ")}")
"""The place of a word in a message."""


UNPRINTED = {
    "interface": str.maketrans("", "", " \n:/"),
    "cgroup": str.maketrans("", "", "\n/"),
}
"""Signs that a word cannot hold (dev_valid_name, kernfs)."""


def filled(text: str, first: str, others: str) -> str:
    """The message with one word in the first place and one in all others, cut to their lengths."""
    words = iter((first,))
    return PLACE.sub(lambda place: _cut(place[1], next(words, others)), text)


def _cut(kind: str, word: str) -> str:
    word = word.translate(UNPRINTED.get(kind, {}))
    return word.encode()[: WORD_BYTES[kind]].decode("utf-8", "ignore")


def forgeries(message: UserWords) -> list[str]:
    """The message with all words that gain most, each text once; also cut after its last word."""
    texts = (
        made
        for text in _as_printed(message.text)
        for line, tags in wanted_lines().items()
        for made in _promising(text, line, tags)
    )
    return list(dict.fromkeys(texts))


def _promising(text: str, line: str, tags: Sequence[str]) -> Iterator[str]:
    """The text with words of this line, where it could be taken for the line."""
    for words in _words(text, line):
        made = filled(text, *words)
        if any(tag in made for tag in tags):
            yield made


def _as_printed(text: str) -> Iterator[str]:
    """The whole text, and its beginning up to the last name that the kernel prints apart."""
    yield text
    if "{cgroup}" in text:
        yield text[: text.rindex("{cgroup}") + len("{cgroup}")]


def _words(text: str, line: str) -> Iterator[tuple[str, str]]:
    """Ways to make this line out of two words.

    A word is the line or begins one of its own. Where a word begins the record, it says the
    beginning of the line and the other one any rest of it, so that what the kernel prints between
    them only has to be overlooked.
    """
    place = PLACE.match(text)
    length = WORD_BYTES[place[1]] if place else COMM_BYTES
    start = line[:COMM_BYTES]
    cut = (f"{start[:-1]}\n", f"a\n{line}")
    for first in ("a", "NVRM: a", start, line, *cut) if place else ("a", start, line):
        for other in (line, f"a\n{line}"):
            yield first, other
    if place is None or len(PLACE.findall(text)) == 1:
        return
    blanks = [at + 1 for at, sign in enumerate(line) if sign == " "]
    for at in sorted({length, *(at for at in blanks if at < COMM_BYTES)}):
        for rest in blanks:
            if rest >= at:
                yield line[:at], line[rest:]
