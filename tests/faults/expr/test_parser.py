"""What the parser takes at its limits, what it refuses beyond, and where each part begins."""

import pytest

from exporter.faults.events.query import Events
from exporter.faults.expr.parser import FUNCTIONS, parse_expression
from exporter.faults.expr.syntax import ExpressionError, Window, counted_until, walk
from exporter.faults.expr.typecheck import check_condition
from exporter.faults.values import Entity, did_you_mean
from tests.faults.scenes import VOCABULARY

COUNTS = "events(xid, within=5m) > 0"


def mistake(source: str) -> tuple[int, str]:
    """The place of the mistake in an expression about a GPU, and what is said of it."""
    with pytest.raises(ExpressionError) as caught:
        check_condition(parse_expression(source), "gpu", VOCABULARY)
    assert str(caught.value) == caught.value.sentence
    return caught.value.position, caught.value.sentence


@pytest.mark.parametrize(
    ("longest", "longer", "words"),
    [
        ("up".ljust(2000), "up".ljust(2001), "is longer than 2000 characters"),
        ("not " * 23 + "up", "not " * 24 + "up", "is nested deeper than 24"),
        ("rate(heat, 24h) > 1", "rate(heat, 1441m) > 1", "from 1s to 24h"),
        ("rate(heat, 1s) > 1", "rate(heat, 999ms) > 1", "from 1s to 24h"),
        (
            f"events(xid, code=[{', '.join('1' * 200)}], within=1m) > 0",
            f"events(xid, code=[{', '.join('1' * 201)}], within=1m) > 0",
            "a list has 1 to 200",
        ),
    ],
    ids=["length", "depth", "window", "shortest window", "list"],
)
def test_each_limit_is_where_it_is_said_to_be(longest: str, longer: str, words: str) -> None:
    """What just fits is a condition; one more is refused with the limit in the sentence."""
    check_condition(parse_expression(longest), "gpu", VOCABULARY)
    assert words in mistake(longer)[1]


@pytest.mark.parametrize("source", [f"not {COUNTS}", f"up or {COUNTS}", f"1 < {COUNTS[:-4]} + 1"])
def test_events_are_counted_from_what_ends_them_wherever_they_stand(source: str) -> None:
    """Negated, beside others or in a sum: each count begins after a repair."""
    tree = counted_until(parse_expression(source), ("gpu_reset",))
    found = [node.until for node in walk(tree) if isinstance(node, Events)]
    assert found == [("gpu_reset",)]


def test_each_part_knows_where_it_begins() -> None:
    """Positions count characters from 1; a comparison is where its operator is."""
    source = "not up or (-heat) < 5 and known(heat) or state == 'a' or true or rate(heat, 5m) > 1"
    found = {(type(node).__name__, node.position) for node in walk(parse_expression(source))}
    assert found == {
        *(("Junction", 1), ("Junction", 11), ("Not", 1), ("Compare", 19), ("Compare", 48)),
        *(("Compare", 81), ("Arithmetic", 12), ("Literal", 12), ("Literal", 21), ("Literal", 51)),
        *(("Literal", 58), ("Literal", 83), ("Name", 5), ("Name", 13), ("Name", 33), ("Name", 42)),
        *(("Name", 71), ("Known", 27), ("Window", 66)),
    }


@pytest.mark.parametrize(
    ("source", "position", "sentence"),
    [
        ("+heat > 1", 1, "+heat cannot stand in a rule"),
        ("heat > 0 and True", 14, "True cannot stand in a rule"),
        ("None == up", 1, "None cannot stand in a rule"),
        ("heat > 5m", 8, "5m is found, but the name of a field is wanted"),
        ("up and rate > 1", 8, "rate is found, but the name of a field is wanted"),
        ("known(heat, within=5m)", 1, "known takes the name of a field"),
        (
            "events(xid, code=5m, within=5m) > 0",
            18,
            "5m is found, but a number or a word is wanted",
        ),
        (
            "events(xid, code=None, within=5m) > 0",
            18,
            "None is found, but a number or a word is wanted",
        ),
        (f"heat > 1 {'x' * 50}", 10, f"found {'x' * 40}, which cannot stand here"),
        (
            f"up and {'x' * 50}(heat)",
            8,
            f"there is no function {'x' * 40}; there are {', '.join(FUNCTIONS)}",
        ),
        (f"'{'x' * 50}' + up[a[b]] > 1", 59, "a[b] is found, but a number or a word is wanted"),
    ],
)
def test_what_cannot_stand_is_named(source: str, position: int, sentence: str) -> None:
    """The part itself, at most forty characters of it, and what would be right."""
    assert mistake(source) == (position, sentence)


@pytest.mark.parametrize(
    "source",
    ["changes(state, 5m) > 1", "known(state)", "events(xid, within=1h, code=13) > 0", "heat\n> 1"],
)
def test_what_makes_sense_is_taken(source: str) -> None:
    """Texts change and are known, `within` may come first, and a rule may have several lines."""
    check_condition(parse_expression(source), "gpu", VOCABULARY)


def test_a_window_is_of_its_field_and_time() -> None:
    """A duration may be written bare or as a text."""
    windows = [
        next(node for node in walk(parse_expression(each)) if isinstance(node, Window))
        for each in ("rate(heat, 90s) > 1", "rate(heat, '90s') > 1")
    ]
    assert [(each.function, each.name.key, each.secs) for each in windows] == [
        ("rate", "heat", 90.0)
    ] * 2


def test_an_unknown_word_is_answered_with_known_ones() -> None:
    """The three closest, else the first sixty, else that there are none."""
    words = [f"word{n:02d}" for n in range(61)]
    assert did_you_mean("word5", words).count(" or ") == 2
    assert did_you_mean("quite else", words) == f"there are {', '.join(words[:60])}"
    assert did_you_mean("any", ()) == "there are none"


def test_a_component_is_fresh_unless_it_is_said_not_to_be() -> None:
    """Its kind is the first part of its key."""
    found = Entity(("gpu", "u0"), "GPU 0")
    assert (found.kind, found.is_fresh) == ("gpu", True)
