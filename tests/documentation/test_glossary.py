"""The terms of the glossary are used, and the words that it refuses are not."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from exporter.collectors.everything import FAMILIES, LIVE_FAMILIES
from exporter.exposition.family import Family
from tests.documentation.blocks import PAGES
from tests.program import ROOT

ROW = re.compile(r"^\| [^|]+ \| [^|]+ \| [^|]+ \| ([^|]*?) ?\|$", re.MULTILINE)
REFUSED = {
    synonym
    for row in ROW.findall((ROOT / "docs/glossary.md").read_text("utf-8"))
    for synonym in row.split(", ")
    if synonym not in {"", "not"}
}
"""Everything in the last column."""

PHRASES = {phrase for phrase in REFUSED if " " in phrase} | {
    *("greeting", "greetings", "judge", "knob", "mended"),
}
NAMES = {word for word in REFUSED if " " not in word}
ROWS: tuple[Family, ...] = (*FAMILIES, *LIVE_FAMILIES)

NOT_YET: dict[str, set[str]] = {}
"""Files that still use a word: shrinks to nothing."""

QUOTED_IN = {"docs/glossary.md", "CHANGELOG.md"}
"""The pages that name old words as such."""


@cache
def _tokens(name: str) -> frozenset[str]:
    """Return the words of a name in snake case or camel case."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    return frozenset(part.lower() for part in parts)


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield every name that a module defines: classes, functions, parameters, variables."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _refused_names(path: Path) -> set[str]:
    names = {path.stem, *_names(ast.parse(path.read_text("utf-8")))}
    return {name for name in names if NAMES & _tokens(name)}


def _phrases(text: str) -> set[str]:
    lower = text.lower()
    return {phrase for phrase in PHRASES if re.search(rf"\b{re.escape(phrase)}\b", lower)}


def test_the_table_is_read() -> None:
    """The glossary refuses the private words, or the tests below would pass by themselves."""
    assert {"said", "told", "heard", "gaps", "greeting", "kin", "intake", "knob"} <= NAMES
    assert {"holds the clocks down", "up for"} <= PHRASES
    assert _refused_names(Path(__file__)) == set()


def test_names_are_the_terms() -> None:
    """No class, function, parameter, variable or module has a private name."""
    modules = [*(ROOT / "exporter").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
    found = {str(path.relative_to(ROOT)): _refused_names(path) for path in sorted(modules)}
    new = {file: names for file, names in found.items() if names - NOT_YET.get(file, set())}
    assert new == {}


def test_help_is_in_the_terms() -> None:
    """No HELP is in private words."""
    assert {row.name: _phrases(row.help) for row in ROWS if _phrases(row.help)} == {}


def test_pages_are_in_the_terms() -> None:
    """No page, neither written nor generated, is in private words."""
    texts = {page: (ROOT / page).read_text("utf-8") for page in PAGES if page not in QUOTED_IN}
    assert {page: _phrases(text) for page, text in texts.items() if _phrases(text)} == {}


def _strings(document: Any) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, (dict, list)):
        for value in document.values() if isinstance(document, dict) else document:
            yield from _strings(value)


def test_dashboards_are_in_the_terms() -> None:
    """No title, legend or description of a panel is in private words."""
    for file in sorted((ROOT / "dashboards").glob("*.json")):
        text = "\n".join(_strings(json.loads(file.read_text("utf-8"))))
        assert _phrases(text) == set(), file.name
