"""A client of the D-Bus system bus: method calls with texts as arguments, and their answers.

https://dbus.freedesktop.org/doc/dbus-specification.html. Why this is written here:
docs/decisions/0028-units-over-dbus.md.
"""

import socket
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from exporter.collectors.services.wire import decoded, header_fields, padded, text_bytes
from exporter.reading.source import SourceAbsent, SourceFailed

T = TypeVar("T")
MAX_MESSAGE_BYTES = 1024 * 1024
MAX_BYTES = 4 * MAX_MESSAGE_BYTES
"""Of everything that the bus sends over one connection."""
MAX_KEPT_BYTES = 8 * 1024
"""Of the body of an answer whose values are kept; longer ones are decoded each time."""
LOGIN = b"\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"
"""The bus takes the user from the socket: the empty DATA names nobody else."""
LET_IN = b"DATA\r\nOK "
MAX_LOGIN_BYTES = 256
ENDED = "the bus ended the connection: it does so for a user that it cannot find"
CALL, RETURN, ERROR = 1, 2, 3
NO_AUTO_START = 2
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, DESTINATION, SIGNATURE = 1, 2, 3, 4, 5, 6, 8
HEAD = struct.Struct("<4BIII")


class Refusal(NamedTuple):
    """The answer of a method that failed: the name of the error, and a sentence."""

    name: str
    text: str


Answer: TypeAlias = tuple[Any, ...] | Refusal


class MethodCall(NamedTuple):
    """One method call; an argument is a text or a tuple of texts."""

    destination: str
    path: str
    member: str  # interface and method
    arguments: tuple[str | tuple[str, ...], ...] = ()

    def encoded(self, serial: int) -> bytes:
        """Return the message with this serial number."""
        interface, _, method = self.member.rpartition(".")
        words = {
            PATH: (b"o", self.path),
            INTERFACE: (b"s", interface),
            MEMBER: (b"s", method),
            DESTINATION: (b"s", self.destination),
        }
        fields = b""
        for code, (kind, word) in words.items():
            fields = padded(fields, 8) + bytes([code, 1]) + kind + b"\0" + text_bytes(word)
        signature = "".join("s" if isinstance(each, str) else "as" for each in self.arguments)
        kind = bytes([len(signature)]) + signature.encode() + b"\0"
        fields = padded(fields, 8) + bytes([SIGNATURE, 1]) + b"g\0" + kind
        body = b""
        for each in self.arguments:
            body = padded(body, 4) + (text_bytes(each) if isinstance(each, str) else _array(each))
        sizes = len(body), serial, len(fields)
        return padded(HEAD.pack(ord("l"), CALL, NO_AUTO_START, 1, *sizes) + fields, 8) + body


def _array(texts: Iterable[str]) -> bytes:
    data = b""
    for text in texts:
        data = padded(data, 4) + text_bytes(text)
    return struct.pack("<I", len(data)) + data


@lru_cache(maxsize=2)
def _encoded(calls: tuple[MethodCall, ...], first: int) -> bytes:
    """Return the messages; kept, because each collection makes the same calls."""
    return b"".join(call.encoded(first + n) for n, call in enumerate(calls))


class Bus:
    """One connection to the bus at this socket, used for `deadline_secs` at most. Blocks."""

    def __init__(self, path: Path, deadline_secs: float) -> None:
        """Connect and log in; raise SourceAbsent where no socket is, or SourceFailed."""
        self._secs = deadline_secs
        self._until = time.monotonic() + deadline_secs
        self._left = MAX_BYTES
        self._serial = 0
        self._buffer = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._until_deadline(lambda: self._socket.connect(str(path)))
            self._until_deadline(lambda: self._socket.sendall(LOGIN))
            self._log_in()
        except BaseException:  # the socket is closed whatever ends the login, also an interrupt
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def ask(self, calls: Sequence[MethodCall]) -> list[Answer]:
        """Make all calls at once and return their answers in this order; raise SourceFailed."""
        first = self._serial + 1
        self._serial += len(calls)
        messages = _encoded(tuple(calls), first)
        self._until_deadline(lambda: self._socket.sendall(messages))
        answers: dict[int, Answer] = {}
        while len(answers) < len(calls):
            serial, answer = self._message()
            if first <= serial <= self._serial:
                answers[serial] = answer
        return [answers[first + n] for n in range(len(calls))]

    def _log_in(self) -> None:
        while not (self._buffer.startswith(LET_IN) and b"\n" in self._buffer[len(LET_IN) :]):
            is_wrong = not LET_IN.startswith(self._buffer[: len(LET_IN)])
            if is_wrong or len(self._buffer) > MAX_LOGIN_BYTES:
                raise SourceFailed("the bus does not let this user in, or is no D-Bus")
            self._receive()
        self._buffer = self._buffer[len(LET_IN) :].partition(b"\n")[2]

    def _message(self) -> tuple[int, Answer]:
        """Return the serial number of the call that a message answers, 0 for a signal."""
        head = self._take(HEAD.size)
        order = {b"l": "<", b"B": ">"}.get(head[:1])
        if order is None:
            raise SourceFailed("what the bus sends is no message of D-Bus")
        _, kind, _, _, body_bytes, _, field_bytes = struct.unpack(f"{order}4BIII", head)
        field_bytes += -field_bytes % 8
        if field_bytes + body_bytes > MAX_MESSAGE_BYTES:
            raise SourceFailed(f"an answer is longer than {MAX_MESSAGE_BYTES} bytes")
        rest = self._take(field_bytes + body_bytes)
        body = rest[field_bytes:]
        if kind not in (RETURN, ERROR):
            return 0, ()
        try:
            fields = header_fields(rest[:field_bytes], order)
            decode = decoded if len(body) <= MAX_KEPT_BYTES else decoded.__wrapped__
            values = decode(body, order, str(fields.get(SIGNATURE, "")))
            serial = int(fields.get(REPLY_SERIAL, 0))
        except (ValueError, TypeError, IndexError, struct.error, RecursionError) as error:
            raise SourceFailed("an answer of the bus cannot be decoded") from error
        if kind == RETURN:
            return serial, values
        return serial, Refusal(str(fields.get(ERROR_NAME, "")), str(values[0]) if values else "")

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._receive()
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _receive(self) -> None:
        data = self._until_deadline(lambda: self._socket.recv(65_536))
        self._left -= len(data)
        if not data or self._left < 0:
            raise SourceFailed("the bus sends on" if data else ENDED)
        self._buffer += data

    def _until_deadline(self, act: Callable[[], T]) -> T:
        """Call it with the time that is left; raise SourceAbsent or SourceFailed for its errors."""
        self._socket.settimeout(max(0.001, self._until - time.monotonic()))
        try:
            return act()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise SourceAbsent("no socket of the system bus is there") from error
        except TimeoutError as error:
            raise SourceFailed(f"the system bus does not answer in {self._secs:g} s") from error
        except (BrokenPipeError, ConnectionResetError) as error:
            raise SourceFailed(ENDED) from error
        except OSError as error:
            raise SourceFailed(f"the system bus: {error.strerror or error}") from error
