"""Fields of recordings: what one version has recorded, all later ones read.

`recorded_fields.txt` lists every field that was ever recorded. A new field is added to it; a line
is never removed: the field of that line has an old name in its collector (`old_names`).
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import pytest

from exporter.collectors.everything import EVERYTHING
from exporter.faults.replay.renamed import Renaming

RECORDED = Path(__file__).with_suffix(".txt").with_name("recorded_fields.txt")
FORMAT = EVERYTHING.recordings


def recorded(hint: object, path: str) -> Iterator[str]:
    """Yield the path of each field below; `*` stands for each of a list, or any key."""
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        for each in fields(hint):
            yield f"{path}.{each.name}"
            yield from recorded(hints[each.name], f"{path}.{each.name}")
    else:
        below = f"{path}.*" if get_origin(hint) in {tuple, dict, frozenset} else path
        for part in get_args(hint):
            yield from recorded(part, below)


NOW = {path for name, kind in FORMAT.types.items() for path in recorded(kind, name)}
EVER = RECORDED.read_text("utf-8").split()


def test_every_field_is_listed() -> None:
    """A field that is not listed could be renamed, and nobody would miss the old name."""
    assert sorted(NOW - {*EVER}) == []


@pytest.mark.parametrize("path", sorted({*EVER} - NOW))
def test_a_field_of_an_older_recording_is_read(path: str) -> None:
    """Of a field that is gone, the old name is replaced by a present one, or left out."""
    *places, name = path.split(".")
    row: object = {name: 1}
    for place in reversed(places):
        row = {place: row}
    (found,) = _paths(Renaming(FORMAT.old_names).read(row)) or ("",)  # type: ignore[arg-type] # a dict
    assert found in {*NOW, ""}


def _paths(tree: object, path: str = "") -> list[str]:
    """Return the paths of the numbers of a tree."""
    if not isinstance(tree, dict):
        return [path]
    return [it for name in tree for it in _paths(tree[name], f"{path}.{name}".lstrip("."))]
