"""Any bytes in the place of the kernel's: a record or a refusal, and time linear in the length."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.collectors.kernel_log.checkpoint import decode, dump_state
from exporter.collectors.kernel_log.pattern_file import shipped_lines
from exporter.collectors.kernel_log.record import (
    Record,
    join_lines,
    parse_kmsg,
    parse_syslog,
    split_kmsg,
)
from exporter.collectors.kernel_log.syslog import SyslogRing
from exporter.collectors.kernel_log.table import Table
from exporter.collectors.kernel_log.values import KernelLog
from exporter.state import MISFITS, parse
from tests.collectors.kernel_log.feeding import pipeline
from tests.collectors.kernel_log.lines import KNOWN_LINES
from tests.growth import is_linear

EXAMPLES = 300
BOOT = "boot"

# Text as a mutating loop would make it: pieces of known lines, cut and put together anew.
PIECES = st.sampled_from(KNOWN_LINES).flatmap(
    lambda line: st.tuples(st.integers(0, len(line)), st.integers(0, len(line))).map(
        lambda ends: line[min(ends) : max(ends)]
    )
)
TEXTS = st.lists(PIECES | st.text(max_size=20) | st.just("\n"), max_size=6).map("".join)
RECORDS = st.builds(
    Record,
    st.integers(0, 191),
    st.none() | st.integers(0, 2**63),
    st.floats(0, 1e6),
    TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=200),
    st.booleans(),
)


def log_of(records: list[Record]) -> KernelLog:
    """What is kept of these records."""
    taker = pipeline()
    for record in records:
        taker.take(record)
    taker.settle()
    assert taker.position is not None or not records
    if taker.position is not None:
        text = dump_state(BOOT, taker.position, taker.counters)
        saved = parse(text, BOOT, 1, decode)
        assert saved is not None
        assert saved.counters.kinds == taker.counters.kinds
    return taker.counters.as_value("kmsg", "ok")


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(st.lists(RECORDS, max_size=6))
def test_any_records_are_events_of_known_kinds_or_nothing(records: list[Record]) -> None:
    """Whatever a record holds, its events are whole, bounded and can be saved and read again."""
    log = log_of(records)
    assert log.records == len(records)
    for event in log.events:
        assert event.kind in shipped_lines().kinds
        assert len(event.raw.encode()) <= 512
        assert all(value.isprintable() for value in event.fields.values())
        assert event.entity_id or event.entity_type == "node"


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=600))
def test_any_bytes_of_the_device_are_records_or_refused(data: bytes) -> None:
    """Splitting loses nothing but properties without their record, and parsing never fails."""
    pieces, rest = split_kmsg(data)
    assert len(b"".join(pieces)) + len(rest) <= len(data) + 1
    for piece in pieces:
        record = parse_kmsg(piece)
        assert record is None or (record.stamp >= 0 and record.text() is not None)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=600), st.binary(max_size=600))
def test_any_answer_of_syslog_is_read(first: bytes, second: bytes) -> None:
    """Two looks at any two rings give records, and what was seen is not given again."""
    answers = iter((first, second, second, second, second))
    ring = SyslogRing(lambda action, _size: b"4096" if action != 3 else next(answers))
    for look in (ring.look(), ring.look()):
        assert all(record.sequence is None for record in join_lines(look.records))


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=10,
    ),
    st.sampled_from(("sequence", "stamp", "records", "kinds", "xids", "gpu_uuids", "number")),
)
def test_any_state_is_read_or_refused(value: object, key: str) -> None:
    """A state with any value in any place is a state without negative counts, or none."""
    state: dict[str, object] = {
        "sequence": 1,
        "stamp": 1.0,
        "records": 1,
        "lost": 0,
        "suppressed": 0,
        "number": 1,
        "rejected": {},
        "kinds": {"xid": 1},
        "types": {},
        "xids": [],
        "gpu_uuids": {},
        key: value,
    }
    with suppress(*MISFITS):
        saved = decode(state)
        assert min((saved.counters.records, *saved.counters.kinds.values())) >= 0
        assert 0 <= saved.position.stamp < float("inf")


GROWING: tuple[tuple[str, Callable[[Any], object], Callable[[int], bytes]], ...] = (
    ("kmsg", split_kmsg, lambda n: b"4,1,2,-;x\n K=v\n" * (n // 16)),
    ("escapes", lambda data: Record(4, 1, 1.0, data).text(), lambda n: b"\\x0a" * (n // 4)),
    (
        "syslog",
        lambda data: list(join_lines(parse_syslog(data))),
        lambda n: b"<4>[    1.000001] NVRM: x\n" * (n // 26),
    ),
    (
        "one moment",
        lambda data: log_of(list(join_lines(parse_syslog(data)))),
        lambda n: b"<4>[    1.000001] VFS: file-max limit 7 reached\n" * (n // 48),
    ),
)


@pytest.mark.parametrize(("name", "call", "make"), GROWING, ids=[row[0] for row in GROWING])
def test_reading_is_linear(
    name: str, call: Callable[[Any], object], make: Callable[[int], bytes]
) -> None:
    """Sixteen times the bytes cost sixteen times the time."""
    assert is_linear(call, make, 64_000), name


def test_every_pattern_is_linear() -> None:
    """No line makes a pattern look at it again and again: each piece of a known line repeated.

    The lines are as long as they are ever looked at.
    """
    table = Table()
    tried = 0
    for row in shipped_lines().rows:
        line = next((each for each in KNOWN_LINES if row.pattern.match(each)), None)
        if line is None:
            continue
        tried += 1
        for start in (0, len(line) // 3, 2 * len(line) // 3):

            def make(length: int, line: str = line, start: int = start) -> str:
                head, tail = line[:start], line[start:]
                return (head + tail * (length // max(1, len(tail))))[:length]

            assert is_linear(table.match, make, 2_048), (row.kind, line, start)
    assert tried > 80, "the rows were not tried"
