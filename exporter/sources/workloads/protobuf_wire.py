"""Taking apart the wire format of Protocol Buffers (https://protobuf.dev/programming-guides/encoding/)."""

from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
MAX_VARINT_BYTES = 10


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each length-delimited field, others left out; raises ValueError."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            _, at = _varint(message, at)
        elif kind in FIXED_BYTES:
            at += FIXED_BYTES[kind]
        elif kind == LENGTH:
            size, at = _varint(message, at)
            if size > len(message) - at:
                raise ValueError("a field is longer than its message")
            yield number, message[at : at + size]
            at += size
        else:
            raise ValueError(f"wire type {kind}")


def texts(message: bytes, number: int) -> list[str]:
    """All texts of this field; raises ValueError."""
    return [
        content.decode("utf-8", "replace") for field, content in fields(message) if field == number
    ]


def parts(message: bytes, number: int) -> list[bytes]:
    """All messages of this field; raises ValueError."""
    return [content for field, content in fields(message) if field == number]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """The number that begins here, and where the next thing begins."""
    number = 0
    for place, byte in enumerate(message[at : at + MAX_VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:  # noqa: PLR2004 - the bit that says there is more
            return number, at + place + 1
    raise ValueError("a number does not end")
