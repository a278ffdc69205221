"""Shared libraries whose tables of symbols are as large as a tenant can make them."""

import struct
from pathlib import Path

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_FUNCTION, _DYNAMIC_SYMBOLS, _STRINGS = 2, 11, 3


def hostile_library(path: Path, most: int, name: bytes = b"ncclSend") -> Path:
    """Write a library of functions of one name, each at its own place, in tables of this size."""
    text = name + b"\0"
    names = text * (most // len(text))
    count = most // _SYMBOL.size
    places = [number * len(text) % len(names) for number in range(count)]
    symbols = b"".join(_SYMBOL.pack(place, _FUNCTION, 0, 1, 4096, 16) for place in places)
    sections = (
        (0,) * 10,
        (0, _DYNAMIC_SYMBOLS, 2, 0, 4096, len(symbols), 2, 1, 8, _SYMBOL.size),
        (0, _STRINGS, 2, 0, 4096 + len(symbols), len(names), 0, 0, 1, 0),
    )
    start = 4096 + len(symbols) + len(names)
    fields = (3, 62, 1, 0, 0, start, 0, 64, 56, 0, 64, len(sections), 0)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01".ljust(16, b"\0"), *fields)
    with path.open("wb") as file:
        file.write(header.ljust(4096, b"\0") + symbols + names)
        file.write(b"".join(_SECTION.pack(*section) for section in sections))
    return path
