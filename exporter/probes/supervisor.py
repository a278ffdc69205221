"""Starts a probe, asks it under a deadline, restarts it with back-off, gives it up when stuck."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from exporter.model.label import clean_text
from exporter.probes.child import Child, Children, Command
from exporter.probes.protocol import BadLine, LineSplitter, decode_line, encode_line

FIRST_BACKOFF_SECS = 1.0
LONGEST_BACKOFF_SECS = 60.0

log = logging.getLogger("exporter.probes")


class ProbeFailed(Exception):  # noqa: N818 - an expected answer that carries its reason
    """The probe gave no answer; `reason` is timeout, stuck, crashed or no_program."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class RequestProbe:
    """A probe that answers one request at a time, one line each.

    Lines without the id of the request are events and go to `on_event`. At most one child runs;
    one that does not die is never replaced before it has.
    """

    def __init__(
        self,
        name: str,
        command: Command,
        children: Children,
        on_event: Callable[[dict[str, Any]], None],
    ) -> None:
        self.name = name
        self.restarts = 0
        self._command = command
        self._children = children
        self._on_event = on_event
        self._child: Child | None = None
        self._stuck_child: Child | None = None
        self._answer: asyncio.Future[dict[str, Any]] | None = None
        self._request_id = 0
        self._backoff_secs = 0.0
        self._not_before = 0.0
        self._last_failure = ("crashed", "not started yet")
        self._last_words = ""

    @property
    def is_stuck(self) -> bool:
        """Whether a killed child of this probe is still alive."""
        return self._stuck_child is not None and self._stuck_child.is_running

    async def ask(self, request: dict[str, Any], deadline_secs: float) -> dict[str, Any]:
        """The probe's answer to the request; raises ProbeFailed."""
        if self.is_stuck:
            raise ProbeFailed("stuck", f"probe {self.name} was killed and does not die")
        loop = asyncio.get_running_loop()
        if loop.time() < self._not_before:
            raise ProbeFailed(*self._last_failure)
        child = self._child if self._child is not None else self._start()
        self._request_id += 1
        self._answer = loop.create_future()
        line = encode_line({"id": self._request_id, **request})
        if not child.write(line):
            self._child = None
            child.kill()
            raise self._failure("crashed", f"probe {self.name} takes no request")
        ends: set[asyncio.Future[Any]] = {self._answer, child.exited}
        await asyncio.wait(ends, timeout=deadline_secs, return_when=asyncio.FIRST_COMPLETED)
        if self._answer.done():
            self._backoff_secs = 0.0
            return self._answer.result()
        raise await self._give_up_on(child, deadline_secs)

    async def close(self) -> None:
        """End the probe; a later request starts it again at once."""
        child, self._child = self._child, None
        self._backoff_secs = self._not_before = 0.0
        if child is not None and not await self._children.end(child):
            self._stuck_child = child

    def _start(self) -> Child:
        splitter = LineSplitter()

        def on_output(chunk: bytes) -> None:
            self._take(chunk, splitter)

        try:
            child = self._children.start(self._command, on_output, self._on_errors)
        except OSError as error:
            raise self._failure("no_program", f"probe {self.name}: {error.strerror}") from error
        self._child = child
        return child

    async def _give_up_on(self, child: Child, deadline_secs: float) -> ProbeFailed:
        self._child = None
        if child.exited.done():
            code = child.exited.result()
            return self._failure("crashed", f"probe {self.name} ended with {code}{self._said()}")
        if await self._children.end(child):
            return self._failure(
                "timeout", f"probe {self.name} did not answer within {deadline_secs:g} s"
            )
        self._stuck_child = child
        return self._failure("stuck", f"probe {self.name} was killed and does not die")

    def _failure(self, reason: str, message: str) -> ProbeFailed:
        """Count the failure and set when the next start may be."""
        self.restarts += 1
        self._not_before = asyncio.get_running_loop().time() + self._backoff_secs
        self._backoff_secs = min(
            LONGEST_BACKOFF_SECS, max(FIRST_BACKOFF_SECS, 2 * self._backoff_secs)
        )
        self._last_failure = (reason, message)
        return ProbeFailed(reason, message)

    def _take(self, chunk: bytes, splitter: LineSplitter) -> None:
        try:
            for line in splitter.feed(chunk):
                self._deliver(decode_line(line))
        except BadLine as error:
            log.warning("probe %s wrote a bad line: %s", self.name, clean_text(str(error)))
            if self._child is not None:
                self._child.kill()

    def _deliver(self, message: dict[str, Any]) -> None:
        if message.get("id") is None:
            self._on_event(message)
        elif message["id"] == self._request_id and self._answer and not self._answer.done():
            self._answer.set_result(message)

    def _on_errors(self, chunk: bytes) -> None:
        """Keep the last words only: a library may print a great deal."""
        self._last_words = clean_text(chunk[-200:])

    def _said(self) -> str:
        return f", its last words: {self._last_words}" if self._last_words else ""
