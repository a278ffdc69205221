"""The decorator of values: what it makes is a dataclass, with less generated for it."""

import dataclasses
from dataclasses import field
from typing import Any

import pytest

from exporter.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Ours:
    """A value of this program."""

    name: str
    secret: str = field(default="", repr=False)
    sizes: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """The same value, as the standard library makes it."""

    name: str
    secret: str = field(default="", repr=False)
    sizes: tuple[int, ...] = ()


@dataclass(slots=True)
class Changing:
    """A value that may change."""

    inside: "list[Changing]"


def test_a_value_is_shown_as_the_standard_library_shows_it() -> None:
    """A value is shown by its fields, without those that are left out."""
    ours, theirs = Ours("a", "hidden", (1, 2)), Theirs("a", "hidden", (1, 2))
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")


def test_a_value_that_holds_itself_is_shown() -> None:
    """A value that holds itself is shown with an ellipsis in its own place."""
    outer = Changing([])
    outer.inside.append(outer)
    assert repr(outer) == "Changing(inside=[...])"


def test_equal_values_are_one_key() -> None:
    """Frozen values with equal fields are equal and have one hash; others have none."""
    assert {Ours("a"), Ours("a"), replace(Ours("b"), name="a")} == {Ours("a")}
    with pytest.raises(TypeError):
        hash(Changing([]))


def test_values_of_two_classes_or_of_other_fields_differ() -> None:
    """A value equals no value of another class, not even of one that inherits its fields."""

    @dataclass(frozen=True, slots=True)
    class Inheriting(Ours):
        """The same fields, another class."""

    assert Ours("a") != Ours("b")
    theirs: object = Theirs("a")
    assert Ours("a") != theirs
    assert Ours("a") != Inheriting("a")
    assert Inheriting("a") == Inheriting("a")
    assert len({Ours("a"), Inheriting("a")}) == 2
    assert Changing([]) == Changing([]) != Changing([Changing([])])


def test_a_field_that_is_not_compared_makes_no_difference() -> None:
    """Two values that differ only in such a field are equal and have one hash."""

    @dataclass(frozen=True, slots=True, order=True)
    class Noted:
        """A value with a note."""

        name: str
        note: str = field(default="", compare=False)

    assert {Noted("a", "first")} == {Noted("a", "second")}
    assert sorted([Noted("b"), Noted("a")]) == [Noted("a"), Noted("b")]


def test_comparing_is_generated_once() -> None:
    """The first comparison of a class replaces what it began with, as does the first hash."""

    @dataclass(frozen=True, slots=True)
    class Compared:
        """A value that nobody compared yet."""

        name: str

    first = Compared.__eq__, Compared.__hash__
    assert Compared("a") == Compared("a")
    second = Compared.__eq__, Compared.__hash__
    assert hash(Compared("a")) == hash(Compared("a"))
    assert not set(first) & set(second)
    assert (Compared.__eq__, Compared.__hash__) == second


def test_a_value_is_made_as_the_standard_library_makes_it() -> None:
    """Arguments come by position or name; each value has its own default; mistakes are named."""

    @dataclass()
    class Made:
        """A value with every kind of field."""

        name: str
        size: int = 1
        parts: "list[str] | None" = field(default_factory=list)
        whole: str = field(init=False)

        def __post_init__(self) -> None:
            self.whole = self.name * self.size

    first, second = Made("a"), Made(name="b", size=2, parts=None)
    assert (first.name, first.size, first.parts, first.whole) == ("a", 1, [], "a")
    assert (second.name, second.size, second.parts, second.whole) == ("b", 2, None, "bb")
    assert Made("a").parts is not first.parts
    with pytest.raises(TypeError, match=r"Made\.__init__\(\) missing 1 required .* 'name'"):
        Made()  # type: ignore[call-arg]  # as a mistake would
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        Made("a", other=1)  # type: ignore[call-arg]  # as a mistake would


def test_initializing_is_generated_once() -> None:
    """The first value of a class replaces what it began with, also if a subclass makes it."""

    @dataclass(frozen=True, slots=True)
    class Base:
        """A value that nobody made yet."""

        name: str

    class Plain(Base):
        """A subclass with nothing of its own."""

    @dataclass(frozen=True, slots=True)
    class Larger(Base):
        """A subclass with a field more."""

        size: int = 0

    first = Base.__init__
    assert Larger("a", 2).size == 2
    assert Base.__init__ is first
    assert Plain("a").name == "a"
    second = Base.__init__
    assert Base("b").name == "b"
    assert Base.__init__ is second is Plain.__init__ is not first


def test_only_what_differs_is_generated() -> None:
    """No method that refuses or shows is compiled for a class of its own."""
    assert not {"__setattr__", "__delattr__"} & vars(Ours).keys()
    assert vars(Ours)["__repr__"] is vars(Changing)["__repr__"]


def test_a_copy_has_the_changes_and_the_other_fields() -> None:
    """It is another value of the same class, as of the standard library; the first stays."""

    @dataclass(frozen=True, slots=True)
    class Inheriting(Ours):
        """A value with one field more."""

        more: float = 0.0

    first = Inheriting("a", "hidden", (1,), 2.0)
    several: tuple[dict[str, Any], ...] = ({}, {"name": "b"}, {"secret": "", "more": 3.0})
    for changes in several:
        copy = replace(first, **changes)
        assert copy == dataclasses.replace(first, **changes)
        assert type(copy) is Inheriting
    assert first == Inheriting("a", "hidden", (1,), 2.0)


def test_no_field_is_added_to_a_copy() -> None:
    """A value has the fields of its class."""
    with pytest.raises(AttributeError):
        replace(Ours("a"), size=1)  # type: ignore[call-arg]  # that is the mistake
