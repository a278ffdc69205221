"""One call without arguments over gRPC on a unix socket, and the wire format of its answer.

NO RESPONSE HEADERS ARE READ. Why this is written here: docs/decisions/0010-kubelet-grpc.md.

https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, https://www.rfc-editor.org/rfc/rfc9113,
https://protobuf.dev/programming-guides/encoding/.
Headers are sent without compression and those of the answer are not looked at: a call that fails
ends its stream without a message, and that is all that needs to be known.
"""

import asyncio
import struct
from collections.abc import Iterator
from pathlib import Path

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GO_AWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
ENABLE_PUSH, INITIAL_WINDOW_SIZE = 2, 4
STREAM = 1
MAX_FRAME_BYTES = 16_384
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
WINDOW_BYTES = MAX_MESSAGE_BYTES + 1024 * 1024
MESSAGE_PREFIX = struct.Struct(">BI")
NO_ARGUMENTS = MESSAGE_PREFIX.pack(0, 0)
FRAME_HEAD_BYTES = 9

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
MAX_VARINT_BYTES = 10


class CallFailed(Exception):
    """The call gave no message; the message says why in one sentence."""


async def call(socket: Path, method: str, timeout_secs: float) -> bytes:
    """Call `/package.Service/Method` and return its message; raise CallFailed."""
    try:
        return await asyncio.wait_for(_exchange(socket, method), timeout_secs)
    except asyncio.TimeoutError as error:
        raise CallFailed(f"no answer within {timeout_secs:g} s") from error
    except (OSError, asyncio.IncompleteReadError) as error:
        raise CallFailed(f"the connection failed: {error}") from error


async def _exchange(socket: Path, method: str) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(socket))
    message, has_ended = bytearray(), False
    try:
        writer.write(_request(method))
        while (whole := _whole(message)) is None:
            if has_ended:
                raise CallFailed("the call ended without an answer")
            kind, flags, stream, payload = await _frame(reader)
            if kind == GO_AWAY or (kind == RESET and stream == STREAM):
                raise CallFailed("the call was refused")
            writer.write(_reply(kind, flags, payload))
            await writer.drain()  # who pings and does not read is not answered without end
            if stream == STREAM and kind in (DATA, HEADERS):
                message += _without_padding(payload, flags) if kind == DATA else b""
                has_ended = bool(flags & END_STREAM)
        return whole
    finally:
        writer.transport.abort()  # close() would wait for a peer that does not read


async def _frame(reader: asyncio.StreamReader) -> tuple[int, int, int, bytes]:
    """Read the next frame: kind, flags, stream and payload; raise CallFailed for one too long."""
    head = await reader.readexactly(FRAME_HEAD_BYTES)
    size = int.from_bytes(head[:3], "big")
    if size > MAX_FRAME_BYTES:
        raise CallFailed("what answers does not speak HTTP/2")
    return (
        head[3],
        head[4],
        int.from_bytes(head[5:], "big") & 0x7FFFFFFF,
        await reader.readexactly(size),
    )


def _reply(kind: int, flags: int, payload: bytes) -> bytes:
    """Return what acknowledges settings or a ping; nothing for other frames."""
    if kind not in (SETTINGS, PING) or flags & ACK:
        return b""
    return frame(kind, ACK, 0, payload if kind == PING else b"")


def _whole(answer: bytearray) -> bytes | None:
    """Return the message of an answer, None while some of it is missing; raise CallFailed."""
    if len(answer) < MESSAGE_PREFIX.size:
        return None
    is_compressed, size = MESSAGE_PREFIX.unpack_from(answer)
    if is_compressed or size > MAX_MESSAGE_BYTES:
        raise CallFailed("the answer is compressed or too long")
    end = MESSAGE_PREFIX.size + size
    return bytes(answer[MESSAGE_PREFIX.size : end]) if len(answer) >= end else None


def _without_padding(payload: bytes, flags: int) -> bytes:
    if not flags & PADDED or not payload:
        return payload
    return payload[1 : max(1, len(payload) - payload[0])]


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """One frame as bytes."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _request(method: str) -> bytes:
    settings = struct.pack(">HIHI", ENABLE_PUSH, 0, INITIAL_WINDOW_SIZE, WINDOW_BYTES)
    return (
        PREFACE
        + frame(SETTINGS, 0, 0, settings)
        + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW_BYTES))
        + frame(HEADERS, END_HEADERS, STREAM, _headers(method))
        + frame(DATA, END_STREAM, STREAM, NO_ARGUMENTS)
    )


def _headers(method: str) -> bytes:
    """Write the request's headers by the static table of HPACK and plain literals (RFC 7541)."""
    post, http, path, authority = b"\x83", b"\x86", b"\x04", b"\x01"
    literals = (("content-type", "application/grpc"), ("te", "trailers"))
    return b"".join(
        (
            post,
            http,
            path + _text(method),
            authority + _text("localhost"),
            *(b"\x00" + _text(name) + _text(value) for name, value in literals),
        )
    )


def _text(text: str) -> bytes:
    """Write a text of at most 126 bytes as HPACK does without compression."""
    return bytes([len(text)]) + text.encode("ascii")


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each length-delimited field; raise ValueError."""
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
    """Return all texts of this field; raise ValueError."""
    return [
        content.decode("utf-8", "replace") for field, content in fields(message) if field == number
    ]


def parts(message: bytes, number: int) -> list[bytes]:
    """Return all messages of this field; raise ValueError."""
    return [content for field, content in fields(message) if field == number]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Read the number that begins here, and where the next thing begins."""
    number = 0
    for place, byte in enumerate(message[at : at + MAX_VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:  # noqa: PLR2004 - the bit that says there is more
            return number, at + place + 1
    raise ValueError("a number does not end")
