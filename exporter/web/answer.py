"""What endpoints get and give: the request, the state of the program, and the response."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from exporter.model.snapshot import Snapshot
from exporter.record import dataclass

JSON_TYPE = "application/json; charset=utf-8"
HTML_TYPE = "text/html; charset=utf-8"
PLAIN_TYPE = "text/plain; charset=utf-8"
NO_STORE = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The parts of a request that endpoints read; `accept` and `accept_encoding` are headers."""

    path: str
    query: Sequence[tuple[str, str]] = ()
    accept: str = ""
    accept_encoding: str = ""


class ProgramStatus(Protocol):
    """The state of the program, read at each request."""

    def snapshot(self) -> Snapshot | None:
        """Return the last snapshot, without expired values."""
        ...

    def is_live(self) -> bool:
        """Whether the collecting loop is alive."""
        ...

    def unready_reasons(self) -> list[str]:
        """Return the reasons why the program is not ready; empty when ready."""
        ...

    def boottime(self) -> float:
        """Return seconds since boot, suspended time included."""
        ...


class NothingRead(Exception):
    """There is no snapshot yet to answer from."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of an endpoint."""

    body: bytes
    content_type: str
    status: int = 200
    headers: Mapping[str, str] | None = None


def json_answer(document: dict[str, Any], status: int = 200) -> Answer:
    """Return the document as JSON that must not be cached."""
    return Answer(to_json(document), JSON_TYPE, status, NO_STORE)


def text_answer(text: str) -> Answer:
    """Return the text as an answer that must not be cached."""
    return Answer(text.encode("utf-8", "replace"), PLAIN_TYPE, headers=NO_STORE)


def error_answer(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an error as JSON, in one sentence."""
    return Answer(to_json({"error": sentence}), JSON_TYPE, status, headers)


def to_json(document: dict[str, Any]) -> bytes:
    """Encode the document as UTF-8 JSON; NaN and infinity become null."""
    try:
        text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    except ValueError:
        text = json.dumps(_finite(document), allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", "replace")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
