"""Loads rule files: built-in ones, then the operator's; later ones replace earlier ones."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exporter.faults.rules.rule import Rule
from exporter.faults.rules.schema import Mistake, RuleReader
from exporter.faults.values import Vocabulary
from exporter.regular_file import FileUnusable, read_regular
from exporter.toml import tomllib

SHIPPED = Path(__file__).parent.parent / "catalogue" / "rules"
MAX_FILE_BYTES = 1024 * 1024
MAX_RULES = 1000
SKIP_REASONS = ("unreadable", "syntax", "invalid", "broken")


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The rules that count, files left out by reason, and everything that is wrong."""

    rules: tuple[Rule, ...]
    mistakes: tuple[Mistake, ...] = ()
    skipped: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class _File:
    """One file while it is read; `ids` are those it meant to define."""

    name: str
    rules: list[Rule]
    ids: set[str]
    mistakes: list[Mistake]
    reason: str = "invalid"


def load_rules(places: Iterable[Path], vocabulary: Vocabulary) -> RuleBook:
    """All rules of these directories and files; a file with a mistake is left out whole."""
    files = [_read(path, vocabulary) for place in places for path in _toml_files(place)]
    _check_references(files)
    _check_twice(files)
    chosen: dict[str, Rule] = {}
    for file in files:
        if not file.mistakes:
            chosen.update({rule.id: rule for rule in file.rules})
    reasons = [file.reason for file in files if file.mistakes]
    return RuleBook(
        rules=tuple(chosen.values())[:MAX_RULES],
        mistakes=tuple(mistake for file in files for mistake in file.mistakes),
        skipped=tuple((reason, reasons.count(reason)) for reason in SKIP_REASONS),
    )


def _toml_files(place: Path) -> list[Path]:
    """Return the file itself, or the rule files of a directory by name."""
    try:
        if place.is_dir():
            return sorted(path for path in place.iterdir() if path.suffix == ".toml")
    except OSError:
        return [place]  # reading it says why
    return [place]


def _read(path: Path, vocabulary: Vocabulary) -> _File:
    file = _File(str(path), [], set(), [])
    text = _text(path, file)
    table = _table(text, file)
    rows = table.get("rule", [])
    for key in table.keys() - {"rule"}:
        file.mistakes.append(Mistake(file.name, f"{key[:40]!r} is not known; there is [[rule]]"))
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        file.mistakes.append(Mistake(file.name, "rules must be written as [[rule]]"))
        return file
    for row in rows:
        _read_rule(row, text, file, vocabulary)
    return file


def _read_rule(row: Mapping[str, Any], text: str, file: _File, vocabulary: Vocabulary) -> None:
    name = str(row.get("id", "without id"))[:80]
    reader = RuleReader(row, vocabulary)
    rule = reader.read()
    line = _line_of(name, text)
    for key, position, sentence in reader.mistakes:
        file.mistakes.append(Mistake(file.name, sentence, line, name, key, position))
    if name in file.ids:
        file.mistakes.append(Mistake(file.name, "is there twice", line, name, "id"))
    file.ids.add(name)
    if rule is not None:
        file.rules.append(replace(rule, file=file.name))


def _text(path: Path, file: _File) -> str:
    try:
        raw = read_regular(path, MAX_FILE_BYTES)
        return raw.decode("utf-8")
    except FileUnusable as error:
        file.mistakes.append(Mistake(file.name, str(error)))
        file.reason = "unreadable"
    except UnicodeDecodeError as error:
        file.mistakes.append(Mistake(file.name, f"is not UTF-8 text (byte {error.start})"))
        file.reason = "syntax"
    return ""


def _table(text: str, file: _File) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: a number of 5,000 digits as well
        sentence = f"is not valid TOML: {error or 'nested too deeply'}"
        file.mistakes.append(Mistake(file.name, sentence))
        file.reason = "syntax"
        return {}


def _line_of(rule: str, text: str) -> int:
    """Return the line on which a rule is named; 0 when it cannot be told."""
    match = re.search(rf"""^\s*id\s*=\s*["']{re.escape(rule)}["']""", text, re.MULTILINE)
    return text.count("\n", 0, match.end()) + 1 if match else 0


def _check_references(files: list[_File]) -> None:
    """Note causes that no file defines as mistakes; one in a skipped file is none."""
    if any(file.reason != "invalid" for file in files):
        return  # what an unreadable file would have defined is not known
    known = set().union(*(file.ids for file in files)) if files else set()
    for file in files:
        for rule, cause in _causes(file):
            if cause not in known:
                sentence = f"there is no rule {cause}"
                file.mistakes.append(Mistake(file.name, sentence, 0, rule, "explained_by"))


def _causes(file: _File) -> Iterator[tuple[str, str]]:
    for rule in file.rules:
        for explanation in rule.explained_by:
            yield rule.id, explanation.rule


def _check_twice(files: list[_File]) -> None:
    """Two files of one directory must not define the same rule: neither is meant to win."""
    seen: dict[tuple[Path, str], str] = {}
    for file in files:
        for rule in sorted(file.ids):
            place = (Path(file.name).parent, rule)
            if place in seen:
                sentence = f"is also in {seen[place]}"
                file.mistakes.append(Mistake(file.name, sentence, 0, rule, "id"))
            seen.setdefault(place, file.name)
