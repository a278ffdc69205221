"""Values in messages of D-Bus.

https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-marshaling
"""

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

FIXED = dict(zip("ybnqiuxtd", "BIhHiIqQd", strict=True))
"""The numbers, and what the module struct calls them."""
FORMS = {
    order: {code: struct.Struct(order + form) for code, form in FIXED.items()} for order in "<>"
}
ALIGNMENT = {"v": 1, "g": 1, "(": 8, "{": 8}
"""Of types without a fixed size; of texts and arrays it is 4."""
NUMBER, SIGNATURE = b"ug"
MAX_DEPTH = 32


def padded(data: bytes, size: int) -> bytes:
    """Return the data with zeros up to the next multiple of `size`."""
    return data + b"\0" * (-len(data) % size)


def text_bytes(text: str) -> bytes:
    """Return a text, little-endian."""
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def header_fields(data: bytes, order: str) -> dict[int, Any]:
    """Return the fields of a header by their codes: each a number or a text.

    What `Values` makes of a(yv), in a tenth of the time: each answer has a header of its own.
    """
    number, at = FORMS[order]["u"], 0
    found: dict[int, Any] = {}
    while at < len(data):
        code, size, kind, end = data[at : at + 4]
        if size != 1 or end != 0 or kind not in b"uosg":
            raise ValueError("a header field of an unknown type")
        if kind == SIGNATURE:
            value: Any = data[at + 4]
            at += 5
        else:
            (value,), at = number.unpack_from(data, at + 4), at + 8
        if kind != NUMBER:
            value, at = data[at : at + value].decode("utf-8", "replace"), at + value + 1
        found[code] = value
        at += -at % 8
    if at != len(data):
        raise ValueError("a header field is longer than the header")
    return found


class Values:
    """Values that are read one after the other; `order` is "<" or ">".

    The methods raise ValueError, IndexError or struct.error for what is no valid message.
    """

    def __init__(self, data: bytes, order: str, start: int = 0) -> None:
        self._data = data
        self._forms = FORMS[order]
        self._at = start
        self._depth = 0

    def all(self, signature: str) -> tuple[Any, ...]:
        """Return a value for each type of the signature."""
        return tuple([self.one(each) for each in _types(signature)])

    def one(self, kind: str) -> Any:
        """Return the next value, of this type."""
        code = kind[0]
        if code in "so":
            return self._text(self._number("u"))
        if code == "g":
            return self._text(self._number("y"))
        if code in FIXED:
            return self._number(code)
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
        size = self._number("u")
        code = kind[0]
        self._align(self._forms[code].size if code in FIXED else ALIGNMENT.get(code, 4))
        end, found = self._at + size, []
        if end > len(self._data):
            raise ValueError("an array is longer than its message")
        while (before := self._at) < end:
            found.append(self.one(kind))
            if self._at == before:
                raise ValueError("an element without a size")
        return found

    def _number(self, code: str) -> Any:
        form = self._forms[code]
        at = self._at + -self._at % form.size
        (value,) = form.unpack_from(self._data, at)
        self._at = at + form.size
        return value

    def _text(self, size: int) -> str:
        end = self._at + size
        if self._data[end] != 0:
            raise ValueError("a text does not end")
        text, self._at = self._data[self._at : end], end + 1
        return text.decode("utf-8", "replace")

    def _align(self, size: int) -> None:
        self._at += -self._at % size


@lru_cache(maxsize=32)
def decoded(body: bytes, order: str, signature: str) -> tuple[Any, ...]:
    """Return the values of a body; kept, because most answers are those of the last collection.

    Eleven services have about 25 different bodies; those of a unit that flaps push out old ones.
    """
    return Values(body, order).all(signature)


@lru_cache(maxsize=16)
def _types(signature: str) -> tuple[str, ...]:
    """Return the complete types of a signature."""
    return tuple(_split(signature))


def _split(signature: str) -> Iterator[str]:
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
