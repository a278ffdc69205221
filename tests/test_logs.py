"""Log lines that are never a reason to wait."""

import io
import json
import logging
import os
import threading
from collections.abc import Iterator

import pytest

from exporter.logs import (
    MAX_OF_A_KIND_AN_HOUR,
    MAX_REPEATS_A_MINUTE,
    MAX_WAITING,
    JsonLines,
    NonBlockingHandler,
    PlainLines,
    to_line,
)


def _record(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "exporter", "levelno": 30, "levelname": "WARNING"})
    made.msg, made.args = message, arguments
    made.__dict__.update(more)
    return made


def _caught() -> object:
    error = ValueError("why\nso")
    return type(error), error, error.__traceback__


def test_one_event_is_one_line_of_json() -> None:
    """Control characters and line breaks in what is logged do not make a second line."""
    line = JsonLines().format(
        _record('a\n{"level": "error"}\x1b[2J %s', "b\r\nc", exc_info=_caught())
    )
    assert "\n" not in line
    entry = json.loads(line)
    assert list(entry) == ["time", "level", "logger", "message", "traceback"]
    assert entry["level"] == "warning"
    assert entry["message"] == 'a {"level": "error"}\ufffd[2J b  c'
    assert entry["traceback"] == "ValueError: why\nso"


def test_stacks_are_shown() -> None:
    """What the watchdog found is in the line, whatever the form."""
    record = _record("hangs", stack_info="thread main:\n  here")
    assert json.loads(JsonLines().format(record))["stacks"] == "thread main:\n  here"
    assert PlainLines().format(record).endswith("WARNING hangs\nthread main:\n  here")


def test_people_get_text() -> None:
    """On a terminal a line is time, level and message, and a traceback follows it."""
    line = PlainLines().format(_record("x\ny", exc_info=_caught()))
    first, *rest = line.splitlines()
    assert first.endswith("WARNING x y")
    assert rest == ["ValueError: why", "so"]


class _Blocked(io.StringIO):
    """A stream whose reader has gone to sleep, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def write(self, text: str) -> int:
        self.let_go.wait()
        return super().write(text)


class _Failing(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError(28, os.strerror(28))


@pytest.fixture
def blocked() -> Iterator[_Blocked]:
    """A stream that takes nothing while the test runs."""
    stream = _Blocked()
    yield stream
    stream.let_go.set()


def test_a_blocked_stream_costs_lines_and_no_time(blocked: _Blocked) -> None:
    """Beyond a bounded queue lines are dropped and counted; nobody waits."""
    handler = NonBlockingHandler(blocked)
    for number in range(MAX_WAITING + 50):
        handler.handle(_record(f"line {number}"))
    # One line may be in the hands of the writer already.
    assert 49 <= handler.dropped <= 50
    handler.drain(0)


def test_a_failing_stream_is_counted() -> None:
    """A full disk behind standard error is not an error of ours."""
    handler = NonBlockingHandler(_Failing())
    handler.handle(_record("lost"))
    handler.drain(10)
    assert handler.dropped == 1


def test_the_last_words_are_written() -> None:
    """`drain` comes back when everything queued before has been written."""
    for _ in range(50):
        stream = io.StringIO()
        handler = NonBlockingHandler(stream)
        handler.setFormatter(JsonLines())
        handler.handle(_record("last words"))
        handler.drain(10)
        assert "last words" in stream.getvalue()


def test_what_is_said_again_and_again_is_left_out() -> None:
    """The same line is written a few times a minute; others are not held back by it."""
    stream = io.StringIO()
    handler = NonBlockingHandler(stream)
    for _ in range(100):
        handler.handle(_record("no descriptor left", created=120.0))
    handler.handle(_record("another", created=120.5))
    handler.handle(_record("no descriptor left", created=181.0))
    handler.drain(10)
    lines = stream.getvalue().splitlines()
    assert lines.count("no descriptor left") == MAX_REPEATS_A_MINUTE + 1
    assert lines.count("another") == 1
    assert handler.dropped == 100 - MAX_REPEATS_A_MINUTE


def test_a_number_that_json_has_no_word_for_is_null() -> None:
    """A reader of the log never meets NaN or Infinity, however deep."""
    entry = {"a": float("nan"), "b": [{"c": float("-inf")}], "d": 1.5}
    assert json.loads(to_line(entry)) == {"a": None, "b": [{"c": None}], "d": 1.5}
    assert "NaN" not in to_line(entry)


def test_a_tenant_cannot_fill_the_disk_with_lines() -> None:
    """Lines of one kind are bounded in an hour, the last one says so; other faults are not held."""
    stream = io.StringIO()
    handler = NonBlockingHandler(stream)
    for number in range(1000):
        for state in ("active", "cleared"):
            line = _record(
                "fault %s is %s on %d", "process_oom_kill", state, number, created=7200.0
            )
            line.fields = {"fault": "process_oom_kill", "state": state}
            handler.handle(line)
    line = _record("fault %s is %s on %d", "gpu_lost", "active", 0, created=7201.0)
    line.fields = {"fault": "gpu_lost", "state": "active"}
    handler.handle(line)
    handler.drain(10)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2 * MAX_OF_A_KIND_AN_HOUR + 1
    assert lines[-1] == "fault gpu_lost is active on 0"
    assert sum("further lines of this kind are dropped" in each for each in lines) == 2
    assert handler.dropped == 2000 - 2 * MAX_OF_A_KIND_AN_HOUR
    later = _record("fault %s is %s on %d", "process_oom_kill", "active", 0, created=10800.0)
    handler.handle(later)
    handler.drain(10)
    assert len(stream.getvalue().splitlines()) == len(lines) + 1
