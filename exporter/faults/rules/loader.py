"""Loads rule files: built-in ones, then the operator's; later ones replace earlier ones."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from exporter.faults.expr.syntax import ExpressionError
from exporter.faults.rules.rule import Rule
from exporter.faults.rules.schema import Mistake, RuleReader
from exporter.faults.rules.templates import MAX_TEXT, check_braces
from exporter.faults.values import Vocabulary
from exporter.record import dataclass, replace
from exporter.regular_file import FileUnusable, read_regular
from exporter.toml import PACKAGE, parsed, tomllib

MAX_FILE_BYTES = 1024 * 1024
MAX_RULES = 1000
KEYS = {"rule", "actions", "concerns"}
RULE_HEADER = re.compile(r"^(?=[ \t]*\[\[[ \t]*rule[ \t]*\]\])", re.MULTILINE)
ID_LINE = re.compile(r"""\s*id\s*=\s*(["'])(.*?)\1""")
SKIP_REASONS = ("unreadable", "syntax", "invalid", "broken")


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The loaded rules, counts of skipped files and rules by reason, and all mistakes.

    `actions` has the sentence of each action in the files; `of_events` has severities of the site
    by kind and code of an event.
    """

    rules: tuple[Rule, ...]
    mistakes: tuple[Mistake, ...] = ()
    skipped: tuple[tuple[str, int], ...] = ()
    actions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    of_events: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(slots=True)
class _File:
    """One rule file; `ids` are the rules it tries to define, `lines` where each begins.

    `concerns` is what rules of the node in the file concern where the rule says nothing else.
    """

    name: str
    tables: tuple[Mapping[str, Any], ...] = ()
    actions: dict[str, str] = field(default_factory=dict)
    concerns: dict[str, Any] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    lines: dict[str, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def skip(self, reason: str, sentence: str, line: int = 0, **place: Any) -> None:
        """Note a mistake for which something is skipped; `place` are further fields of it."""
        self.mistakes.append(Mistake(self.name, sentence, line, **place))
        self.skipped[reason] += 1

    def leave_out(self, rule: Rule, sentence: str, key: str) -> None:
        """Remove a rule because of its relation to other rules, and note the mistake."""
        self.skip("invalid", sentence, self.lines.get(rule.id, 0), rule=rule.id, key=key)
        del self.rules[rule.id]


def load_rules(places: Iterable[Path], vocabulary: Vocabulary) -> RuleBook:
    """Load all rules of these directories and files; a rule with a mistake is skipped."""
    files = [_read(path) for place in places for path in toml_files(place)]
    actions = dict(vocabulary.actions)
    for file in files:
        actions.update(file.actions)
    vocabulary = replace(vocabulary, actions=actions)
    for file in files:
        for row in _rules_of(file):
            _read_rule(row, file, vocabulary)
    _check_references(files)
    _check_twice(files)
    chosen: dict[str, Rule] = {}
    for file in files:
        chosen.update(file.rules)
    _check_number(files, chosen)
    skipped = sum((file.skipped for file in files), Counter[str]())
    return RuleBook(
        rules=tuple(chosen.values())[:MAX_RULES],
        mistakes=tuple(mistake for file in files for mistake in file.mistakes),
        skipped=tuple((reason, skipped[reason]) for reason in SKIP_REASONS),
        actions=MappingProxyType(actions),
    )


def toml_files(place: Path) -> list[Path]:
    """Return the file itself, or the TOML files of a directory by name."""
    try:
        if place.is_dir():
            return sorted(path for path in place.iterdir() if path.suffix == ".toml")
    except OSError:
        return [place]  # reading the path reports why
    return [place]


def _read(path: Path) -> _File:
    file = _File(str(path))
    text = _text(path, file)
    file.lines = _lines_of_ids(text)
    file.tables = tuple(_tables(text, file))
    for table in file.tables:
        _read_actions(table.get("actions", {}), file)
        if "concerns" in table:
            file.concerns = {"concerns": table["concerns"]}
    return file


def _read_actions(found: object, file: _File) -> None:
    """Read the sentences of actions; a wrong row is skipped."""
    rows = found if isinstance(found, Mapping) else {"": found}
    for slug, sentence in rows.items():
        position, wrong = 0, f"must be a table of texts of at most {MAX_TEXT} characters"
        if slug and isinstance(sentence, str) and len(sentence) <= MAX_TEXT:
            try:
                check_braces(sentence)
            except ExpressionError as error:
                position, wrong = error.position, error.sentence
            else:
                file.actions[slug] = sentence
                continue
        key = f"actions.{slug[:40]}".rstrip(".")
        file.skip("invalid", wrong, key=key, position=position)


def _rules_of(file: _File) -> Iterator[Mapping[str, Any]]:
    for table in file.tables:
        rows = table.get("rule", [])
        for key in sorted(table.keys() - KEYS):
            known = "there are [[rule]], [actions] and concerns"
            file.skip("invalid", f"{key[:40]!r} is not known; {known}")
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            file.skip("invalid", "rules must be written as [[rule]]")
            rows = []
        yield from rows


def _read_rule(row: Mapping[str, Any], file: _File, vocabulary: Vocabulary) -> None:
    name = str(row.get("id", "without id"))[:80]
    usual = file.concerns if row.get("entity") == "node" else {}
    reader = RuleReader({**usual, **row}, vocabulary)
    rule = reader.read()
    mistakes = list(reader.mistakes)
    if name in file.ids:
        mistakes.append(("id", 0, "is there twice"))
    line = file.lines.get(name, 0)
    for key, position, sentence in mistakes:
        file.mistakes.append(Mistake(file.name, sentence, line, name, key, position))
    file.ids.add(name)
    if rule is None or mistakes:
        file.skipped["invalid"] += 1
    else:
        file.rules[rule.id] = replace(rule, file=file.name)


def _text(path: Path, file: _File) -> str:
    try:
        if PACKAGE in path.parents:  # on the file system of this program: no thread to read it
            return path.read_text("utf-8")
        return read_regular(path, MAX_FILE_BYTES).decode("utf-8")
    except (FileUnusable, OSError) as error:
        file.skip("unreadable", str(error))
    except UnicodeDecodeError as error:
        file.skip("syntax", f"is not UTF-8 text (byte {error.start})")
    return ""


def _tables(text: str, file: _File) -> Iterator[dict[str, Any]]:
    """Yield the tables of a file; if its TOML is broken, those of each rule that can be parsed."""
    with suppress(ValueError, RecursionError):
        yield parsed(text.encode(), Path(file.name))
        return
    line = 1
    for part in RULE_HEADER.split(text):
        try:
            yield tomllib.loads(part)
        except (ValueError, RecursionError) as error:  # ValueError: also a number of 5,000 digits
            reason = _moved(str(error) or "nested too deeply", line - 1)
            file.skip("syntax", f"is not valid TOML: {reason}", line)
        line += part.count("\n")


def _moved(sentence: str, lines: int) -> str:
    """Replace the line of a part of a file in a message by the line in the file."""
    return re.sub(r"at line (\d+)", lambda match: f"at line {int(match[1]) + lines}", sentence)


def _lines_of_ids(text: str) -> dict[str, int]:
    """Return the line on which each rule is named first, where one can be found."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if match := ID_LINE.match(line):
            found.setdefault(match[2], number)
    return found


def _check_references(files: list[_File]) -> None:
    """Note causes that no file defines as mistakes, unless a file could not be read."""
    if any(file.skipped[reason] for file in files for reason in ("unreadable", "syntax")):
        return  # the rules of such a file are not known
    known = set().union(*(file.ids for file in files)) if files else set()
    for file in files:
        for rule in list(file.rules.values()):
            needed = (each.rule for each in rule.explained_by if not each.is_optional)
            gone = [name for name in needed if name not in known]
            if gone:
                file.leave_out(rule, f"there is no rule {', '.join(gone)}", "explained_by")


def _check_number(files: list[_File], chosen: Mapping[str, Rule]) -> None:
    """Note in the last file the number of rules beyond MAX_RULES."""
    more = len(chosen) - MAX_RULES
    if more > 0:
        sentence = f"the last {more} rules are left out: there may be {MAX_RULES} in all"
        files[-1].mistakes.append(Mistake(files[-1].name, sentence))
        files[-1].skipped["invalid"] += more


def _check_twice(files: list[_File]) -> None:
    """Note a rule that two files of one directory define as a mistake: the first file counts."""
    seen: dict[tuple[Path, str], str] = {}
    for file in files:
        for rule in list(file.rules.values()):
            place = (Path(file.name).parent, rule.id)
            if place in seen:
                file.leave_out(rule, f"is also in {seen[place]}", "id")
            seen.setdefault(place, file.name)
