"""What an endpoint is asked for and what it answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exporter.web import documents

JSON_TYPE = "application/json; charset=utf-8"
HTML_TYPE = "text/html; charset=utf-8"
PLAIN_TYPE = "text/plain; charset=utf-8"
NO_STORE = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What an endpoint needs of a request; `accept` and `accept_encoding` are the headers."""

    path: str
    query: Sequence[tuple[str, str]] = ()
    accept: str = ""
    accept_encoding: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint answers."""

    body: bytes
    content_type: str
    status: int = 200
    headers: Mapping[str, str] | None = None


def json_answer(document: dict[str, Any], status: int = 200) -> Answer:
    """Return the document as JSON that nobody may keep."""
    return Answer(documents.to_json(document), JSON_TYPE, status, NO_STORE)


def error_answer(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Return what went wrong, in one sentence."""
    return Answer(documents.to_json({"error": sentence}), JSON_TYPE, status, headers)
