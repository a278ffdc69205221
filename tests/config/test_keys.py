"""Every key of the configuration, given what it cannot be: one sentence that names it."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.config import Config
from exporter.config.file import ConfigError, Layer, load

WRONG: dict[type, object] = {bool: 1, int: "1", float: "1.5", str: 5, tuple: "a"}


def _keys(section: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Every key with its default and what is allowed."""
    for item in dataclasses.fields(section):
        value = getattr(section, item.name)
        if dataclasses.is_dataclass(value):
            yield from _keys(value, (*path, item.name))
        else:
            yield (*path, item.name), value, item.metadata


def _impossible(value: Any, metadata: Any) -> Iterator[object]:
    """Values of another type, beyond the bounds, and not on the list."""
    yield next((wrong for kind, wrong in WRONG.items() if type(value) is kind), 5)
    if metadata.get("at_least") is not None:
        yield type(value)(metadata["at_least"] - 1)
    if metadata.get("at_most") is not None:
        yield type(value)(metadata["at_most"] + 1)
    if metadata.get("one_of"):
        yield ("nonsense",) if isinstance(value, tuple) else "nonsense"


MISTAKES = [
    (path, wrong)
    for path, value, metadata in _keys(Config())
    for wrong in _impossible(value, metadata)
]

SECTIONS = [item.name for item in dataclasses.fields(Config)]


def _nested(path: tuple[str, ...], value: object) -> dict[str, Any]:
    for name in reversed(path):
        value = {name: list(value) if isinstance(value, tuple) else value}
    assert isinstance(value, dict)
    return value


def test_there_are_many() -> None:
    """Every key is tried, most of them in more than one way."""
    assert len(MISTAKES) >= 80


def _refused(path: tuple[str, ...], value: object) -> str:
    """What is said of this value of a key; nothing if it is accepted."""
    try:
        load([Layer("node.toml", _nested(path, value))])
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("section", SECTIONS)
def test_what_a_key_cannot_be_is_one_sentence(section: str) -> None:
    """The sentence names file and key, says what was found and what is allowed."""
    mistakes = [(path, wrong) for path, wrong in MISTAKES if path[0] == section]
    assert mistakes
    for path, wrong in mistakes:
        sentence = _refused(path, wrong)
        assert sentence.startswith("node.toml: "), (path, wrong)
        assert ".".join(path) in sentence
        assert "must be" in sentence
        assert "\n" not in sentence


@pytest.mark.parametrize("section", SECTIONS)
def test_a_misspelt_key_is_never_ignored(section: str) -> None:
    """One letter too many: the sentence says which key is unknown, and what may be meant."""
    paths = [path for path, _, _ in _keys(Config()) if path[0] == section]
    assert paths
    for path in paths:
        misspelt = (*path[:-1], path[-1] + "x")
        said = _refused(misspelt, 1)
        assert f'unknown key "{".".join(misspelt)}"' in said, path
        assert f"did you mean {path[-1]}?" in said, path
