"""Rule files: what is read, what is refused and how it is said, and what one bad file costs."""

from pathlib import Path

from exporter.faults.rules.loader import load_rules
from tests.faults.scenes import VOCABULARY, book, rule

GOOD = rule("good", "gpu", "heat > 85")


def test_a_later_directory_wins(tmp_path: Path) -> None:
    """A rule of the operator replaces the shipped one of the same id, the others stay."""
    for folder, text in (
        ("shipped", GOOD + rule("other", "gpu", "heat > 1")),
        ("own", rule("good", "gpu", "heat > 99", severity="critical")),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.toml").write_text(text)
    loaded = load_rules([tmp_path / "shipped", tmp_path / "own"], VOCABULARY)
    assert {each.id: each.severity for each in loaded.rules} == {
        "good": "critical",
        "other": "warning",
    }


def test_one_bad_rule_costs_that_rule(tmp_path: Path) -> None:
    """All others count, also those of its file; what is left out is counted by reason."""
    files = {
        "a.toml": GOOD,
        "b.toml": rule("worse", "gpu", "heet > 1") + rule("kept", "gpu", "heat > 1"),
        "c.toml": "[[rule]\n",
        "d.toml": "\x00",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "e.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "readme.txt").write_text("not a rule")
    loaded = load_rules([tmp_path, tmp_path / "none"], VOCABULARY)
    assert [each.id for each in loaded.rules] == ["good", "kept"]
    assert dict(loaded.skipped) == {"unreadable": 1, "syntax": 3, "invalid": 1, "broken": 0}


def test_a_file_gives_its_actions_a_sentence(tmp_path: Path) -> None:
    """The sentence of a file read later counts for all rules, one with a mistake only for none."""
    named = rule("named", "gpu", "heat > 85", action="check")
    (tmp_path / "a.toml").write_text('[actions]\ncheck = "Look at {name}."\n' + named)
    (tmp_path / "b.toml").write_text('[actions]\ncheck = "Look again."\nempty = 3\n')
    loaded = load_rules([tmp_path], VOCABULARY)
    assert [each.advice.fill(lambda _: None) for each in loaded.rules] == ["Look again."]
    assert [(each.key, each.sentence) for each in loaded.mistakes] == [
        ("actions.empty", "must be a table of texts of at most 500 characters")
    ]
    braces = "{}x{heat:.0f}x{a: 1}"
    (tmp_path / "b.toml").write_text(f'[actions]\ncheck = "Look {braces}."\n')
    loaded = load_rules([tmp_path], VOCABULARY)
    assert [(each.key, each.position, each.sentence) for each in loaded.mistakes] == [
        ("actions.check", 6, "braces hold the name of a field, such as {power:.0f}")
    ]
    assert loaded.actions["check"] == "Look at {name}."
    of_disk = rule("slow", "disk", "delay > 5", action="check")
    (tmp_path / "b.toml").write_text(
        f'[actions]\ncheck = "Look, it is {{heat:.0f}} here."\n{of_disk}'
    )
    loaded = load_rules([tmp_path], VOCABULARY)
    assert loaded.mistakes == ()
    assert loaded.rules[-1].advice.fill(lambda _: None) == "Look, it is here."
    (tmp_path / "b.toml").write_text("actions = 3\n")
    loaded = load_rules([tmp_path], VOCABULARY)
    assert [each.key for each in loaded.mistakes] == ["actions"]
    assert loaded.actions["check"] == "Look at {name}."


def test_rules_of_the_node_concern_what_their_file_says(tmp_path: Path) -> None:
    """A rule of another component does not, the rule's own word wins; a wrong one is a mistake."""
    node = {"severity": "critical", "summary": "{name}", "action": "check"}
    rows = (
        rule("all", "node", "pressure > 1", **node),
        rule("own", "node", "pressure > 1", concerns="process", **node),
        GOOD,
    )
    (tmp_path / "a.toml").write_text('concerns = "gpu"\n' + "".join(rows))
    loaded = load_rules([tmp_path], VOCABULARY)
    assert [each.concerns for each in loaded.rules] == ["gpu", "process", ""]
    (tmp_path / "a.toml").write_text('concerns = "gpo"\n' + "".join(rows))
    loaded = load_rules([tmp_path], VOCABULARY)
    assert [each.id for each in loaded.rules] == ["own", "good"]
    assert [(each.rule, each.key) for each in loaded.mistakes] == [("all", "concerns")]


def test_a_typo_in_the_toml_costs_its_rule(tmp_path: Path) -> None:
    """Every part that is no TOML is said with its line in the file, and the rules around count."""
    wrong = [rule(f"bad_{n}", "gpu", "heat > 1").replace('"gpu"', "gpu") for n in range(2)]
    loaded = book(tmp_path, "# ours\n" + wrong[0] + GOOD + wrong[1] + rule("b", "gpu", "heat > 2"))
    assert [each.id for each in loaded.rules] == ["good", "b"]
    length = GOOD.count("\n")
    said = [(each.line, each.sentence) for each in loaded.mistakes]
    assert [line for line, _ in said] == [2, 2 + 2 * length]
    assert f"at line {2 + 2 * length + wrong[1].split('gpu')[0].count(chr(10))}," in said[1][1]
    assert dict(loaded.skipped)["syntax"] == 2


def test_every_mistake_of_every_kind_is_said_at_once(tmp_path: Path) -> None:
    """An unknown table, a rule twice, in two files, a cause that is none, keys that are missing."""
    (tmp_path / "a.toml").write_text("[typo]\n" + GOOD + GOOD)
    cause = [{"rule": "nowhere", "via": "same"}, {"rule": "gone", "via": "same"}]
    more = rule("lost", "gpu", "heat > 1", explained_by=cause) + rule("kept", "gpu", "heat > 1")
    (tmp_path / "b.toml").write_text(GOOD + more)
    loaded = load_rules([tmp_path], VOCABULARY)
    assert [each.id for each in loaded.rules] == ["good", "kept"]
    assert [each.sentence.partition(str(tmp_path))[0] for each in loaded.mistakes] == [
        "'typo' is not known; there are [[rule]], [actions] and concerns",
        "is there twice",
        "there is no rule nowhere, gone",
        "is also in ",
    ]
    assert loaded.mistakes[-1].sentence.endswith("a.toml")
    assert dict(loaded.skipped)["invalid"] == 4
    said = map(str, book(tmp_path, '[[rule]]\nid = "a"\n').mistakes)
    assert [line.rpartition(": ")[0].rpartition(": ")[2] for line in said] == [
        *("entity", "when", "severity", "summary", "action"),
    ]


def test_all_mistakes_are_said_at_once_with_their_place(tmp_path: Path) -> None:
    """Each mistake is one line with file, line, rule, key and position."""
    text = GOOD + rule(
        "bad",
        "gpu",
        "heat > 85 and foo > 3",
        severity="loud",
        summary="{heet}",
        colour="red",
        **{"for": "5"},
    )
    said = [str(mistake) for mistake in book(tmp_path, text).mistakes]
    start = f"{tmp_path / 'rules.toml'}:9: rule bad: "
    assert all(line.startswith(start) for line in said)
    assert [line.removeprefix(start).split(";")[0] for line in said] == [
        "colour: is not a key of a rule",
        "when, character 15: gpu has no field foo",
        "for: is '5', but must be a number with ms, s, m, h or d, such as 90s or 10m, at most 24h",
        "severity: is 'loud', but must be one of critical, warning, info",
        "summary, character 1: gpu has no field heet",
    ]


def test_an_unreadable_file_does_not_make_others_wrong(tmp_path: Path) -> None:
    """A cause that might be in a broken file is not held against the file that names it."""
    (tmp_path / "a.toml").write_text("[[")
    text = rule("b", "gpu", "heat > 1", explained_by=[{"rule": "in_a", "via": "same"}])
    (tmp_path / "b.toml").write_text(text)
    assert [each.id for each in load_rules([tmp_path], VOCABULARY).rules] == ["b"]


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    """More than a mebibyte is no rule file."""
    (tmp_path / "a.toml").write_text("#" * (1024 * 1024 + 1))
    assert dict(load_rules([tmp_path], VOCABULARY).skipped)["unreadable"] == 1
