"""Which lines are one message, and which messages repeat another."""

import pytest

from exporter.collectors.kernel_log.multiline import (
    MAX_LISTED,
    Message,
    MultilineAssembler,
    Repeats,
    UnnamedExceptions,
    same_thing,
)
from exporter.collectors.kernel_log.pattern import LinePattern, Role
from exporter.collectors.kernel_log.table import Match


def match(role: Role, line: str = "line", *, kind: str = "aer", **fields: str) -> Match:
    """A line of this role that said these fields."""
    row = LinePattern(
        kind,
        "",
        "",
        role=role,
        same="pci",
        once="layer" if role is Role.JOIN else "",
        needs="pci" if role is Role.START else "",
    )
    return Match(row, fields, line)


def said(*lines: tuple[float, Match]) -> list[tuple[dict[str, str], int]]:
    """The fields and the number of lines of each message, as they are finished."""
    assembler = MultilineAssembler()
    messages = [message for stamp, each in lines for message in assembler.take(each, stamp)]
    messages += assembler.finish()
    assert not assembler.is_holding
    return [(message.fields, len(message.lines)) for message in messages]


def start() -> Match:
    """The first line of a message about a."""
    return match(Role.START, pci="a")


@pytest.mark.parametrize(("later", "count"), [(1.0, 1), (-1.0, 1), (1.1, 2), (-1.1, 2)])
def test_lines_within_a_second_of_the_first_are_one_message(later: float, count: int) -> None:
    """Two processors may print in either order."""
    joined = match(Role.JOIN, pci="a", layer="x")
    assert len(said((100.0, start()), (100.0 + later, joined))) == count


def test_a_line_joins_what_is_about_the_same_thing() -> None:
    """Or about a thing that only one of the two names; another thing is another message."""
    other, silent = match(Role.JOIN, pci="b"), match(Role.JOIN, layer="x")
    assert [lines for _, lines in said((1.0, start()), (1.0, other))] == [1, 1]
    assert said((1.0, start()), (1.0, silent)) == [({"pci": "a", "layer": "x"}, 2)]
    assert said((1.0, silent), (1.0, match(Role.JOIN, pci="b"))) == [
        ({"layer": "x"}, 1),
        ({"pci": "b"}, 1),
    ]


@pytest.mark.parametrize("role", [Role.WHOLE, Role.ENDED, Role.DROPPED])
def test_a_whole_line_leaves_an_open_message_open(role: Role) -> None:
    """It is a message at once; messages of another kind wait for their own lines."""
    whole = match(role, pci="b")
    joined = match(Role.JOIN, pci="a", layer="x")
    assert [lines for _, lines in said((1.0, start()), (1.0, whole), (1.0, joined))] == [1, 2]


def test_names_of_error_bits_are_listed_up_to_eight() -> None:
    """One line each; of other fields the last line is right."""
    bits = [match(Role.CONTINUATION, pci="a", error=f"bit{n}", other=str(n)) for n in range(12)]
    ((fields, lines),) = said((1.0, start()), *((1.0, bit) for bit in bits))
    assert fields["error"] == ",".join(f"bit{n}" for n in range(MAX_LISTED))
    assert (MAX_LISTED, fields["other"], lines) == (8, "11", 13)


@pytest.mark.parametrize(
    ("kind", "fields", "within"),
    [
        ("sxid", {"pci": "a", "code": "1", "link": "2"}, 1.0),
        ("kernel_oops", {}, 1.0),
        ("fs_shutdown", {"device": "sda"}, 1.0),
        ("oom_kill", {"pid": "7"}, 1.0),
        ("gpu_lost", {"pci": "a"}, 5.0),
    ],
)
def test_a_repetition_is_the_same_within_a_moment(
    kind: str, fields: dict[str, str], within: float
) -> None:
    """Later it is news; and so it is at once about another thing."""
    row = match(Role.WHOLE, kind=kind).row
    repeats = Repeats()

    def is_repeat(stamp: float, **other: str) -> bool:
        return repeats.is_repeat(Message(row, {**fields, **other}, stamp, ["x"]))

    assert not is_repeat(10.0)
    assert is_repeat(10.0 + within)
    assert is_repeat(10.0 - within)
    assert not is_repeat(10.1 + within)
    for name in fields:
        assert not is_repeat(10.1 + within, **{name: "another"})


def test_remembered_repeats_are_bounded() -> None:
    """A log that never says the same twice costs room for so many messages, and the oldest go."""
    repeats, row = Repeats(max_recent=5), match(Role.WHOLE, kind="fs_shutdown").row
    first, *_, last = each = [Message(row, {"device": f"sd{n}"}, 1.0, ["x"]) for n in range(10)]
    assert not any(map(repeats.is_repeat, each))
    assert repeats.is_repeat(last)
    assert not repeats.is_repeat(first)


def test_an_xid_is_no_repetition_but_makes_one() -> None:
    """The driver says of a lost GPU by Xid 79 what it says in words too."""
    repeats = Repeats()
    xid = Message(match(Role.WHOLE, kind="xid").row, {"pci": "a", "code": "79"}, 1.0, ["x"])
    words = Message(match(Role.WHOLE, kind="gpu_lost").row, {"pci": "a"}, 3.0, ["x"])
    assert not repeats.is_repeat(xid)
    assert repeats.is_repeat(words)
    assert not repeats.is_repeat(xid)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("xid", {"pci": "a", "code": "31"}), ("oom_kill", {}), ("x", {"code": "79"})],
)
def test_other_messages_never_repeat_each_other(kind: str, fields: dict[str, str]) -> None:
    """Each of them happened."""
    assert same_thing(kind, fields) is None


GPU, OTHER, INSTANCE = {"pci": "0000:1b:00.0"}, {"pci": "0000:3b:00.0"}, {"gi": "5"}
PLACE = {**GPU, "code": "13", "anonymous": "yes", "gpc": "1"}
NAMED = {**GPU, "code": "13", "pid": "7", "name": "a"}


@pytest.mark.parametrize(
    ("printed", "apart_secs", "pids"),
    [
        ([PLACE, PLACE, NAMED], 0.1, ["7", "7", "7"]),
        ([PLACE, {**GPU, "code": "48"}, NAMED], 0.01, [None, "7", "7"]),
        ([PLACE, {**NAMED, **OTHER}], 0.01, ["7", None]),
        ([PLACE, NAMED], 0.3, [None, "7"]),
        ([PLACE, {**PLACE, **INSTANCE}, NAMED], 0.01, ["7", "7", None]),
        ([*[PLACE] * 600, NAMED], 0.001, [None] * 512 + ["7"] * 89),
    ],
    ids=["named", "another Xid between", "another GPU", "late", "another instance", "too many"],
)
def test_a_line_without_a_process_waits_for_the_line_that_names_it(
    printed: list[dict[str, str]], apart_secs: float, pids: list[str | None]
) -> None:
    """For a moment, and each line is kept; what is about something else does not wait."""
    row = match(Role.WHOLE, kind="xid").row
    unnamed = UnnamedExceptions()
    passed: list[Message] = []
    for index, fields in enumerate(printed):
        passed += unnamed.take(Message(row, dict(fields), 100.0 + index * apart_secs, []))
    passed += unnamed.release()
    assert [message.fields.get("pid") for message in passed] == pids
    assert all(("anonymous" in m.fields) <= ("pid" not in m.fields) for m in passed)
    assert not unnamed.is_holding


def test_a_row_of_an_operator_need_not_say_that_no_process_was_named() -> None:
    """Its lines may be Xids too, without the fields that ours have."""
    row, unnamed = match(Role.WHOLE, kind="xid").row, UnnamedExceptions()
    passed = [*unnamed.take(Message(row, {**GPU, "code": "13"}, 100.0, []))]
    passed += unnamed.take(Message(row, dict(NAMED), 100.1, []))
    assert [message.fields["pid"] for message in passed] == ["7", "7"]


def test_each_record_below_a_head_of_another_kind_is_of_that_kind() -> None:
    """The firmware may have kept two records: neither is of this boot."""
    head = Match(LinePattern("bert", "", "", role=Role.START, opens="aer"), {}, "head")
    record = match(Role.JOIN, layer="x")
    assembler = MultilineAssembler()
    finished = [it for each in (head, record, record) for it in assembler.take(each, 1.0)]
    finished += [*assembler.finish(), *assembler.take(record, 1.0), *assembler.finish()]
    assert [it.row.kind for it in finished] == ["bert", "bert", "aer"]
