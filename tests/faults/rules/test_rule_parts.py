"""What a rule is made of: which events it needs, when it is silent, its sentences, its limits."""

from pathlib import Path

import pytest

from exporter.faults.entities.graph import AliasIndex
from exporter.faults.expr.compile import EvalContext
from exporter.faults.expr.parser import parse_expression
from exporter.faults.expr.syntax import ExpressionError, Name
from exporter.faults.observation import Observer
from exporter.faults.rules.loader import load_rules
from exporter.faults.rules.rule import Explanation, Rule, needed_events
from exporter.faults.rules.templates import parse_template
from exporter.faults.values import Value
from exporter.toml import tomllib
from tests.faults.scenes import SUBJECTS, VOCABULARY, book, gpu, rule, scene
from tests.faults.scenes import judge as judge_by

SOME = "events(xid, within=5m)"
MORE = "events(gpu_lost, within=5m)"
TABLE = tomllib.loads(Path(__file__).with_name("wrong_values.toml").read_text("utf-8"))
WRONG = [
    *TABLE["wrong"],
    ({"id": "a" * 81}, "must be letters"),
    ({"summary": "x" * 501}, "longer than 500"),
]


def only(folder: Path, when: str = "heat > 85", **more: object) -> Rule:
    """The one rule of a file, which must be without a mistake."""
    found = book(folder, rule("one", "gpu", when, **more))
    assert not found.mistakes, [str(mistake) for mistake in found.mistakes]
    return found.rules[0]


def mistakes(folder: Path, **more: object) -> list[str]:
    """What is wrong with a rule that says this too."""
    found = book(folder, rule("one", "gpu", "heat > 85", **more))
    return [each.sentence for each in found.mistakes]


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        (f"{SOME} > 0", ["xid"]),
        (f"{SOME} >= 1", ["xid"]),
        (f"{SOME} > 5", ["xid"]),
        (f"{SOME} >= 0", None),
        (f"{SOME} > -1", None),
        (f"{SOME} < 5", None),
        (f"{SOME} == 1", None),
        (f"0 < {SOME}", None),
        (f"{SOME} > heat", None),
        ("heat > 85", None),
        (f"not {SOME} > 0", None),
        (f"{SOME} > 0 and heat > 85", ["xid"]),
        (f"heat > 85 and {SOME} > 0", ["xid"]),
        ("heat > 85 and up", None),
        (f"{SOME} > 0 or {MORE} > 0", ["xid", "gpu_lost"]),
        (f"{SOME} > 0 or heat > 85", None),
    ],
)
def test_a_rule_knows_the_events_without_which_it_cannot_hold(
    source: str, kinds: list[str] | None
) -> None:
    """One of a sum that must hold, all of those of which any may; nothing where a field does."""
    found = needed_events(parse_expression(source))
    assert (None if found is None else [each.what for each in found]) == kinds


@pytest.mark.parametrize(
    ("when", "gate", "fields", "is_silent"),
    [
        ("known(heat) and heat > 85", None, {}, True),
        ("known(heat) and heat > 85", None, {"heat": 20.0}, False),
        ("known(heat) and heat > 85 and errors > 1", None, {"errors": 0.0}, False),
        ("heat > 85", None, {}, False),
        (f"known(heat) and {SOME} > 0", None, {}, False),
        ("heat > 85", "up", {"up": False}, True),
        ("heat > 85", "up", {}, True),
        ("heat > 85", "up", {"up": True}, False),
    ],
)
def test_a_rule_is_silent_where_nothing_is_said_of_what_it_is_about(
    tmp_path: Path, when: str, gate: str | None, fields: dict[str, Value], *, is_silent: bool
) -> None:
    """Its gate is not open, or none of the fields that it asks to be known is."""
    found = only(tmp_path, when, **({"only_if": gate} if gate else {}))
    observer = Observer((), SUBJECTS, AliasIndex({}))
    card = gpu(**fields)
    ctx = EvalContext(0.0, observer.history, observer.observe(scene(0, card)), card, {})
    assert found.is_silent(ctx) is is_silent
    assert found.can_be_silent or not is_silent


def test_leaves_are_what_must_hold_or_must_not(tmp_path: Path) -> None:
    """Each with the sides of a comparison as they are written, in their order."""
    leaves = only(tmp_path, "not (up or heat > 85) and heat + errors < node.pressure").when.leaves
    assert [leaf.wanted for leaf in leaves] == [False, False, True]
    assert [[name for name, _ in leaf.sides] for leaf in leaves] == [
        [],
        ["heat", "value"],
        ["heat, errors", "node.pressure"],
    ]


def test_what_a_rule_does_not_say_has_its_default(tmp_path: Path) -> None:
    """The end takes as long as the beginning, the status follows from the severity."""
    found = only(tmp_path, **{"for": "60s"})
    assert (found.for_secs, found.clear_for_secs, found.confidence) == (60.0, 60.0, 0.9)
    assert (found.layer, found.status, found.symptom, found.escalate_to) == (
        *("process", "degraded"),
        *(False, "critical"),
    )
    assert (found.runbook, found.until, found.explained_by) == ("one", (), ())
    assert found.file.endswith("rules.toml")
    assert only(tmp_path, severity="critical").status == "failed"


def test_what_a_rule_says_is_taken(tmp_path: Path) -> None:
    """Explanations with their times, kinds that end it, a runbook of its own."""
    cause = {"rule": "one", "via": "node", "within": "60s", "weak": True, "ahead": "30s"}
    found = only(
        tmp_path,
        f"{SOME} > 0",
        explained_by=[cause, {"rule": "one", "via": "same", "after": "1m"}],
        until=["gpu_lost"],
        runbook="other",
        ends_by_time="nothing tells of its end",
        symptom=True,
        confidence=1,
        action="look_closer",
    )
    far = Explanation("one", "node", 60.0, is_weak=True, ahead_secs=30.0)
    near = Explanation("one", "same", after_secs=60.0)
    assert found.explained_by == (far, near)
    assert found.near_causes_first == (near, far)
    assert (far.distance, near.distance) == ((True, 3), (False, 0))
    assert (found.until, found.when.events[0].until) == (("gpu_lost",),) * 2
    assert (found.runbook, found.symptom, found.confidence) == ("other", True, 1.0)
    assert found.advice.parts == ("Look closer.",)


@pytest.mark.parametrize(("more", "words"), WRONG)
def test_a_value_that_cannot_be_is_a_mistake(
    tmp_path: Path, more: dict[str, object], words: str
) -> None:
    """One sentence for each, with what would be right."""
    found = mistakes(tmp_path, **more)
    assert any(words in sentence for sentence in found), found


@pytest.mark.parametrize(
    ("fields", "summary", "advice"),
    [
        ({"heat": 95.0, "state": "on"}, "burns", "Usual."),
        ({"heat": 95.0, "state": "off"}, "burns", "Usual."),
        ({"heat": 88.0, "state": "off"}, "is hot", "Turn u0 on."),
        ({"heat": 88.0}, "is hot", "Usual."),
    ],
)
def test_the_first_case_that_holds_is_said(
    tmp_path: Path, fields: dict[str, Value], summary: str, advice: str
) -> None:
    """It replaces what it has; a case that is not known to hold is passed over."""
    cases = [
        {"when": "heat > 90", "summary": "burns"},
        {"when": "state == 'off'", "advice": "Turn {name} on."},
    ]
    more = {"summary": "is hot", "advice": "Usual.", "cases": cases}
    judge = judge_by(tmp_path, rule("one", "gpu", "heat > 85", **more))
    found = judge.evaluate(scene(1.0, gpu(0, **fields))).active
    assert [(it.summary, it.advice.replace("GPU 0", "u0")) for it in found] == [(summary, advice)]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0 bytes"),
        (999, "999 bytes"),
        (6e9, "6.0 GB"),
        (50e9, "50 GB"),
        (268_435_456, "268 MB"),
        (9.96e6, "10 MB"),
        (1.5e12, "1.5 TB"),
        (None, "unknown"),
    ],
)
def test_a_number_of_bytes_is_said_for_people(number: Value, text: str) -> None:
    """In the largest unit of which there is one, with a digit behind the point below ten."""
    assert parse_template("{heat:bytes}", "gpu", VOCABULARY).fill(lambda _: number) == text


def test_limits_are_where_they_are_said_to_be(tmp_path: Path) -> None:
    """A day, eighty letters, five hundred characters, a share of one."""
    assert only(tmp_path, **{"for": "24h"}).for_secs == 86_400.0
    assert only(tmp_path, runbook="a" * 80).runbook == "a" * 80
    assert only(tmp_path, confidence=0.01).confidence == 0.01
    assert only(tmp_path, summary="x" * 500).summary.parts == ("x" * 500,)


def test_a_file_has_a_mebibyte_and_a_thousand_rules(tmp_path: Path) -> None:
    """How many are left out is said; a file is read up to its last byte."""
    many = "".join(rule(f"r{number}", "gpu", "up") for number in range(1002))
    (tmp_path / "a.toml").write_text(many.ljust(1024 * 1024))
    loaded = load_rules([tmp_path], VOCABULARY)
    assert (len(loaded.rules), loaded.rules[-1].id) == (1000, "r999")
    said = [each.sentence for each in loaded.mistakes]
    assert said == ["the last 2 rules are left out: there may be 1000 in all"]


def test_one_file_can_be_named_instead_of_its_folder(tmp_path: Path) -> None:
    """Whatever it is called; tables of another name in it are a mistake."""
    path = tmp_path / "rules.txt"
    path.write_text("[[rules]]\nid = 'a'\n")
    (found,) = load_rules([path], VOCABULARY).mistakes
    assert str(found) == f"{path}: 'rules' is not known; there are [[rule]], [actions] and concerns"
    path.write_text("rule = 5\n")
    (found,) = load_rules([path], VOCABULARY).mistakes
    assert found.sentence == "rules must be written as [[rule]]"
    path.write_text("rule = [5]\n")
    (found,) = load_rules([path], VOCABULARY).mistakes
    assert found.sentence == "rules must be written as [[rule]]"
    path.write_text("[[rule]]\nentity = 'gpu'\n")
    assert (
        str(load_rules([path], VOCABULARY).mistakes[0])
        == f"{path}: rule without id: id: is missing"
    )
    assert load_rules([], VOCABULARY).rules == ()


def filled(source: str, **fields: Value) -> str:
    """The sentence about a GPU with these fields, and an event with a code."""
    known = {"name": "GPU 0", "event.code": "79", **fields}

    def value_of(name: Name) -> Value:
        return known.get(name.text)

    return parse_template(source, "gpu", VOCABULARY).fill(value_of)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{name} has {heat:.0f} degrees", "GPU 0 has 90 degrees"),
        ("{heat:.2f}, {heat:.0%}", "90.50, 9050%"),
        ("{heat} and {errors}", "90.5 and 3"),
        ("{up:.1f}, {state:.1f}", "True, bad"),
        ("{clock[sm]}", "1e+09"),
        ("code {event.code}, {event.unit}", "code 79, unknown"),
        ("{node.pressure|heat}", "90.5"),
        ("{heat|errors}", "90.5"),
        ("", ""),
    ],
)
def test_a_sentence_is_filled_with_what_is_known(source: str, expected: str) -> None:
    """Numbers as they are asked for, words as they are, «unknown» where nothing was said."""
    fields: dict[str, Value] = {"heat": 90.5, "errors": 3, "up": True, "state": "bad"}
    assert filled(source, **fields, **{"clock[sm]": 1e9}) == expected


@pytest.mark.parametrize(
    ("source", "name", "expected"),
    [
        ("`du {name} | tail`: {name}", "/m/$(id)", "`du '/m/$(id)' | tail`: /m/$(id)"),
        ("`a` {name}, `b /dev/{name}`", "my disk", "`a` my disk, `b /dev/'my disk'`"),
        ("`smartctl -a /dev/{name}`", "nvme0n1", "`smartctl -a /dev/nvme0n1`"),
        ("`{name}`", "reset -i 0", "`reset -i 0`"),
    ],
)
def test_a_name_is_one_word_of_a_command(source: str, name: str, expected: str) -> None:
    """Who copies the command runs nothing that is in the name; a whole command stays as it is."""
    assert filled(source, name=name) == expected


@pytest.mark.parametrize(
    ("source", "position"),
    [("hot: {heet}", 6), ("a } b", 3), ("{heat} {", 8), ("{heat|heet}", 1), ("x" * 501, 1)],
)
def test_a_mistake_in_a_sentence_has_its_place(source: str, position: int) -> None:
    """The brace that it begins with."""
    with pytest.raises(ExpressionError) as caught:
        parse_template(source, "gpu", VOCABULARY)
    assert caught.value.position == position


def test_a_sentence_names_its_fields() -> None:
    """Those that stand in for others as well, those of events not."""
    names = parse_template("{heat|errors} {event.code} {name}", "gpu", VOCABULARY).names()
    assert [name.text for name in names] == ["heat", "errors", "name"]
