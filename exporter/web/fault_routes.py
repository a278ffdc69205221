"""The endpoints `/faults`, `/why` and `/recording`: from a query to an answer."""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from exporter.durations import ALLOWED, parse_duration, parse_moment
from exporter.faults.explain import NoSuchSubject, Wanted
from exporter.faults.replay.snapshots import RecordingFormat
from exporter.faults.values import did_you_mean
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from exporter.reports.faults import faults_document, history_document
from exporter.reports.incidents import place_of
from exporter.reports.text.faults import faults_text
from exporter.reports.text.why import why_text
from exporter.reports.why import why_document
from exporter.web.answer import Answer, PageRequest, error_answer, json_answer, text_answer
from exporter.web.negotiation import Form, wanted_form
from exporter.web.parameters import MalformedQuery, parameters

FAULTS_PARAMETERS = ("since", "until", "rule", "format")
PARAMETERS = ("pid", "hw_id", "format", "all")
MAX_PID_DIGITS = 10
START = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)


def faults_answer(snapshot: Snapshot, request: PageRequest, boottime: float) -> Answer:
    """Answer with active and lately ended faults; with a time or rule also with their history.

    Raises MalformedQuery.
    """
    values = parameters(request.query, FAULTS_PARAMETERS)
    form = wanted_form(values, request.accept, Form.JSON)
    now = snapshot.taken_at + boottime - snapshot.taken_boottime
    since, until = (_moment(values, name, now) for name in ("since", "until"))
    rule = values.get("rule", "")
    if rule:
        _check_rule(rule, snapshot.conclusions)
    document = faults_document(snapshot)
    if not values.keys().isdisjoint(FAULTS_PARAMETERS[:3]):
        earliest, latest = (
            -math.inf if since is None else since,
            math.inf if until is None else until,
        )
        if latest < earliest:
            raise MalformedQuery("until is before since: nothing can be in this time")
        document["faults"] = _selected(document["faults"], earliest, latest, rule)
        history = snapshot.conclusions.history if snapshot.conclusions else ()
        document["history"] = history_document(
            row for row in history if earliest <= row.at <= latest and rule in ("", row.rule)
        )
    if form is Form.JSON:
        return json_answer(document)
    if form is Form.HTML:
        from exporter.web.html.pages import faults_page  # noqa: PLC0415 - only a browser needs it

        return faults_page(document, snapshot.taken_at)
    return text_answer(faults_text(document))


def _selected(
    rows: Sequence[dict[str, Any]], earliest: float, latest: float, rule: str
) -> list[dict[str, Any]]:
    """Return the faults of this time and rule, and the active ones that cause them."""

    def is_asked(row: dict[str, Any]) -> bool:
        is_active = row["state"] == "active"
        last = math.inf if is_active else max(row["since"], row["ended"] or 0)
        return last >= earliest and row["since"] <= latest and rule in ("", row["rule"])

    causes = {place_of(cause) for row in rows if is_asked(row) for cause in row["causes"]}
    return [
        row
        for row in rows
        if is_asked(row) or (row["state"] == "active" and place_of(row) in causes)
    ]


def _check_rule(name: str, conclusions: Conclusions | None) -> None:
    """Raise MalformedQuery for a rule that neither is evaluated nor has a history."""
    if conclusions is None:
        return
    known = {*chain(*conclusions.rules.values()), *(row.rule for row in conclusions.history)}
    if name not in known:
        raise MalformedQuery(f"there is no rule {name[:80]!r}; {did_you_mean(name, known)}")


def _moment(values: Mapping[str, str], name: str, now: float) -> float | None:
    """Return a time (RFC 3339, or a duration before now) in seconds since the epoch."""
    text = values.get(name)
    if text is None:
        return None
    secs = parse_duration(text)
    at = parse_moment(text) if secs is None else now - secs
    if at is None:
        raise MalformedQuery(f"{name} must be {ALLOWED}, or a time such as 2030-01-31T18:00:00Z")
    return at


def why_answer(snapshot: Snapshot, request: PageRequest) -> Answer:
    """Answer why a process (`pid`) or component (`hw_id`) is slow or broken; else the node.

    Raises MalformedQuery.
    """
    values = _parameters(request.query)
    form = wanted_form(values, request.accept, Form.JSON)
    everything = values.get("all") == "1"
    wanted = Wanted(_pid(values.get("pid", "")), values.get("hw_id", ""), everything)
    try:
        document = why_document(snapshot, wanted)
    except NoSuchSubject as absent:
        return error_answer(404, str(absent))
    if form is Form.JSON:
        return json_answer(document)
    if form is Form.HTML:
        from exporter.web.html.pages import why_page  # noqa: PLC0415 - only a browser needs it

        return why_page(document)
    return text_answer(why_text(document, everything=everything))


def recording_answer(
    snapshot: Snapshot, request: PageRequest, recordings: RecordingFormat
) -> Answer:
    """Return the readings of this moment as lines of a recording; times count from `start`.

    Raises MalformedQuery.
    """
    from exporter.faults.replay.write import recorded  # noqa: PLC0415 - only for a bundle

    text = parameters(request.query, ("start",)).get("start", "")
    if text and not START.fullmatch(text):
        raise MalformedQuery("start must be a boot time in seconds")
    start = float(text) if text else snapshot.taken_boottime
    return json_answer({"start": start, **recorded(recordings, snapshot, start)})


def _parameters(query: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the parameters of /why by name; raise MalformedQuery."""
    values = parameters(query, PARAMETERS)
    if "pid" in values and "hw_id" in values:
        raise MalformedQuery("give pid or hw_id, not both")
    if values.get("all", "1") not in ("0", "1"):
        raise MalformedQuery("all is 0 or 1")
    return values


def _pid(text: str) -> str:
    if text and not (text.isascii() and text.isdigit() and len(text) <= MAX_PID_DIGITS):
        raise MalformedQuery("pid must be a number")
    return str(int(text)) if text else ""
