"""The HTTP endpoints; each answers a request without waiting for a collection."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse

from exporter.exposition.page import Pages
from exporter.exposition.render import Format
from exporter.faults.replay.snapshots import RecordingFormat
from exporter.model.snapshot import Snapshot
from exporter.reports import node
from exporter.web.answer import (
    Answer,
    NothingRead,
    PageRequest,
    ProgramStatus,
    error_answer,
    json_answer,
)
from exporter.web.live import LivePages
from exporter.web.maintenance import BadChange, Maintenance, refusal_of_request, wanted_of
from exporter.web.negotiation import Form, wanted_form, wanted_format, wants_gzip
from exporter.web.parameters import MalformedQuery
from exporter.web.renderer import Renderer
from exporter.web.runbooks import PREFIX as RUNBOOKS
from exporter.web.runbooks import runbook_answer
from exporter.web.server.auth import Authenticator, AuthError, Client
from exporter.web.server.guard import SERVER_HEADERS

CONTENT_TYPES = {
    Format.TEXT: "text/plain; version=0.0.4; charset=utf-8",
    Format.OPENMETRICS: "application/openmetrics-text; version=1.0.0; charset=utf-8",
}
OTHER_PATH = "other"
RECORDING = "/recording"
LARGE_PATHS = frozenset({RECORDING, "/node", "/processes", "/faults", "/why", "/metrics/json"})
"""Pages that grow with the node, rendered in a thread."""

PARTS_OF_A_PAGE = frozenset({"collect[]", "exclude[]", "name[]"})
"""Parameters by which other exporters select some of their metrics."""

SIGNALS = {"/-/quiesce": "SIGUSR1", "/-/resume": "SIGUSR2", "/-/reload": "SIGHUP"}
"""Signals that do the same as actions."""

ALLOWED_METHODS = "GET, HEAD"
CHANGES = frozenset({("POST", "/silences"), ("DELETE", "/silences"), ("POST", "/clear")})
ALLOWED_OF_SILENCES = "GET, HEAD, POST, DELETE"
NOTHING_READ = "the first collection is not complete yet"


Action = Callable[[], "Awaitable[Mapping[str, object]] | None"]
"""The action of a POST: done at once, or returns further fields; raises ValueError."""

Endpoint = Callable[[PageRequest], Answer]


class Routes:
    """Finds the endpoint for a request, and counts answers by path and status."""

    def __init__(
        self,
        version: str,
        status: ProgramStatus,
        pages: Pages,
        authenticator: Authenticator,
        *,
        actions: Mapping[str, Action],
        maintenance: Maintenance | None,
        live: LivePages,
        recordings: Callable[[], RecordingFormat],
        renderer: Renderer,
    ) -> None:
        self._renderer = renderer
        self._live = live
        self._actions = actions
        self._recordings = recordings
        self._maintenance = maintenance
        self.authenticator = authenticator
        self._version = version
        self._status = status
        self._pages = pages
        self.requests: Counter[tuple[str, int]] = Counter()
        self._endpoints: dict[str, Endpoint] = {
            "/": self._landing,
            "/status": self._status_page,
            "/doctor": self._doctor,
            "/health": self._health,
            "/healthz": self._health,
            "/ready": self._ready,
            "/metrics": self._metrics,
            "/metrics/json": self._flat_metrics,
            "/node": self._node,
            "/processes": self._processes,
            "/faults": self._faults,
            "/why": self._why,
            RECORDING: self._recording,
            RUNBOOKS: runbook_answer,
        }
        if maintenance is not None:
            self._endpoints |= {"/silences": lambda _: maintenance.list(), "/clear": _only_post}

    async def handle(self, request: BaseRequest) -> StreamResponse:
        """Return the response to any request."""
        path = request.rel_url.raw_path
        known = RUNBOOKS if path.startswith(RUNBOOKS) else path
        endpoint = self._endpoints.get(known)
        try:
            await self.authenticator.authenticate(_client(request, path))
            answer = await self._answer(request, endpoint)
        except AuthError as error:
            answer = error_answer(error.status, error.sentence, error.headers)
        self.requests[known if endpoint else OTHER_PATH, answer.status] += 1
        headers = {**SERVER_HEADERS, "Content-Type": answer.content_type}
        if answer.headers:
            headers.update(answer.headers)
        response = Response(body=answer.body, status=answer.status, headers=headers)
        if answer.status == HTTPStatus.BAD_REQUEST:
            response.force_close()
        return response

    async def _answer(self, request: BaseRequest, endpoint: Endpoint | None) -> Answer:
        mistake = _mistake_in(request)
        if mistake is not None:
            return mistake
        if request.path in self._actions:
            return await self._act(request)
        if self._maintenance is not None and (request.method, request.path) in CHANGES:
            return await self._change(request, self._maintenance)
        if endpoint is None or request.method not in ("GET", "HEAD"):
            return _refused(request, is_known=endpoint is not None)
        asked = _page_request(request)
        if asked.path not in LARGE_PATHS:
            return _answered(endpoint, asked)
        key = (asked.path, tuple(asked.query), asked.accept)
        return await self._renderer.answer(
            self._status.snapshot(),
            self._status.boottime(),
            key,
            lambda: _answered(endpoint, asked),
        )

    def page(self, path: str, query: Sequence[tuple[str, str]] = (), accept: str = "") -> Answer:
        """Return the answer to a request of this program itself."""
        known = RUNBOOKS if path.startswith(RUNBOOKS) else path
        return _answered(self._endpoints[known], PageRequest(path, query, accept))

    async def _act(self, request: BaseRequest) -> Answer:
        """Run the action of this path; only for programs on this machine."""
        refusal = refusal_of_request(request)
        if refusal is not None:
            signal = SIGNALS.get(request.path)
            hint = f"; or send {signal} to the exporter" if signal else ""
            return error_answer(403, f"{refusal}{hint}")
        if request.method != "POST":
            return error_answer(405, "this needs POST", {"Allow": "POST"})
        try:
            done = self._actions[request.path]()
            more = {} if done is None else await done
        except ValueError as mistake:
            return error_answer(400, str(mistake))
        return json_answer({"status": "ok", **more})

    async def _change(self, request: BaseRequest, maintenance: Maintenance) -> Answer:
        """Change silences or clear faults; only for programs on this machine."""
        refusal = refusal_of_request(request)
        if refusal is not None:
            return error_answer(403, refusal)
        try:
            wanted = await wanted_of(request)
            return await maintenance.change(request.method, request.path, wanted)
        except BadChange as bad:
            return error_answer(400, str(bad))
        except NothingRead:
            return error_answer(503, NOTHING_READ)

    def _metrics(self, request: PageRequest) -> Answer:
        """Return the metrics page; raise MalformedQuery if a part of it is requested."""
        chosen = next((name for name, _ in request.query if name in PARTS_OF_A_PAGE), None)
        if chosen is not None:
            raise MalformedQuery(
                f"{chosen} is not supported: every scrape has the same families; choose them with"
                " metrics.allow and metrics.deny, or drop some with metric_relabel_configs"
            )
        form = wanted_format(request.accept)
        gzipped = wants_gzip(request.accept_encoding)
        headers = {"Vary": "Accept, Accept-Encoding"}
        body = self._pages.body(form, gzipped=gzipped)
        if body is None:
            raise NothingRead
        if gzipped:
            headers["Content-Encoding"] = "gzip"
        return Answer(body, CONTENT_TYPES[form], headers=headers)

    def _health(self, _: PageRequest) -> Answer:
        is_live = self._status.is_live()
        return json_answer(node.health(self._version, is_live=is_live), 200 if is_live else 503)

    def _ready(self, _: PageRequest) -> Answer:
        reasons = self._status.unready_reasons()
        return json_answer(node.readiness(self._version, reasons), 503 if reasons else 200)

    def _node(self, _: PageRequest) -> Answer:
        return json_answer(node.inventory(self._snapshot(), self._status.boottime()))

    def _processes(self, request: PageRequest) -> Answer:
        from exporter.reports.processes import processes  # noqa: PLC0415 - only if it is asked for

        document = processes(self._snapshot(), self._status.boottime())
        if wanted_form({}, request.accept, Form.JSON) is not Form.HTML:
            return json_answer(document)
        from exporter.web.html.pages import processes_page  # noqa: PLC0415 - only a browser needs it

        return processes_page(document)

    def _faults(self, request: PageRequest) -> Answer:
        from exporter.web.fault_routes import faults_answer  # noqa: PLC0415 - only if asked for

        return faults_answer(self._snapshot(), request, self._status.boottime())

    def _why(self, request: PageRequest) -> Answer:
        from exporter.web.fault_routes import why_answer  # noqa: PLC0415 - only if asked for

        return why_answer(self._snapshot(), request)

    def _recording(self, request: PageRequest) -> Answer:
        """Return the readings of the last snapshot, as `rules replay` reads them."""
        from exporter.web.fault_routes import recording_answer  # noqa: PLC0415 - only for a bundle

        return recording_answer(self._snapshot(), request, self._recordings())

    def _flat_metrics(self, _: PageRequest) -> Answer:
        return json_answer(node.flat_metrics(self._snapshot()))

    def _snapshot(self) -> Snapshot:
        snapshot = self._status.snapshot()
        if snapshot is None:
            raise NothingRead
        return snapshot

    def _landing(self, _: PageRequest) -> Answer:
        return self._live.landing(self._status.snapshot(), self._status.boottime())

    def _status_page(self, request: PageRequest) -> Answer:
        return self._live.status(request, self._status.snapshot(), self._status.boottime())

    def _doctor(self, request: PageRequest) -> Answer:
        return self._live.doctor(request, self._snapshot())


def _refused(request: BaseRequest, *, is_known: bool) -> Answer:
    """Return the error for an unknown path or method."""
    if not is_known:
        return error_answer(404, "not found; / lists all pages")
    allowed = ALLOWED_OF_SILENCES if request.path == "/silences" else ALLOWED_METHODS
    return error_answer(405, "this page is read-only", {"Allow": allowed})


def _only_post(_: PageRequest) -> Answer:
    return error_answer(405, "this needs POST", {"Allow": "POST"})


def _answered(endpoint: Endpoint, request: PageRequest) -> Answer:
    """Return the answer of the endpoint, or an error in one sentence."""
    try:
        return endpoint(request)
    except MalformedQuery as malformed:
        return error_answer(400, str(malformed))
    except NothingRead:
        return error_answer(503, NOTHING_READ)


def _list_header(request: BaseRequest, name: str) -> str:
    """Return a header of several lines as one list (RFC 9110, 5.3)."""
    return ", ".join(request.headers.getall(name, ()))


def _mistake_in(request: BaseRequest) -> Answer | None:
    """Return the error for a request that aiohttp accepts and no page answers; else None."""
    if request.version.major != 1:
        return error_answer(400, "this is not an HTTP/1 request")
    if request.version.minor == 0 and "Transfer-Encoding" in request.headers:
        return error_answer(400, "HTTP/1.0 has no Transfer-Encoding")  # RFC 9112, section 6.1
    refusal = refusal_of_request(request) if request.path == RECORDING else None
    return error_answer(403, refusal) if refusal else None


def _page_request(request: BaseRequest) -> PageRequest:
    return PageRequest(
        request.path,
        list(request.rel_url.query.items()) if request.rel_url.raw_query_string else (),
        _list_header(request, "Accept"),
        _list_header(request, "Accept-Encoding"),
    )


def _client(request: BaseRequest, path: str) -> Client:
    certificate = request.transport and request.transport.get_extra_info("peercert")
    return Client(path, request.headers.get("Authorization", ""), bool(certificate))
