"""Log lines: JSON where a program reads them, text on a terminal; never a reason to wait.

Lines are written by a thread of their own from a bounded queue: a blocked or closed standard
error costs lines, which are counted, and nothing else. A line that is said again and again
(asyncio does, while no descriptor is left) is left out for the rest of the minute.
"""

import json
import logging
import threading
from collections import Counter, deque
from typing import TextIO

from exporter.model.label import clean_text

MAX_WAITING = 1000
MAX_MESSAGE_CHARS = 2000
MAX_TRACE_CHARS = 8000
MAX_ALIKE_A_MINUTE = 5


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record with time, level, logger, message, its `fields`, and a traceback if any."""
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
        return json.dumps(entry)


class PlainLines(logging.Formatter):
    """Text for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level and message on one line, a traceback below it."""
        time = self.formatTime(record, "%H:%M:%S")
        line = f"{time} {record.levelname:<7} {clean_text(record.getMessage(), MAX_MESSAGE_CHARS)}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)[-MAX_TRACE_CHARS:]
        if record.stack_info:
            line += "\n" + record.stack_info[-MAX_TRACE_CHARS:]
        return line


class PatientHandler(logging.Handler):
    """Hands lines to a thread that writes them; drops and counts those beyond the queue."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: deque[str] = deque()
        self._filling = threading.Lock()
        self._ready = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._alike: Counter[str] = Counter()
        self._alike_minute = 0
        self.dropped = 0
        threading.Thread(target=self._write_for_ever, name="log-writer", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record's line."""
        if len(self._lines) >= MAX_WAITING or self._says_too_often(record):
            self.dropped += 1
            return
        line = self.format(record)
        with self._filling:
            self._idle.clear()
            self._lines.append(line)
        self._ready.set()

    def drain(self, secs: float) -> None:
        """Give the thread so many seconds to write what is left."""
        self._idle.wait(secs)

    def _says_too_often(self, record: logging.LogRecord) -> bool:
        """Whether this very line has been said enough for this minute."""
        minute = int(record.created // 60)
        if minute != self._alike_minute or len(self._alike) > MAX_WAITING:
            self._alike.clear()
            self._alike_minute = minute
        message = record.getMessage()
        self._alike[message] += 1
        return self._alike[message] > MAX_ALIKE_A_MINUTE

    def _write_for_ever(self) -> None:
        while True:
            self._ready.wait()
            self._ready.clear()
            while self._lines:
                self._write(self._lines.popleft())
            with self._filling:  # a line queued at this very moment must not be taken for written
                if not self._lines:
                    self._idle.set()

    def _write(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self.dropped += 1  # standard error is closed or full


def set_up_logging(level: str, stream: TextIO) -> PatientHandler:
    """Send all log lines to the stream, as text when it is a terminal."""
    handler = PatientHandler(stream)
    handler.setFormatter(PlainLines() if stream.isatty() else JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    return handler
