"""A system bus with a systemd that describes units as files say; it can be silent or hostile."""

import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

from exporter.collectors.services.wire import Values, padded, text_bytes

SYSTEMD = "/org/freedesktop/systemd1/unit/"
RETURN, ERROR, SIGNAL = 2, 3, 4
WORDS = ("active", "sub", "file", "result", "restarts", "condition", "type")
BEGIN = b"BEGIN\r\n"
LET_IN = b"DATA\r\nOK 0123456789abcdef\r\n"


class SystemBus:
    """Answers at a socket; the folder has a file for each installed unit, a link for an alias.

    A file holds active state, sub state, unit file state, result, restarts, condition and type: all
    but the first are optional. `instead` is sent in the place of every answer; `denied` is the name
    of an error that every method ends with; an old systemd `knows_no_properties`.
    """

    def __init__(self, path: Path, units: Path) -> None:
        self.path, self._units = path, units
        self.instead: bytes | None = None
        self.login_answer = LET_IN
        self.denied = ""
        self.hangs_up = False
        self.knows_no_properties = False
        path.parent.mkdir(parents=True, exist_ok=True)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop to listen, and remove the socket."""
        if self._socket.fileno() >= 0:
            self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        with connection, stream:
            try:
                login = stream.readline()
                while not login.endswith(BEGIN):
                    login += stream.readline()
                connection.sendall(self.login_answer)
                for serial, member, arguments, path in _calls(stream):
                    if self.hangs_up:
                        return
                    answer = self._answer(member, arguments, path)
                    said = _reply(serial, *answer) if self.instead is None else self.instead
                    connection.sendall(said)
            except (OSError, struct.error):
                return

    def _answer(self, member: str, arguments: tuple[Any, ...], path: str) -> tuple[str, bytes]:
        """Return the signature, or ! and the name of an error, and the body."""
        if member == "Hello":
            return "s", text_bytes(":1.7")
        if self.denied:
            return f"!{self.denied}", text_bytes("Sender is not authorized to send message")
        if member == "Get" and self.knows_no_properties:
            return "!org.freedesktop.DBus.Error.UnknownProperty", text_bytes("Unknown property")
        if member == "Get":
            return "v", self._property(path.removeprefix(SYSTEMD), arguments[1])
        units = {file.name: file.read_text().split() for file in self._installed()}
        if member == "ListUnitsFiltered":
            rows = [(name, words) for name, words in units.items() if words[0] == "failed"]
        else:
            asked = (self._units / name.removesuffix(".service") for name in arguments[0])
            rows = [(file.resolve().name, units.get(file.name, [])) for file in asked]
        return "a(ssssssouso)", _unit_rows(rows)

    def _installed(self) -> list[Path]:
        return sorted(self._units.iterdir()) if self._units.is_dir() else []

    def _property(self, unit: str, name: str) -> bytes:
        words = (self._units / unit).read_text().split()
        given = dict(zip(WORDS, words, strict=False))
        if name == "StateChangeTimestamp":
            return b"\1t\0".ljust(8, b"\0") + struct.pack("<Q", 1_760_000_000_500_000)
        if name == "NRestarts":
            return b"\1u\0\0" + struct.pack("<I", int(given.get("restarts", 0)))
        if name == "ConditionResult":
            return b"\1b\0\0" + struct.pack("<I", given.get("condition") != "no")
        word = {"UnitFileState": "file", "Result": "result", "Type": "type"}[name]
        return b"\1s\0\0" + text_bytes(given.get(word, ""))


def _calls(stream: Any) -> Iterator[tuple[int, str, tuple[Any, ...], str]]:
    """Yield the serial, method, arguments and path of each call."""
    while head := stream.read(16):
        _, _, _, _, size, serial, field_bytes = struct.unpack("<4BIII", head)
        rest = stream.read(field_bytes + -field_bytes % 8)
        fields = dict(Values(head + rest, "<", 12).one("a(yv)"))
        yield serial, fields[3], Values(stream.read(size), "<").all(fields[8]), fields[1]


def _unit_rows(rows: Iterable[tuple[str, list[str]]]) -> bytes:
    array = b""
    for name, words in rows:
        load = "loaded" if words else "not-found"
        active, sub = (*words, "dead", "dead")[:2] if words else ("inactive", "dead")
        array = padded(array, 8)
        for text in (f"{name}.service", f"The {name}", load, active, sub, "", SYSTEMD + name):
            array = padded(array, 4) + text_bytes(text)
        array = padded(array, 4) + struct.pack("<I", 0) + text_bytes("")
        array = padded(array, 4) + text_bytes("/")
    return struct.pack("<II", len(array), 0) + array


def _reply(serial: int, signature: str, body: bytes) -> bytes:
    """Return a message that answers the call with this serial number."""
    kind = ERROR if signature.startswith("!") else RETURN
    fields = bytes([5, 1]) + b"u\0" + struct.pack("<I", serial)
    if kind == ERROR:
        fields = padded(fields, 8) + bytes([4, 1]) + b"s\0" + text_bytes(signature[1:])
        signature = "s"
    word = bytes([len(signature)]) + signature.encode() + b"\0"
    fields = padded(fields, 8) + bytes([8, 1]) + b"g\0" + word
    head = struct.pack("<4BIII", ord("l"), kind, 1, 1, len(body), serial, len(fields))
    return padded(head + fields, 8) + body
