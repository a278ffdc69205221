"""From JSON to frozen values."""

from dataclasses import dataclass

import pytest

from exporter.decode import KeptLists, Rules, decode, decode_strict


@dataclass(frozen=True)
class Fan:
    """A nested value."""

    speed: int


@dataclass(frozen=True)
class Card:
    """Every kind of field that the model has."""

    name: str
    is_on: bool | None = None
    count: int | None = None
    watts: float | None = None
    clocks: tuple[tuple[str, float], ...] = ()
    fans: tuple[Fan, ...] = ()
    best: Fan | None = None


def test_a_whole_value_is_decoded() -> None:
    """Numbers, texts, pairs and nested values; an integer is welcome as a float."""
    card, misfits = decode(
        Card,
        {
            "name": "a card",
            "is_on": True,
            "count": 3,
            "watts": 250,
            "clocks": [["sm", 1.5e9]],
            "fans": [{"speed": 30}],
            "best": {"speed": 40},
            "of_the_future": 1,
        },
    )
    assert card == Card(
        name="a card",
        is_on=True,
        count=3,
        watts=250.0,
        clocks=(("sm", 1.5e9),),
        fans=(Fan(30),),
        best=Fan(40),
    )
    assert misfits == ()


def test_an_equal_list_is_the_same_object_and_any_other_is_decoded() -> None:
    """With what was kept of another value, a value is what it is without it."""
    kept = KeptLists()
    values: list[dict[str, object]] = [
        {"name": "a", "clocks": [["sm", 1.5]], "fans": [{"speed": 30}]},
        {"name": "b", "clocks": [["sm", 1.5]], "fans": [{"speed": 31}]},
        {"name": "c", "clocks": [["sm"]], "fans": []},
        {"name": "d", "clocks": [["sm", 1.5]]},
        {"name": "e", "clocks": None, "fans": {}},
    ]
    found = [decode(Card, value, kept) for value in values]
    assert found == [decode(Card, value) for value in values]
    assert found[1][0].clocks is found[0][0].clocks


@pytest.mark.parametrize(
    ("field", "content"),
    [
        ("is_on", 1),
        ("is_on", "yes"),
        ("count", 1.5),
        ("count", True),
        ("count", "3"),
        ("watts", "250"),
        ("watts", False),
        ("watts", float("nan")),
        ("watts", float("inf")),
        pytest.param("watts", 10**400, id="watts-huge"),
        ("clocks", [["sm"]]),
        ("clocks", [["sm", "fast"]]),
        ("clocks", {"sm": 1}),
        ("fans", [{}]),
        ("fans", [3]),
        ("best", []),
    ],
)
def test_what_does_not_fit_costs_its_field(field: str, content: object) -> None:
    """A field of the wrong type is absent and named; the others stay."""
    card, misfits = decode(Card, {"name": "a card", field: content})
    assert card == Card("a card")
    assert misfits == (field,)


@pytest.mark.parametrize("found", [{}, {"name": None}, {"name": 7}])
def test_without_its_identity_a_value_is_refused(found: dict[str, object]) -> None:
    """A field without default must be there."""
    with pytest.raises(ValueError, match="Card"):
        decode(Card, found)


def test_texts_are_cleaned_where_they_enter() -> None:
    """No control character gets from a probe to a label."""
    card, _ = decode(Card, {"name": "a\x00card\n"})
    assert card.name == "a\ufffdcard"


STRICT = Rules(unknown=lambda name, fields: f"no field {name} among {len(fields)}", unfolds=True)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ([], "card: an object is expected, not []"),
        ({"name": "a", "nmae": 1}, "card: no field nmae among 7"),
        ({"name": "a", "watts": "x"}, "card.watts: 'x' is no float"),
        (
            {"name": "a", "fans": [{"speed": 1}, {"speed": 1.5}]},
            "card.fans[1].speed: 1.5 is no int",
        ),
        ({"name": "a", "clocks": [["sm"]]}, "card.clocks[0]: 2 values are expected, not ['sm']"),
        ({"name": "a", "best": {}}, "card.best: Fan.__init__() missing 1 required positional"),
    ],
)
def test_strictly_a_misfit_is_named_with_its_place(found: object, sentence: str) -> None:
    """One sentence says where it is, what was found, and what is expected."""
    with pytest.raises(ValueError, match=r"^card") as caught:
        decode_strict(Card, found, STRICT, "card")
    assert str(caught.value).startswith(sentence)


def test_rows_may_be_written_as_objects_where_that_is_allowed() -> None:
    """A recording names its rows; a probe may not."""
    found = {"name": "a", "clocks": {"sm": 1, "memory": 2}, "fans": {"left": {"speed": 3}}}
    card = decode_strict(Card, found, STRICT, "card")
    assert card.clocks == (("sm", 1.0), ("memory", 2.0))
    assert card.fans == (Fan(3),)
    assert set(decode(Card, found)[1]) == {"clocks", "fans"}


def test_values_can_be_completed_before_they_are_made() -> None:
    """A default that depends on the moment is put in by whoever knows the moment."""

    def complete(kind: type, values: dict[str, object]) -> None:
        if kind is Card:
            values.setdefault("count", 9)

    assert decode_strict(Card, {"name": "a"}, Rules(complete=complete), "card").count == 9
