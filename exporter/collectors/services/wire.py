"""Values in messages of D-Bus.

https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-marshaling
"""

import struct
from collections.abc import Iterator
from typing import Any

FIXED = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d"}
ALIGNMENT = {"v": 1, "g": 1, "(": 8, "{": 8}
"""Of types without a fixed size; of texts and arrays it is 4."""
MAX_DEPTH = 32


def padded(data: bytes, size: int) -> bytes:
    """Return the data with zeros up to the next multiple of `size`."""
    return data + b"\0" * (-len(data) % size)


def text_bytes(text: str) -> bytes:
    """Return a text, little-endian."""
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


class Values:
    """Values that are read one after the other; `order` is "<" or ">".

    The methods raise ValueError, IndexError or struct.error for what is no valid message.
    """

    def __init__(self, data: bytes, order: str, start: int = 0) -> None:
        self._data = data
        self._order = order
        self._at = start
        self._depth = 0

    def all(self, signature: str) -> tuple[Any, ...]:
        """Return a value for each type of the signature."""
        return tuple([self.one(each) for each in _types(signature)])

    def one(self, kind: str) -> Any:
        """Return the next value, of this type."""
        code = kind[0]
        if code in FIXED:
            return self._number(FIXED[code])
        if code in "so":
            return self._text(self._number("I"))
        if code == "g":
            return self._text(self._number("B"))
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError("values are nested too deep")
        value = self._container(code, kind)
        self._depth -= 1
        return value

    def _container(self, code: str, kind: str) -> Any:
        if code == "v":
            return self.one(self.one("g"))
        if code == "a":
            return self._array(kind[1:])
        if code in "({":
            self._align(8)
            return self.all(kind[1:-1])
        raise ValueError(f"type {code}")

    def _array(self, kind: str) -> list[Any]:
        size = self._number("I")
        code = kind[0]
        self._align(struct.calcsize(FIXED[code]) if code in FIXED else ALIGNMENT.get(code, 4))
        end, found = self._at + size, []
        if end > len(self._data):
            raise ValueError("an array is longer than its message")
        while (before := self._at) < end:
            found.append(self.one(kind))
            if self._at == before:
                raise ValueError("an element without a size")
        return found

    def _number(self, form: str) -> Any:
        self._align(struct.calcsize(form))
        (value,) = struct.unpack_from(self._order + form, self._data, self._at)
        self._at += struct.calcsize(form)
        return value

    def _text(self, size: int) -> str:
        end = self._at + size
        if self._data[end] != 0:
            raise ValueError("a text does not end")
        text, self._at = self._data[self._at : end], end + 1
        return text.decode("utf-8", "replace")

    def _align(self, size: int) -> None:
        self._at += -self._at % size


def _types(signature: str) -> Iterator[str]:
    """Yield the complete types of a signature."""
    at = 0
    while at < len(signature):
        end = _end(signature, at)
        yield signature[at:end]
        at = end


def _end(signature: str, at: int) -> int:
    """Return where the type that begins here ends."""
    while signature[at] == "a":
        at += 1
    if signature[at] not in "({":
        return at + 1
    at += 1
    while signature[at] not in ")}":
        at = _end(signature, at)
    return at + 1
