"""Expressions of rules: what they mean, what is refused, and that nothing gets through."""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from exporter.faults.entities.graph import AliasIndex
from exporter.faults.events.query import Events
from exporter.faults.expr.compile import EvalContext, compile_expr
from exporter.faults.expr.parser import parse_expression
from exporter.faults.expr.syntax import (
    MAX_LENGTH,
    ExpressionError,
    Window,
    counted_until,
    walk,
)
from exporter.faults.expr.typecheck import check_condition, type_of
from exporter.faults.observation import Observer
from exporter.faults.timeseries import History
from exporter.faults.values import Value, did_you_mean
from exporter.toml import tomllib
from tests.faults.scenes import SUBJECTS, VOCABULARY, gpu, scene, thing, xid

COUNTS = "events(xid, within=5m) > 0"
EVENT_SOURCES = frozenset({"kernel_log"})
TABLES = tomllib.loads(Path(__file__).with_name("expressions.toml").read_text("utf-8"))
VALUES = {"true": True, "false": False, "unknown": None}
REFUSED = TABLES["refused"]
MISTAKES = [
    *REFUSED["mistakes"],
    (f"'{'x' * 50}' + up[a[b]] > 1", 59, "a[b] is found, but a number or a word is wanted"),
    (f"up and {'x' * 50}(heat)", 8, f"no function {'x' * 40}; there are known, rate, "),
    (f"heat > 1 {'x' * 50}", 10, f"found {'x' * 40}, which cannot stand here"),
]


def rows_of(table: str) -> list[tuple[str, Value]]:
    """The expressions of a table in expressions.toml, with what each says."""
    return [(each, VALUES[said]) for said, sources in TABLES[table].items() for each in sources]


def say(
    source: str, fields: Mapping[str, Value], event_sources: frozenset[str] = EVENT_SOURCES
) -> Value:
    """What the expression says of a GPU with these fields."""
    observer = Observer((), SUBJECTS, AliasIndex({}))
    events = [xid(79, 90.0), xid(13, 95.0), xid(13, 99.0)] if event_sources else []
    card = gpu(**fields)
    view = observer.observe(scene(100.0, card, events=events, event_sources=event_sources))
    tree = parse_expression(source)
    type_of(tree, "gpu", VOCABULARY)
    related = {"node": thing("node", "n", pressure=7.0)}
    return compile_expr(tree)(EvalContext(100.0, observer.history, view, card, related))


def mistake(source: str) -> ExpressionError:
    """The mistake in a condition about a GPU."""
    with pytest.raises(ExpressionError) as caught:
        check_condition(parse_expression(source), "gpu", VOCABULARY)
    return caught.value


@pytest.mark.parametrize(("source", "expected"), rows_of("said"))
def test_an_expression_means_what_it_reads_like(source: str, expected: Value) -> None:
    """Comparison, logic, arithmetic, labels and events give the value one expects."""
    fields: dict[str, Value] = {"heat": 90.0, "up": True, "state": "bad", "clock[sm]": 1e9}
    assert say(source, fields) is expected


@pytest.mark.parametrize(("source", "expected"), rows_of("partly_said"))
def test_what_was_not_said_is_unknown_and_stays_so(source: str, expected: Value) -> None:
    """Unknown goes through comparisons and logic, unless the other side decides alone."""
    assert say(source, {"up": True, "errors": 5.0}) is expected


def test_events_that_nobody_would_have_told_of_are_unknown() -> None:
    """Without a source of events their number is not zero but unknown."""
    assert say("events(xid, within=1h) > 0", {}, event_sources=frozenset()) is None


@pytest.mark.parametrize(("source", "position", "words"), MISTAKES)
def test_a_mistake_is_told_with_its_place(source: str, position: int, words: str) -> None:
    """The character it is at, at most forty characters of what it is, and what would be right."""
    found = mistake(source)
    assert (found.position, words in found.sentence) == (position, True), str(found)


@pytest.mark.parametrize(
    ("part", "most", "cost"),
    [("events(xid, within=1h) > 0", 33, 409), ("rate(errors, 5m) > 0", 49, 401)],
)
def test_the_cost_of_an_expression_is_bounded(part: str, most: int, cost: int) -> None:
    """So many parts are taken, one more is refused with what all would cost."""
    parse_expression(" or ".join([part] * most))
    with pytest.raises(ExpressionError, match=f"costs {cost}, but may cost at most 400"):
        parse_expression(" or ".join([part] * (most + 1)))


@pytest.mark.parametrize("source", REFUSED["python"])
def test_nothing_of_python_can_be_reached(source: str) -> None:
    """What would be code elsewhere is a mistake here."""
    assert mistake(source).sentence


@pytest.mark.parametrize(
    "source",
    [
        "(" * 5000 + "up" + ")" * 5000,
        "(" * 900 + "up" + ")" * 900,
        "not " * 400 + "up",
        "-" * 1000 + "1 > 0",
        "up " + " " * 2000,
        " or ".join(["events(xid, within=1h) > 0"] * 50),
        "heat > " + "9" * 3000,
        "events(xid, code=[" + ", ".join(["1"] * 300) + "], within=5m) > 0",
        "x" * (MAX_LENGTH + 1),
    ],
)
def test_what_is_too_large_is_refused_at_once(source: str) -> None:
    """Length, depth and cost are bounded, and the refusal itself is cheap."""
    started = time.thread_time()  # the processor's time: other work on the machine is not ours
    assert mistake(source).sentence
    assert time.thread_time() - started < 0.5


def test_a_window_looks_back() -> None:
    """rate, increase, max_over and changes speak of the last seconds only."""
    history = History()
    card = gpu()
    for step in range(41):
        for secs in (1.0, 60.0, 300.0):
            history.take(card.key, "errors", secs, step * 15.0, 10.0 * step)
    observer = Observer((), SUBJECTS, AliasIndex({}))
    view = observer.observe(scene(600.0, card))
    ctx = EvalContext(600.0, history, view, card, {})

    def over(source: str) -> Value:
        return compile_expr(parse_expression(source))(ctx)

    assert over("increase(errors, 60s)") == 40.0
    assert over("rate(errors, 5m)") == pytest.approx(10 / 15)
    assert over("max_over(errors, 5m)") == 400.0
    assert over("changes(errors, 60s)") == 4.0


def test_brackets_side_by_side_are_not_deep() -> None:
    """Thirty pairs of brackets in a row are one level, and numbers without bound are unknown."""
    assert say(" or ".join(["(heat > 99)"] * 30), {"heat": 90.0}) is False
    assert say("heat * 1e308 > 0", {"heat": 90.0}) is None
    assert say("heat * 1e308 < 0 or up", {"heat": 90.0, "up": True}) is True


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
    assert words in mistake(longer).sentence


@pytest.mark.parametrize("source", [f"not {COUNTS}", f"up or {COUNTS}", f"1 < {COUNTS[:-4]} + 1"])
def test_events_are_counted_from_what_ends_them_wherever_they_stand(source: str) -> None:
    """Negated, beside others or in a sum: each count begins after a repair."""
    tree = counted_until(parse_expression(source), ("gpu_reset",))
    found = [node.until for node in walk(tree) if isinstance(node, Events)]
    assert found == [("gpu_reset",)]


def test_each_part_knows_where_it_begins() -> None:
    """Positions count characters from 1; a comparison is where its operator is."""
    source = "not up or (-heat) < 5 and known(heat) or state == 'a' or true or rate(heat, 5m) > 1"
    nodes = [*walk(parse_expression(source))]
    found = {(getattr(node, "sign", type(node).__name__), node.position) for node in nodes}
    assert found == {
        *(("or", 1), ("and", 11), ("not", 1), ("<", 19), ("==", 48)),
        *((">", 81), ("-", 12), ("Literal", 12), ("Literal", 21), ("Literal", 51)),
        *(("Literal", 58), ("Literal", 83), ("Name", 5), ("Name", 13), ("Name", 33), ("Name", 42)),
        *(("Name", 71), ("Known", 27), ("Window", 66)),
    }


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
    """The three closest, else the first twenty and how many more, else that there are none."""
    words = [f"word{n:02d}" for n in range(61)]
    assert did_you_mean("word5", words).count(" or ") == 2
    assert did_you_mean("quite else", words) == f"there are {', '.join(words[:20])} and 41 more"
    assert did_you_mean("any", ()) == "there are none"
