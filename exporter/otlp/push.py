"""Pushes the page's metrics to an OTLP receiver, one request at a time, the newest values only."""

import gzip
import json
import logging
import re
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from exporter.blocking import CallBlocking
from exporter.clock import wall_now
from exporter.config.otlp import Otlp
from exporter.exposition.family import Family
from exporter.model.snapshot import Snapshot
from exporter.otlp.encode import request_of
from exporter.outgoing import Repeated, Reply, Request, RequestFailed, content, send, trust_in

MAX_REASON_CHARS = 300
HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([!-~][ -~\t]*)")

log = logging.getLogger("exporter.otlp")

Shown: TypeAlias = tuple[Snapshot, list[Family]]
"""A snapshot, and the families that are exported of it."""


async def push(
    settings: Otlp,
    version: str,
    shown: Callable[[], Shown | None],
    call: CallBlocking,
    pushes: Counter[str],
) -> None:
    """Push for ever; count in `pushes`."""
    await Pusher(settings, version, shown, call=call, wall=wall_now, pushes=pushes).run()


class Pusher(Repeated):
    """Pushes at each interval; nothing is kept for later, since counters go on by themselves.

    `shown` returns what /metrics would show now, None before the first snapshot. `pushes` counts
    requests by outcome: accepted, failed.
    """

    def __init__(
        self,
        settings: Otlp,
        version: str,
        shown: Callable[[], Shown | None],
        *,
        call: CallBlocking,
        wall: Callable[[], float],
        pushes: Counter[str],
    ) -> None:
        super().__init__(settings.interval_secs)
        self._settings = settings
        self._version = version
        self._shown = shown
        self._call = call
        self._wall = wall
        self.pushes = pushes

    async def step(self) -> None:
        """Push once, if there is a snapshot; log a failure, and the first success after it."""
        shown = self._shown()
        if shown is None:
            return
        self._wished_secs = 0.0
        try:
            request = await self._call(lambda: self._request(shown))
            reply = await send(request, "the receiver", self._settings.timeout_secs)
            self._wished_secs = reply.retry_after_secs
            refused = _refused(reply)
        except RequestFailed as error:
            self.pushes["failed"] += 1
            self._failures += 1
            self._complain(str(error))
        else:
            self.pushes["accepted"] += 1
            self._failures = 0
            self._complain(refused)

    def _request(self, shown: Shown) -> Request:
        snapshot, families = shown
        document = request_of(families, snapshot, self._version, self._wall())
        body = gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 5)
        headers = {
            "User-Agent": f"hw-exporter/{self._version}",
            **self._headers(),
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
        }
        trust = trust_in("otlp.ca_file", self._settings.ca_file)
        return Request("POST", self._settings.endpoint, headers, body, trust)

    def _headers(self) -> dict[str, str]:
        """Return the headers of the file, read at each push: tokens are renewed there."""
        if not self._settings.headers_file:
            return {}
        found = {}
        lines = content("otlp.headers_file", self._settings.headers_file).splitlines()
        for number, line in enumerate(lines, 1):
            header = HEADER.fullmatch(line.strip())
            if header:
                found[header[1]] = header[2]
            elif line.strip():
                raise RequestFailed(f'otlp.headers_file: line {number} is not "Name: value"')
        return found

    def _complain(self, sentence: str) -> None:
        """Log a new sentence; empty when all is well."""
        if sentence == self._complaint:
            return
        if sentence:
            log.warning("OTLP: %s", sentence)
        else:
            log.info("OTLP: the receiver accepts the metrics again")
        self._complaint = sentence


def _refused(reply: Reply) -> str:
    """Return what the receiver rejected of an accepted request; raise RequestFailed if all."""
    try:
        document = json.loads(reply.body or b"{}")
    except (ValueError, RecursionError):
        document = {}
    if not isinstance(document, dict):
        document = {}
    if not reply.is_ok:
        reason = document.get("message")
        reason = f": {reason[:MAX_REASON_CHARS]}" if isinstance(reason, str) else ""
        raise RequestFailed(f"the receiver answered {reply.status} {reply.reason}{reason}")
    partial = document.get("partialSuccess")
    if not isinstance(partial, dict):
        return ""
    count = str(partial.get("rejectedDataPoints", 0))[:20]
    if count == "0":
        return ""
    reason = str(partial.get("errorMessage", ""))[:MAX_REASON_CHARS]
    return f"the receiver rejected {count} data points: {reason}"
