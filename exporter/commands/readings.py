"""The data source of a command: a running exporter, or a single collection."""

import asyncio
import json
import logging
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlencode

from exporter.commands.http_client import Address, Response, Silent, Unreachable, get, parse_address
from exporter.commands.invocation import CommandError, Invocation, Settings
from exporter.config import Config, State
from exporter.config.server import ServerConfig
from exporter.exit_codes import EXIT_UNKNOWN
from exporter.record import replace
from exporter.reports.units import printable

T = TypeVar("T")

LOCAL_TIMEOUT_SECS = 2.0
BETWEEN_READINGS_SECS = 1.0
"""Rates need two readings."""

PENDING_PATIENCE_SECS = 2.0
MAX_TOKEN_BYTES = 4096
UNEXPECTED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Exceptions of a JSON document of another shape: also 400 digits, or 1,000 levels."""

Query = Mapping[str, str]


class Readings:
    """The pages of an exporter; `origin` names the exporter in messages."""

    origin: str

    def get(self, path: str, query: Query | None = None, accept: str = "") -> Response:
        """Return the response; raise CommandError if there is none."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Collect again, if this process does the collecting."""

    def close(self) -> None:
        """Close connections and child processes, if there are any."""


class RunningExporter(Readings):
    """A running exporter, read over HTTP."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self.origin = address.url

    def get(self, path: str, query: Query | None = None, accept: str = "") -> Response:
        """Return the response; raise CommandError if no exporter answers or a login is missing."""
        question = f"?{urlencode(query)}" if query else ""
        headers = {"Accept": accept or "application/json"}
        try:
            response = get(self._address, path + question, headers)
        except Unreachable as unreachable:
            raise CommandError(str(unreachable), EXIT_UNKNOWN) from unreachable
        if response.status == HTTPStatus.UNAUTHORIZED:
            sentence = f"{self.origin} requires a login: use --url http://USER:PASSWORD@HOST"
            raise CommandError(sentence, EXIT_UNKNOWN)
        return response

    def change(self, method: str, path: str, body: Mapping[str, Any] | None) -> Response:
        """Send a change as JSON and return the response; raise CommandError if there is none."""
        headers = {"Accept": "application/json"}
        headers |= {} if body is None else {"Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            return get(self._address, path, headers, method, data=data)
        except Unreachable as unreachable:
            raise CommandError(str(unreachable), EXIT_UNKNOWN) from unreachable


class OwnReading(Readings):
    """One reading of this machine by this process, without a listening socket."""

    origin = "one reading of this machine"

    def __init__(self, settings: Settings) -> None:
        from exporter.app import App  # noqa: PLC0415 - a running exporter is asked without it

        logging.disable(logging.CRITICAL)  # documents have all errors of reading
        self._loop = asyncio.new_event_loop()
        config = _for_one_reading(settings.config)

        async def build() -> App:
            return App(config, settings.identity, dropped_log_lines=lambda: 0)

        self._app = self._run(build())
        self._read(config.gpu.timeout_secs + PENDING_PATIENCE_SECS)

    def _read(self, patience_secs: float) -> None:
        """Collect twice for rates, and further while GPUs have not answered."""
        self.refresh()
        waited = 0.0
        while waited < BETWEEN_READINGS_SECS or (waited < patience_secs and self._is_pending()):
            self._run(asyncio.sleep(BETWEEN_READINGS_SECS))
            waited += BETWEEN_READINGS_SECS
            self.refresh()

    def _is_pending(self) -> bool:
        driver = self.get("/node").document().get("driver")
        return isinstance(driver, dict) and driver.get("reason") == "pending"

    def get(self, path: str, query: Query | None = None, accept: str = "") -> Response:
        """Return the response that the exporter of this machine would give."""

        async def ask() -> Response:
            answer = self._app.page(path, tuple((query or {}).items()), accept)
            return Response(answer.status, answer.content_type, answer.body, len(answer.body))

        return self._run(ask())

    def refresh(self) -> None:
        """Collect again."""
        self._run(self._app.collect())

    def close(self) -> None:
        """End the child processes, and close the event loop."""
        self._run(self._app.close())
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)


def _for_one_reading(config: Config) -> Config:
    """Remove what only a running exporter may do: save state, start probes, read its key."""
    return replace(config, state=State(dir=""), probes=(), server=ServerConfig())


@contextmanager
def connected(invocation: Invocation) -> Iterator[Readings]:
    """Yield the exporter at `--url`, else that of this machine, else a single collection.

    Raises CommandError, also for responses of an unexpected shape, and ConfigError.
    """
    readings = _chosen(invocation)
    try:
        with understood(readings):
            yield readings
    finally:
        readings.close()


def _chosen(invocation: Invocation) -> Readings:
    if invocation.options.url is not None:
        return running_exporter(invocation)
    settings = invocation.settings()
    local = local_address(settings.config)
    return RunningExporter(local) if _is_exporter(local) else OwnReading(settings)


def running_exporter(invocation: Invocation) -> RunningExporter:
    """Return the exporter at `--url`, else that of this machine; raise CommandError."""
    url = invocation.options.url
    try:
        address = parse_address(url) if url is not None else None
    except Unreachable as error:
        raise CommandError(f"--url: {error}", EXIT_UNKNOWN) from error
    return RunningExporter(address or local_address(invocation.settings().config))


def local_address(config: Config) -> Address:
    """Return the address of this machine's exporter, with its token."""
    server = config.server
    host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(server.host, server.host)  # noqa: S104 - compared, not bound
    scheme = "https" if server.tls.cert_file else "http"
    headers = {}
    token = _token(server.auth.bearer_token_file)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    place = f"[{host}]" if ":" in host else host
    return Address(f"{scheme}://{place}:{server.port}", headers, server.tls.cert_file)


def _token(path: str) -> str:
    """Read the first token; empty if the file is unreadable: the exporter then refuses."""
    if not path:
        return ""
    try:
        with Path(path).open("rb") as file:
            lines = file.read(MAX_TOKEN_BYTES).decode("ascii", "ignore").split()
    except OSError:
        return ""
    return lines[0] if lines else ""


def _is_exporter(address: Address) -> bool:
    """Whether an hw-exporter answers at the address, not another program.

    Raises CommandError if what listens there does not answer: an exporter that hangs may know of
    faults that one reading cannot show.
    """
    try:
        document = get(address, "/health", timeout_secs=LOCAL_TIMEOUT_SECS).document()
    except Silent as silent:
        raise CommandError(str(silent), EXIT_UNKNOWN) from silent
    except Unreachable:
        return False
    return document.get("status") in ("healthy", "unhealthy") and "version" in document


@contextmanager
def understood(readings: Readings) -> Iterator[None]:
    """Turn errors from a response of an unexpected shape into CommandError."""
    try:
        yield
    except UNEXPECTED as error:
        sentence = f"{readings.origin} answers what this version does not understand: {error!r}"
        raise CommandError(sentence, EXIT_UNKNOWN) from error


def document_in(readings: Readings, path: str, response: Response) -> dict[str, Any]:
    """Return the JSON document; raise CommandError with the error of the exporter."""
    try:
        document = response.document()
    except Unreachable as error:
        raise CommandError(f"{readings.origin}{path}: {error}", EXIT_UNKNOWN) from error
    if response.status != HTTPStatus.OK:
        sentence = document.get("error") or f"{path} answers {response.status}"
        raise CommandError(_printable(str(sentence)), EXIT_UNKNOWN)
    return cast("dict[str, Any]", _printable(document))


def _printable(value: Any) -> Any:
    """Replace control characters: the other end may be any program."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list) else value
