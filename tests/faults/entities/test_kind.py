"""Which fields of a model class rules can read, and how."""

from dataclasses import dataclass
from enum import Enum

import pytest

from exporter.faults.entities.kind import FieldsOf, getters_of, names_of, prefixed
from exporter.faults.values import FieldType, Type, Value


class Word(Enum):
    """One of a few words."""

    GOOD = "good"


@dataclass(frozen=True)
class Thing:
    """A value with fields of all sorts."""

    number: float
    count: int | None = None
    either: int | float | None = None
    flag: bool = False
    text: str | None = None
    word: Word = Word.GOOD
    by_label: tuple[tuple[str, float], ...] = ()
    by_labels: tuple[tuple[str, str, int], ...] | None = None
    mixed: int | str = 0
    partly: int | tuple[int, ...] = 0
    pair: tuple[str, float] = ("a", 1.0)
    flat: tuple[int, ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    numbers: tuple[tuple[int, float], ...] = ()
    lonely: tuple[tuple[float], ...] = ()
    fixed: tuple[tuple[str, float], tuple[str, float]] = (("a", 1.0), ("b", 2.0))
    parts: tuple[Word, ...] = ()

    @property
    def double(self) -> float:
        """What follows from the number."""
        return 2 * self.number

    @property
    def others(self) -> tuple[Word, ...]:
        """What rules cannot read."""
        return self.parts

    @property
    def _hidden(self) -> float:
        return self.number

    def method(self) -> float:
        """What is no field."""
        return self.number


NUMBER, TRUTH, TEXT = (FieldType(each) for each in (Type.NUMBER, Type.TRUTH, Type.TEXT))
LABELED = FieldType(Type.NUMBER, is_labeled=True)
THING = Thing(5.0, by_label=(("a", 1.0), ("b", 2.0)), by_labels=(("a", "b", 3), ("a", "c", 4)))


def test_fields_have_the_types_of_their_annotations() -> None:
    """Numbers, conditions, texts, one of a few words, and rows of labels and a number."""
    assert names_of(Thing) == {
        "number": NUMBER,
        "count": NUMBER,
        "either": NUMBER,
        "double": NUMBER,
        "flag": TRUTH,
        "text": TEXT,
        "word": TEXT,
        "by_label": LABELED,
        "by_labels": LABELED,
    }


def test_a_quoted_annotation_is_refused() -> None:
    """It would hide the field from rules."""

    @dataclass
    class Quoted:
        number: "float"

    with pytest.raises(TypeError, match="quotation marks: float"):
        names_of(Quoted)


def test_names_can_stand_behind_a_prefix() -> None:
    """What they are stays the same."""
    assert prefixed("memory_", {"used": NUMBER}) == {"memory_used": NUMBER}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", 5.0),
        ("count", None),
        ("flag", False),
        ("text", None),
        ("word", "good"),
        ("double", 10.0),
        ("by_label[b]", 2.0),
        ("by_label[c]", None),
        ("by_labels[a,c]", 4),
        ("by_labels[a]", None),
        ("number[a]", None),
        ("colour", None),
        ("colour[red]", None),
    ],
)
def test_a_field_is_read_by_its_name(name: str, value: Value) -> None:
    """With its labels where it has some; what is not there was not said."""
    found = FieldsOf(THING, getters_of(Thing)).get(name)
    assert (found, type(found)) == (value, type(value))
