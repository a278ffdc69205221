"""The line format of probes: one JSON object per line, bounded and checked."""

import json

from exporter.annotation import Any

MAX_LINE_BYTES = 4 * 1024 * 1024


class BadLine(Exception):
    """A line that is not one JSON object within the limits; the message says why."""


def encode_line(message: dict[str, Any]) -> bytes:
    """Encode the message as one line."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def decode_line(line: bytes) -> dict[str, Any]:
    """Decode the object of one line; raise BadLine."""
    try:
        message = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise BadLine("not a JSON object")
    return message


def _refuse_constant(name: str) -> float:
    raise BadLine(f"{name} is not a number")


class LineSplitter:
    """Joins chunks to lines; rejects a line that exceeds the limit."""

    def __init__(self, limit_bytes: int = MAX_LINE_BYTES) -> None:
        self._limit = limit_bytes
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines completed by this chunk; raise BadLine if one is too long."""
        lines: list[bytes] = []
        self._rest += chunk
        if b"\n" in chunk:
            *lines, rest = bytes(self._rest).split(b"\n")
            self._rest = bytearray(rest)
        if any(len(line) > self._limit for line in (*lines, self._rest)):
            raise BadLine(f"a line of more than {self._limit} bytes")
        return [line for line in lines if line.strip()]
