"""Summary templates of rules: text with fields of the entity in braces."""

import re
import shlex
import sys
from collections.abc import Callable

from exporter.faults.expr.syntax import ExpressionError, Name
from exporter.faults.expr.typecheck import field_of
from exporter.faults.values import Value, Vocabulary
from exporter.record import dataclass

_PLACE = re.compile(
    r"\{(?P<name>[A-Za-z_][\w.]{0,80})(?:\[(?P<label>[\w,*-]{1,80})\])?"
    r"(?:\|(?P<other>[A-Za-z_][\w.]{0,80}))?(?::(?:\.(?P<digits>\d)(?P<style>[f%])|(?P<unit>bytes)))?\}",
    re.ASCII,
)
_BRACE = re.compile("[{}]")
NAME = "name"
EVENT = "event"
UNKNOWN = "unknown"
COMMAND = "`"
"""Stands before and after a command that a person types."""

MAX_TEXT = 500
SIZES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
FEW = 9.95
"""Fewer than this many of a unit are shown with one decimal."""


@dataclass(frozen=True, slots=True)
class _Placeholder:
    """A field in braces, with `digits` decimals, None for the plain value.

    A size is a number of bytes, shown in the largest fitting unit: 6.0 GB, 50 GB. `other` is shown
    where the field is not reported. A word of a command is quoted for the shell: users choose names
    of mounts and interfaces.
    """

    name: Name
    other: Name | None
    digits: int | None
    is_percent: bool
    is_size: bool
    is_word_of_command: bool

    def show(self, value: Value) -> str:
        """Return the value as text."""
        text = self._text(value)
        return shlex.quote(text) if self.is_word_of_command else text

    def _text(self, value: Value) -> str:
        if value is None:
            return UNKNOWN
        if self.is_size and isinstance(value, (int, float)):
            return _size(value)
        if self.digits is None or isinstance(value, (str, bool)):
            return f"{value:g}" if isinstance(value, float) else str(value)
        return f"{value:.{self.digits}{'%' if self.is_percent else 'f'}}"


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence with placeholders, which hold only names of fields."""

    parts: tuple[str | _Placeholder, ...]

    def names(self) -> tuple[Name, ...]:
        """Return the fields in the template, except those of events."""
        places = (part for part in self.parts if isinstance(part, _Placeholder))
        names = (name for place in places for name in (place.name, place.other) if name)
        return tuple(name for name in names if name.related != EVENT)

    def fill(self, value_of: Callable[[Name], Value]) -> str:
        """Return the sentence with the values of its fields; "unknown" for None."""
        return "".join(
            [
                part if isinstance(part, str) else part.show(_first(part, value_of))
                for part in self.parts
            ]
        )


def _size(number: float) -> str:
    """Return a number of bytes in the largest unit that fits."""
    unit = next((unit for unit, least in SIZES if abs(number) >= least), "")
    scaled = number / dict(SIZES).get(unit, 1.0)
    digits = 1 if unit and abs(scaled) < FEW else 0
    return f"{scaled:.{digits}f} {unit or 'bytes'}"


def _first(place: _Placeholder, value_of: Callable[[Name], Value]) -> Value:
    found = value_of(place.name)
    return value_of(place.other) if found is None and place.other is not None else found


def parse_template(source: str, kind: str, vocabulary: Vocabulary) -> Template:
    """Parse the sentence of a rule about this kind of entity; raise ExpressionError.

    `{name}` is the entity's display name, `{event.x}` the field x of the last event that the rule
    counted, `{a|b}` the field b where a is not reported.
    """
    check_braces(source)
    parts: list[str | _Placeholder] = []
    done = 0
    for match in _PLACE.finditer(source):
        parts.append(source[done : match.start()])
        parts.append(_place(match, kind, vocabulary))
        done = match.end()
    parts.append(source[done:])
    return Template(tuple(part for part in parts if part != ""))


def check_braces(source: str) -> None:
    """Raise ExpressionError for a sentence that is too long, or whose braces hold no field."""
    if len(source) > MAX_TEXT:
        raise ExpressionError(1, f"is longer than {MAX_TEXT} characters")
    without = _PLACE.sub(lambda place: "_" * len(place[0]), source)
    if wrong := _BRACE.search(without):
        raise ExpressionError(
            wrong.start() + 1, "braces hold the name of a field, such as {power:.0f}"
        )


def _place(match: re.Match[str], kind: str, vocabulary: Vocabulary) -> _Placeholder:
    position = match.start() + 1
    name = _name(match["name"], match["label"] or "", position, kind, vocabulary)
    other = _name(match["other"], "", position, kind, vocabulary) if match["other"] else None
    digits = match["digits"]
    return _Placeholder(
        name,
        other,
        None if digits is None else int(digits),
        match["style"] == "%",
        bool(match["unit"]),
        _is_word_of_command(match),
    )


def _is_word_of_command(match: re.Match[str]) -> bool:
    """Tell whether the place is in a command, and is not the whole command."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    is_whole = before.endswith(COMMAND) and after.startswith(COMMAND)
    return before.count(COMMAND) % 2 == 1 and not is_whole


def _name(text: str, label: str, position: int, kind: str, vocabulary: Vocabulary) -> Name:
    word, _, field = map(sys.intern, text.rpartition("."))  # as the parser of expressions does
    name = Name(word, field, label, position)
    if word != EVENT and text != NAME:
        field_of(name, kind, vocabulary)
    return name
