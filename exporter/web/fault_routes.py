"""`/faults` and `/why`: from a query to an answer."""

from collections.abc import Sequence

from exporter.model.snapshot import Snapshot
from exporter.web.answer import NO_STORE, PLAIN_TYPE, Answer, error_answer, json_answer
from exporter.web.fault_documents import faults_document
from exporter.web.why import NoSuchSubject, Wanted, why_document
from exporter.web.why_text import why_text

NOT_YET = "the first collection has not ended yet"
PARAMETERS = ("pid", "hw_id", "format", "all")
FORMATS = ("json", "text")
MAX_PID_DIGITS = 10
MAX_ID_CHARS = 256


class MalformedQuery(Exception):  # noqa: N818 - reads as what it is
    """A query that cannot be answered; the message is one sentence."""


def faults_answer(snapshot: Snapshot | None) -> Answer:
    """All active and lately ended faults."""
    return (
        error_answer(503, NOT_YET) if snapshot is None else json_answer(faults_document(snapshot))
    )


def why_answer(
    snapshot: Snapshot | None, query: Sequence[tuple[str, str]], accept: str = ""
) -> Answer:
    """Why a process (`pid`) or component (`hw_id`) is slow or broken; the node with neither."""
    try:
        given = _parameters(query)
        wanted = Wanted(_pid(given.get("pid", "")), given.get("hw_id", ""))
        if snapshot is None:
            return error_answer(503, NOT_YET)
        document = why_document(snapshot, wanted)
    except MalformedQuery as malformed:
        return error_answer(400, str(malformed))
    except NoSuchSubject as absent:
        return error_answer(404, str(absent))
    form = given.get("format") or ("text" if accept.startswith("text/plain") else "json")
    if form == "json":
        return json_answer(document)
    text = why_text(document, everything=given.get("all") == "1")
    return Answer(text.encode("utf-8", "replace"), PLAIN_TYPE, headers=NO_STORE)


def _parameters(query: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The parameters by name; raises MalformedQuery for unknown, empty, long or repeated ones."""
    given: dict[str, str] = {}
    for name, value in query:
        if name not in PARAMETERS:
            raise MalformedQuery(f"may have the parameters {', '.join(PARAMETERS)}")
        if name in given:
            raise MalformedQuery(f"{name} is given twice")
        if not value or len(value) > MAX_ID_CHARS:
            raise MalformedQuery(f"{name} must have 1 to {MAX_ID_CHARS} characters")
        given[name] = value
    if "pid" in given and "hw_id" in given:
        raise MalformedQuery("give pid or hw_id, not both")
    if given.get("format", "json") not in FORMATS:
        raise MalformedQuery(f"format is one of {', '.join(FORMATS)}")
    if given.get("all", "1") not in ("0", "1"):
        raise MalformedQuery("all is 0 or 1")
    return given


def _pid(text: str) -> str:
    if text and not (text.isascii() and text.isdigit() and len(text) <= MAX_PID_DIGITS):
        raise MalformedQuery("pid must be a number")
    return str(int(text)) if text else ""
