"""Logging: JSON lines, or text on a terminal; it never blocks.

A thread writes lines from a bounded queue: a blocked or closed standard error costs only lines,
which are counted. A repeated line (such as asyncio's without free descriptors) is dropped for the
rest of the minute. Lines of one kind, such as the beginning of one fault on many processes, are
dropped for the rest of the hour when there are too many: a tenant can cause any number of them.
"""

import json
import logging
import threading
from collections import Counter
from collections.abc import Mapping
from queue import Full, Queue
from typing import Any, TextIO

from exporter.model.label import clean_text

MAX_WAITING = 1000
MAX_MESSAGE_CHARS = 2000
MAX_TRACE_CHARS = 8000
MAX_REPEATS_A_MINUTE = 5
MAX_OF_A_KIND_AN_HOUR = 200
"""Lines of one kind per hour: about 2 MB a day."""


def to_line(entry: Mapping[str, Any]) -> str:
    """Return the entry as JSON; NaN and infinity become null."""
    try:
        return json.dumps(entry, allow_nan=False)
    except ValueError:
        return json.dumps(json.loads(json.dumps(entry), parse_constant=lambda _: None))


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return time, level, logger, message, the record's `fields`, and a traceback if any."""
        entry = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": clean_text(record.getMessage(), MAX_MESSAGE_CHARS),
        }
        entry.update(getattr(record, "fields", {}))
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)[-MAX_TRACE_CHARS:]
        if record.stack_info:
            entry["stacks"] = record.stack_info[-MAX_TRACE_CHARS:]
        return to_line(entry)


class PlainLines(logging.Formatter):
    """Text for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return time, level and message on one line, a traceback below it."""
        time = self.formatTime(record, "%H:%M:%S")
        line = f"{time} {record.levelname:<7} {clean_text(record.getMessage(), MAX_MESSAGE_CHARS)}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)[-MAX_TRACE_CHARS:]
        if record.stack_info:
            line += "\n" + record.stack_info[-MAX_TRACE_CHARS:]
        return line


class NonBlockingHandler(logging.Handler):
    """Queues lines for a thread that writes them; drops and counts those beyond the queue."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._lines: Queue[str] = Queue(MAX_WAITING)
        self._stream = stream
        self._repeated: Counter[str] = Counter()
        self._repeated_minute = 0
        self._of_kind: Counter[tuple[str, ...]] = Counter()
        self._hour = 0
        self.dropped = 0
        threading.Thread(target=self._write, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record's line, or count it as dropped."""
        if self._lines.full() or self._is_repeated(record) or self._is_one_of_many(record):
            self.dropped += 1
            return
        try:
            self._lines.put_nowait(self.format(record))
        except Full:  # another thread was faster
            self.dropped += 1

    def drain(self, secs: float) -> None:
        """Wait at most so many seconds until the queue is written."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(lambda: not self._lines.unfinished_tasks, secs)

    def _write(self) -> None:
        """Write queued lines for ever; count each line that a closed or full stream refuses."""
        while True:
            line = self._lines.get()
            try:
                self._stream.write(f"{line}\n")
                self._stream.flush()
            except (OSError, ValueError):
                self.dropped += 1
            self._lines.task_done()

    def _is_repeated(self, record: logging.LogRecord) -> bool:
        """Tell whether the same line was logged too often in this minute."""
        minute = int(record.created // 60)
        if minute != self._repeated_minute or len(self._repeated) > MAX_WAITING:
            self._repeated.clear()
            self._repeated_minute = minute
        message = record.getMessage()
        self._repeated[message] += 1
        return self._repeated[message] > MAX_REPEATS_A_MINUTE

    def _is_one_of_many(self, record: logging.LogRecord) -> bool:
        """Tell whether this hour had too many lines of this kind; the last line says so."""
        fields = getattr(record, "fields", {})
        if not record.args and not fields:
            return False
        hour = int(record.created // 3600)
        if hour != self._hour:
            self._of_kind.clear()
            self._hour = hour
        kind = (record.name, str(record.msg), fields.get("fault", ""), fields.get("state", ""))
        self._of_kind[kind] += 1
        if self._of_kind[kind] == MAX_OF_A_KIND_AN_HOUR:
            record.msg = f"{record.msg} (further lines of this kind are dropped for up to an hour)"
        return self._of_kind[kind] > MAX_OF_A_KIND_AN_HOUR


def set_up_logging(level: str, stream: TextIO) -> NonBlockingHandler:
    """Send all log lines to the stream, as text when it is a terminal."""
    handler = NonBlockingHandler(stream)
    handler.setFormatter(PlainLines() if stream.isatty() else JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    return handler
