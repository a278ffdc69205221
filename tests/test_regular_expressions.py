"""Every regular expression of the package costs what its input's length costs."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import exporter
from exporter.collectors.kernel_log.pattern_file import shipped_lines
from exporter.collectors.kernel_log.regex_pumps import pumps
from tests.growth import is_linear

ROOT = Path(exporter.__file__).parent
LENGTH = 2048
DEPTH = 6
SEARCHING = ("search", "finditer", "findall", "sub", "split")
LEAST_PATTERNS = 200
"""There were so many when this was written: a search that finds none would find nothing wrong."""


MODULES: list[Any] = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(exporter.__path__, "exporter.")
    if not found.name.endswith("__main__")
]


def _within(value: Any, depth: int = DEPTH) -> Iterator["re.Pattern[Any]"]:
    """The patterns in a value, however deep in tables and rows."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        yield from (found for each in value.values() for found in _within(each, depth - 1))
    elif depth and isinstance(value, (tuple, list, set, frozenset)):
        yield from (found for each in value for found in _within(each, depth - 1))
    elif depth and is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _within(getattr(value, field.name, None), depth - 1)


def _written_in_calls(source: str) -> Iterator["re.Pattern[str]"]:
    """Patterns that stand in a call: `re.fullmatch("…", text)`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re")),
                args=[ast.Constant(value=str(pattern)), *_],
            ):
                yield re.compile(pattern)


def _patterns() -> dict["re.Pattern[Any]", tuple[str, str]]:
    """Each pattern, where it is, and how it is used: from the beginning or anywhere."""
    result: dict[re.Pattern[Any], tuple[str, str]] = {}
    for module in MODULES:
        source = Path(str(module.__file__)).read_text("utf-8")
        for name, value in vars(module).items():
            is_searched = any(f"{name}.{way}(" in source for way in SEARCHING)
            for pattern in _within(value):
                result[pattern] = (
                    f"{module.__name__}.{name}",
                    "search" if is_searched else "match",
                )
        for pattern in _written_in_calls(source):
            result.setdefault(pattern, (module.__name__, "match"))
    for row in shipped_lines().rows:
        result[row.pattern] = (f"kernel_log.toml, {row.kind}", "match")
    return result


def _maker(before: str, pump: str) -> Callable[[int], str]:
    return lambda count: before + pump * count + "\0\n!"


def test_no_text_makes_a_pattern_slow() -> None:
    """What each loop repeats, two thousand times over and then something else: linear."""
    patterns = _patterns()
    assert len(patterns) >= LEAST_PATTERNS
    for pattern, (where, way) in patterns.items():
        is_bytes = isinstance(pattern.pattern, bytes)
        text = re.compile(pattern.pattern.decode("latin-1")) if is_bytes else pattern
        for before, pump in pumps(text):
            length = LENGTH // max(1, len(pump))
            slow = not is_linear(getattr(text, way), _maker(before, pump), length)
            assert not slow, f"{where}: {before[-60:]!r} and then {pump!r} again and again"


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        (r"a*a*b", LENGTH),
        (r"k=\d+\s*(?:,\s*(.*))?$", LENGTH),
        (r"\[ ?[a-z ]+? *z? *$", LENGTH // 4),  # the cube of its length: a minute for all of it
    ],
)
def test_a_slow_pattern_would_be_found(pattern: str, length: int) -> None:
    """The inputs that are tried find what is known to be slow."""
    slow = re.compile(pattern)
    makers = [_maker(before, pump) for before, pump in pumps(slow)]
    assert not all(is_linear(slow.match, make, length) for make in makers)
