"""Every field of every reading, set to every bad value that its type or a rule knows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from exporter.collectors.everything import rule_book
from exporter.faults.expr.syntax import Literal, Name, Operation, walk
from exporter.model.snapshot import Outcome, Snapshot

MOST_LIKE = 2
"""Of many equal things so many are tried: the others are read by the same code."""

STRANGE = "strange"
"""A word that no rule knows: drivers and kernels add states."""

NUMBERS = (0, 1, 10_000_000)


@dataclass(frozen=True, slots=True)
class Change:
    """One field with another value; `path` leads to it from the reading."""

    path: tuple[str | int, ...]
    value: object

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} = {self.value!r}"


def changes(snapshot: Snapshot) -> Iterator[tuple[Change, Snapshot]]:
    """Yield the snapshot with each field of its readings changed, and each source failed."""
    for kind, reading in snapshot.readings.items():
        for path, value in _changed(reading, type(reading)):
            readings = {**snapshot.readings, kind: value}
            changed = replace(snapshot, readings=MappingProxyType(readings))
            yield Change((kind.__name__, *path[0]), path[1]), changed
    for at, report in enumerate(snapshot.reports):
        for outcome in (Outcome.FAILED, Outcome.STUCK):
            failed = replace(report, outcome=outcome, reason=STRANGE)
            reports = (*snapshot.reports[:at], failed, *snapshot.reports[at + 1 :])
            yield Change((report.source,), outcome), replace(snapshot, reports=reports)


Step = tuple[tuple["str | int", ...], object]


def _changed(value: Any, hint: object, name: str = "") -> Iterator[tuple[Step, Any]]:
    """Yield what the value may be instead: where it was changed to what, and the whole of it."""
    if is_dataclass(value) and not isinstance(value, type):
        yield from _with_other_fields(value)
    elif isinstance(value, tuple):
        is_list = len(set(map(type, value))) <= 1
        for at, part in enumerate(value[:MOST_LIKE] if is_list else value):
            for (path, new), whole in _changed(part, type(part), name):
                yield ((at, *path), new), (*value[:at], whole, *value[at + 1 :])
    else:
        for new in _bad_values(value, hint, name):
            yield ((), new), new


def _with_other_fields(value: Any) -> Iterator[tuple[Step, Any]]:
    hints = get_type_hints(type(value))
    for each in filter(lambda field: field.init, fields(value)):
        for (path, new), whole in _changed(getattr(value, each.name), hints[each.name], each.name):
            yield ((each.name, *path), new), replace(value, **{each.name: whole})


def _bad_values(value: object, hint: object, name: str) -> Iterator[object]:
    kinds = _kinds(hint) | ({type(value)} if value is not None else set())
    if bool in kinds:
        yield from (each for each in (True, False) if each is not value)
    elif kinds & {int, float}:
        yield from (each for each in NUMBERS if each != value)
    elif str in kinds:
        yield from (each for each in (*_words().get(name, ()), STRANGE) if each != value)


def _kinds(hint: object) -> set[object]:
    """The plain types that a field may have."""
    if get_origin(hint) in (Union, UnionType):
        return {kind for each in get_args(hint) for kind in _kinds(each)}
    return {hint}


@cache
def _words() -> Mapping[str, tuple[str, ...]]:
    """The words that the shipped rules compare fields with, by the field's name."""
    found: dict[str, dict[str, None]] = {}
    for rule in rule_book().rules:
        for compiled in (rule.when, rule.clear, rule.only_if, rule.escalate):
            for node in walk(compiled.tree) if compiled else ():
                if isinstance(node, Operation):
                    names = [part.field for part in node.parts if isinstance(part, Name)]
                    words = [part.value for part in node.parts if isinstance(part, Literal)]
                    for name in names:
                        row = found.setdefault(name, {})
                        row.update(dict.fromkeys(w for w in words if isinstance(w, str)))
    return {name: tuple(words) for name, words in found.items()}
