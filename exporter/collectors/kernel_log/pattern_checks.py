"""Reads pattern files of the operator: lines that are wrong are left out, each with a sentence."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from exporter.collectors.kernel_log.conversions import CONVERSIONS, SUBJECTS
from exporter.collectors.kernel_log.pattern import LinePattern, Role, TenantWord
from exporter.collectors.kernel_log.pattern_file import (
    EventKind,
    Lines,
    kinds_in,
    rows_in,
    shipped_lines,
)
from exporter.collectors.kernel_log.regex_pumps import slow_input
from exporter.faults.rules.loader import MAX_FILE_BYTES, toml_files
from exporter.faults.rules.schema import Mistake
from exporter.faults.values import did_you_mean
from exporter.model.event import EventType
from exporter.regular_file import FileUnusable, read_text
from exporter.toml import tomllib

MAX_LINES = 500
MAX_PATTERN = 2000
TYPES = (
    EventType.ERROR_HW,
    EventType.ERROR_NET,
    EventType.PROCESS_STATE,
    EventType.TOPO_LINK_DOWN,
)
HEADER = re.compile(r"^[ \t]*\[\[[ \t]*line[ \t]*\]\]", re.MULTILINE)
OWN_TABLE = re.compile(
    r"^[ \t]*(?:\[\[[ \t]*line[ \t]*\]\]|\[[ \t]*(?:kinds|parts)\b)", re.MULTILINE
)
KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
ABOUT = re.compile(r"[a-z_]{1,32} [a-z_]{1,32}")


def _is_text(found: Any) -> bool:
    return isinstance(found, str) and bool(found)


def _is_texts(found: Any) -> bool:
    return isinstance(found, list) and all(map(_is_text, found))


def _is_constants(found: Any) -> bool:
    return isinstance(found, Mapping) and all(map(_is_text, found.values()))


def _one_of(words: Iterable[str]) -> tuple[Callable[[Any], bool], str]:
    known = sorted(words)
    return (lambda found: found in known), f"must be one of {', '.join(known)}"


def _is_about(found: Any) -> bool:
    pairs = found if isinstance(found, list) else [found]
    return (_is_text(found) and found in SUBJECTS) or all(
        isinstance(pair, str) and ABOUT.fullmatch(pair) for pair in pairs
    )


_TEXT = (_is_text, "must be a text")
_TEXTS = (_is_texts, "must be a list of texts")
KEYS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "kind": _TEXT,
    "contains": _TEXT,
    "pattern": (lambda found: _is_text(found) or _is_texts(found), "must be a text or several"),
    "about": (_is_about, 'must be a type and a field, as in "gpu pci"'),
    "role": _one_of(role.value for role in Role),
    "same": _TEXT,
    "once": _TEXT,
    "needs": _TEXT,
    "opens": _TEXT,
    "set": (_is_constants, "must be a table of texts"),
    "convert": _one_of(CONVERSIONS),
    "fields": _TEXTS,
    "user_words": (
        lambda found: (
            _is_texts(found) and all(word.upper() in TenantWord.__members__ for word in found)
        ),
        f"must be a list of {', '.join(sorted(each.name.lower() for each in TenantWord))}",
    ),
    "further_lines": (lambda found: isinstance(found, bool), "must be true or false"),
}
"""The keys of a line, each with its test and the end of the sentence for other values."""

REQUIRED = ("kind", "contains", "pattern")


def is_pattern_file(path: Path) -> bool:
    """Tell whether a file holds kernel log lines; False for rules and for unreadable files."""
    try:
        return OWN_TABLE.search(read_text(path, MAX_FILE_BYTES)) is not None
    except FileUnusable:
        return False


def lines_with(places: Iterable[str]) -> tuple[Lines, tuple[Mistake, ...]]:
    """Return the shipped lines and behind them those of these files and directories."""
    lines = shipped_lines()
    rows, kinds, mistakes = list(lines.rows), dict(lines.kinds), []
    for path in (path for place in places for path in toml_files(Path(place))):
        file = _PatternFile(str(path), kinds)
        rows += file.read()
        mistakes += file.mistakes
    more = len(rows) - len(lines.rows) - MAX_LINES
    if more > 0:
        sentence = f"the last {more} lines are left out: there may be {MAX_LINES} in all"
        mistakes.append(Mistake(str(path), sentence))
        del rows[-more:]
    return Lines(tuple(rows), MappingProxyType(kinds)), tuple(mistakes)


class _PatternFile:
    """One file while it is read; its kinds are added to those that are known."""

    def __init__(self, name: str, kinds: dict[str, EventKind]) -> None:
        self._name = name
        self._kinds = kinds
        self.mistakes: list[Mistake] = []

    def read(self) -> list[LinePattern]:
        """Return the lines that are right."""
        try:
            text = read_text(self._name, MAX_FILE_BYTES)
            table = tomllib.loads(text)
        except FileUnusable as error:
            return self._wrong(str(error))
        except (ValueError, RecursionError) as error:
            return self._wrong(f"is not valid TOML: {error or 'nested too deeply'}")
        for key in table.keys() - {"kinds", "parts", "line"}:
            self._wrong(f"{key[:40]!r} is not known; there are [kinds], [parts] and [[line]]")
        parts = table.get("parts", {})
        if not isinstance(parts, Mapping) or not all(map(KEYS["pattern"][0], parts.values())):
            return self._wrong("[parts] must be a table of texts")
        rows = table.get("line", [])
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            return self._wrong("lines must be written as [[line]]")
        self._read_kinds(table.get("kinds", {}))
        starts = [text.count("\n", 0, found.start()) + 1 for found in HEADER.finditer(text)]
        numbers = [*starts, *[0] * len(rows)]
        return [
            line
            for row, number in zip(rows, numbers, strict=False)
            for line in self._line(row, parts, number)
        ]

    def _wrong(self, sentence: str, line: int = 0, key: str = "") -> list[LinePattern]:
        self.mistakes.append(Mistake(self._name, sentence, line, key=key))
        return []

    def _read_kinds(self, table: Any) -> None:
        types = ", ".join(f'[kinds."{each.value}"]' for each in TYPES)
        if not isinstance(table, Mapping) or table.keys() - {each.value for each in TYPES}:
            self._wrong(f"kinds must be in {types}")
            return
        for event_type, meanings in table.items():
            if not isinstance(meanings, Mapping):
                self._wrong(f"kinds must be in {types}")
                continue
            for kind, meaning in meanings.items():
                self._read_kind(event_type, kind, meaning)

    def _read_kind(self, event_type: str, kind: str, meaning: Any) -> None:
        if kind in self._kinds:
            self._wrong("exists already: use it without a meaning", key=kind)
        elif not KIND.fullmatch(kind):
            self._wrong("must be lower-case letters, digits and _, at most 40", key=kind[:40])
        elif not _is_text(meaning):
            self._wrong("must have its meaning as a text", key=kind)
        else:
            self._kinds |= kinds_in({"kinds": {event_type: {kind: meaning}}})

    def _line(
        self, row: Mapping[str, Any], parts: Mapping[str, Any], number: int
    ) -> Iterator[LinePattern]:
        wrong = list(_malformed(row))
        lines = () if wrong else tuple(rows_in({"parts": parts, "line": [row]}))
        for line in lines:
            wrong += _mistakes(line, row, self._kinds)
        for key, sentence in wrong:
            self._wrong(sentence, number, key)
        yield from () if wrong else lines


def _malformed(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield keys that no line has or that are missing, and values of a wrong type."""
    for key in row.keys() - KEYS.keys():
        yield key[:40], f"is not a key of a line; {did_you_mean(key, KEYS)}"
    for key in REQUIRED:
        if key not in row:
            yield key, "is missing"
    for key, (is_right, sentence) in KEYS.items():
        if key in row and not is_right(row[key]):
            yield key, sentence


def _mistakes(
    line: LinePattern, row: Mapping[str, Any], kinds: Mapping[str, EventKind]
) -> Iterator[tuple[str, str]]:
    """Yield the keys of a line that cannot work, each with a sentence."""
    if line.kind not in kinds:
        hint = did_you_mean(line.kind, kinds)
        hint = hint if hint.startswith("did you") else "docs/kernel-log.md lists the built-in ones"
        yield "kind", f"{line.kind[:40]!r} has no meaning in [kinds]; {hint}"
    if line.opens and line.opens not in kinds:
        yield "opens", f"{line.opens[:40]!r} has no meaning in [kinds]"
    if len(line.source) > MAX_PATTERN:
        yield "pattern", f"is longer than {MAX_PATTERN} characters"
        return
    try:
        pattern = line.pattern
    except (ValueError, RecursionError, OverflowError, re.error) as error:
        yield "pattern", f"is no regular expression: {error}"
        return
    if slow := slow_input(pattern):
        yield "pattern", f"takes too long for a line in which {slow[1][:20]!r} is repeated"
    yield from _unread(line, row)
    about = row.get("about", [])
    for pair in [about] if isinstance(about, str) else about:
        name = pair.split(" ")[-1]
        if " " in pair and name not in line.field_names:
            yield "about", f"there is no field {name!r}; fields are {', '.join(line.field_names)}"


def _unread(line: LinePattern, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a field that the conversion of a line reads and its pattern never has."""
    names = (name.removesuffix("_2") for name in line.pattern.groupindex)
    try:
        line.convert(dict.fromkeys((*names, *line.constants), "0:0"))
    except KeyError as error:
        yield "convert", f"there is no field {error}, which {row['convert']!r} reads"
    except ValueError:
        return  # it has the field, and reads another text than this
