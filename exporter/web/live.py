"""Serves `/`, `/status` and `/doctor`: rendered once per snapshot, with the age at each request."""

from dataclasses import field
from typing import Any

from exporter.model.snapshot import Snapshot
from exporter.record import dataclass
from exporter.reports.history import NodeHistory
from exporter.reports.installation import Installation
from exporter.web.answer import (
    HTML_TYPE,
    JSON_TYPE,
    NO_STORE,
    Answer,
    NothingRead,
    PageRequest,
    json_answer,
    text_answer,
    to_json,
)
from exporter.web.negotiation import Form, wanted_form
from exporter.web.parameters import parameters

OLD_INTERVALS = 3
OLD_SECS_AT_LEAST = 30.0


@dataclass(slots=True)
class _Drawn:
    """The rendered forms of one snapshot, each made at its first request."""

    snapshot: Snapshot
    document: dict[str, Any]
    json: bytes = b""
    html: tuple[bytes, bytes] | None = None


@dataclass(slots=True)
class LivePages:
    """Renders the node at a glance; `history` takes in every published snapshot."""

    version: str
    here: Installation = field(default_factory=Installation)
    history: NodeHistory = field(default_factory=NodeHistory)
    _drawn: _Drawn | None = None

    def publish(self, snapshot: Snapshot) -> None:
        """Add the snapshot to the history of the sparklines."""
        self.history.add(snapshot)

    @property
    def old_secs(self) -> float:
        """Return the age in seconds from which a reading is marked as old."""
        interval_secs = self.here.config.metrics.collect_interval_secs
        return max(OLD_INTERVALS * interval_secs, OLD_SECS_AT_LEAST)

    def landing(self, snapshot: Snapshot | None, boottime: float) -> Answer:
        """Answer with the page of the node."""
        from exporter.web.html import live_page as html  # noqa: PLC0415 - only a browser needs it
        from exporter.web.html.builder import policy  # noqa: PLC0415 - same

        headers = {**NO_STORE, "Content-Security-Policy": policy(with_script=True)}
        if snapshot is None or not snapshot.readings:
            before, after = html.waiting_page(snapshot.node if snapshot else "", self.version)
            age = html.age_html(None, self.old_secs)
        else:
            drawn = self._draw(snapshot)
            if drawn.html is None:
                drawn.html = html.live_page(drawn.document)
            before, after = drawn.html
            age = html.age_html(_age(snapshot, boottime), self.old_secs)
        return Answer(before + age.encode() + after, HTML_TYPE, headers=headers)

    def status(self, request: PageRequest, snapshot: Snapshot | None, boottime: float) -> Answer:
        """Answer with the status as JSON, as a page, or as text of 80 columns.

        Raises MalformedQuery and NothingRead.
        """
        form = wanted_form(parameters(request.query, ("format",)), request.accept, Form.JSON)
        if form is Form.HTML:
            return self.landing(snapshot, boottime)
        if snapshot is None:
            raise NothingRead
        drawn = self._draw(snapshot)
        age = round(_age(snapshot, boottime), 3)
        if form is Form.TEXT:
            from exporter.reports.text.status import status_text  # noqa: PLC0415 - as for the page

            return text_answer(status_text({"age_secs": age, **drawn.document}))
        drawn.json = drawn.json or to_json(drawn.document)
        body = f'{{"age_secs": {age}, '.encode() + drawn.json[1:]
        return Answer(body, JSON_TYPE, headers=NO_STORE)

    def doctor(self, request: PageRequest, snapshot: Snapshot) -> Answer:
        """Answer with the checks of all sources as JSON or text; raise MalformedQuery."""
        form = wanted_form(parameters(request.query, ("format",)), request.accept, Form.JSON)
        from exporter.reports.checks import doctor_document  # noqa: PLC0415 - only if asked for

        document = doctor_document(snapshot, self.here)
        if form is Form.JSON:
            return json_answer(document)
        from exporter.reports.text.doctor import doctor_text  # noqa: PLC0415 - as for the page

        return text_answer(doctor_text(document))

    def _draw(self, snapshot: Snapshot) -> _Drawn:
        """Render a snapshot once; after an expiry of values the snapshot is another object."""
        if self._drawn is None or self._drawn.snapshot is not snapshot:
            from exporter.reports.status import status_document  # noqa: PLC0415 - as for the page

            document = status_document(snapshot, self.history, self.here, self.version)
            self._drawn = _Drawn(snapshot, document)
        return self._drawn


def _age(snapshot: Snapshot, boottime: float) -> float:
    return max(0.0, boottime - snapshot.taken_boottime)
