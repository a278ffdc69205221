"""Supervises a probe: start, request with a deadline, restart with back-off, give up when stuck."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from exporter.blocking import wait_for_any
from exporter.collectors.gpu.supervision.breadcrumb import Breadcrumb
from exporter.collectors.gpu.supervision.call_failures import DisabledCalls, call_and_place
from exporter.model.label import clean_text
from exporter.probes.backoff import Backoff
from exporter.probes.child import Child, Children, Command
from exporter.probes.protocol import BadLine, LineSplitter, decode_line, encode_line
from exporter.record import replace

LONGEST_PAUSE_SECS = 30.0
"""The longest pause before a crashed library is tried again.

With an interval of 15 s between collections its values are back within a minute.
"""

log = logging.getLogger("exporter.probes")


class ProbeFailed(Exception):
    """The probe did not answer; `reason` is timeout, stuck, crashed or no_program.

    `place` is the index of the device of the last call, None without one; `is_repeated` means that
    the library has crashed in the same call before and is expected to crash again.
    """

    def __init__(
        self, reason: str, message: str, place: int | None = None, *, is_repeated: bool = False
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.place = place
        self.is_repeated = is_repeated


class RequestProbe:
    """A probe that answers one request at a time, one line each.

    Lines without the id of the request are events and go to `on_event`. At most one child runs; a
    killed child that does not die is not replaced. With a breadcrumb, the child gets the calls that
    it must not make for a while: those in which it crashed three times.
    """

    def __init__(
        self,
        name: str,
        command: Command,
        children: Children,
        on_event: Callable[[dict[str, Any]], None],
        breadcrumb: Breadcrumb | None = None,
    ) -> None:
        self.name = name
        self.restarts = 0
        vital = breadcrumb.vital if breadcrumb else ()
        self._disabled = DisabledCalls(lambda: asyncio.get_running_loop().time(), vital)
        self._breadcrumb = breadcrumb
        self._command = command
        self._children = children
        self._on_event = on_event
        self._child: Child | None = None
        self._stuck_child: Child | None = None
        self._answer: asyncio.Future[dict[str, Any]]  # of the latest request
        self._request_id = 0
        self._backoff = Backoff(first_secs=0.0, longest_secs=LONGEST_PAUSE_SECS)
        self._not_before = 0.0
        self._last_failure: tuple[str, str]  # the reason of the pause before the next start
        self._last_words = ""

    @property
    def is_stuck(self) -> bool:
        """Whether a killed child of this probe is still alive."""
        return self._stuck_child is not None and self._stuck_child.is_running

    @property
    def switched_off(self) -> tuple[str, ...]:
        """The disabled calls, with `@` and an index for one device only."""
        return self._disabled.crumbs

    async def ask(self, request: dict[str, Any], deadline_secs: float) -> dict[str, Any]:
        """Send a request, and return the probe's answer; raise ProbeFailed."""
        if self.is_stuck:
            raise ProbeFailed("stuck", f"probe {self.name} was killed but does not exit")
        loop = asyncio.get_running_loop()
        if self._child is not None and not self._child.is_running:
            self._note_end_of(self._child)
        if not self.may_start:
            raise ProbeFailed(*self._last_failure)
        child = self._child if self._child is not None else self._start()
        self._request_id += 1
        self._answer = loop.create_future()
        disabled = self.switched_off
        off = {"switched_off": disabled} if disabled else {}
        line = encode_line({"id": self._request_id, **off, **request})
        if not child.write(line):
            child.kill()  # its pipe is full or closed: it ends, or is stuck
        ends: set[asyncio.Future[Any]] = {self._answer, child.exited}
        await wait_for_any(ends, deadline_secs)
        if self._answer.done():
            self._backoff.reset()
            return self._answer.result()
        raise await self._give_up_on(child, deadline_secs)

    def start_ahead(self) -> None:
        """Start the child before the first request, which would wait for its imports."""
        with suppress(ProbeFailed):  # the first request tries again
            self._start()

    @property
    def may_start(self) -> bool:
        """Whether a request would be accepted now: the back-off is over."""
        return asyncio.get_running_loop().time() >= self._not_before

    def allow_start(self) -> None:
        """End the back-off: the next request starts the probe without the failed call."""
        self._not_before = 0.0

    async def close(self) -> None:
        """End the probe; a later request starts it at once, with every call allowed."""
        self.allow_start()
        self._backoff.reset()
        self._disabled.clear()
        await self.end_child()

    async def recycle(self) -> None:
        """End a probe that uses too much memory; the next request starts a new one."""
        self.restarts += 1
        await self.end_child()

    async def end_child(self) -> None:
        """End the child; the next request starts a new one."""
        child, self._child = self._child, None
        if child is not None and not await self._children.end(child):
            self._stuck_child = child

    def _start(self) -> Child:
        splitter = LineSplitter()

        def on_output(chunk: bytes) -> None:
            self._take(chunk, splitter)

        try:
            child = self._children.start(self._command_now(), on_output, self._on_errors)
        except OSError as error:
            raise self._failure("no_program", f"probe {self.name}: {error.strerror}") from error
        self._child = child
        return child

    def _command_now(self) -> Command:
        """Return the command, with a cleared breadcrumb if the probe has one."""
        if self._breadcrumb is None:
            return self._command
        self._breadcrumb.clear()
        descriptor = self._breadcrumb.descriptor
        argv = (*self._command.argv, f"--crumbs={descriptor}")
        return replace(self._command, argv=argv, descriptors=(descriptor,))

    async def _give_up_on(self, child: Child, deadline_secs: float) -> ProbeFailed:
        if child.exited.done():
            return self._note_end_of(child)
        self._child = None
        if await self._children.end(child):
            return self._failure(
                "timeout",
                f"probe {self.name} did not answer within {deadline_secs:g} s{self._where()}",
            )
        self._stuck_child = child
        return self._failure("stuck", f"probe {self.name} was killed but does not exit")

    def _note_end_of(self, child: Child) -> ProbeFailed:
        """Count a crash at its call; the third crash in the same call disables the call."""
        self._child = None
        call = self._call()
        code = child.exited.result()
        sentence = f"probe {self.name} ended with {code}{self._where()}{self._ending()}"
        failure = self._failure("crashed", sentence)
        if not call:
            return failure
        was_repeated = self._disabled.is_repeated(call)
        if self._disabled.note_crash(call) is not None:
            level = logging.DEBUG if was_repeated else logging.WARNING
            log.log(level, "%s, for the third time: this call is disabled for a while", sentence)
            self.allow_start()
            self._backoff.reset()
        failure.is_repeated = self._disabled.is_repeated(call)
        return failure

    def _call(self) -> str:
        """Return the last call of the child; empty between calls."""
        return "" if self._breadcrumb is None else self._breadcrumb.read()

    def _where(self) -> str:
        call, place = call_and_place(self._call())
        if not call or self._breadcrumb is None:
            return ""
        return f" in {call}" + ("" if place is None else f" on {self._breadcrumb.device} {place}")

    def _failure(self, reason: str, message: str) -> ProbeFailed:
        """Count the failure and set the time of the next start."""
        self.restarts += 1
        self._not_before = asyncio.get_running_loop().time() + self._backoff.next_secs()
        self._last_failure = (reason, message)
        return ProbeFailed(reason, message, call_and_place(self._call())[1])

    def _take(self, chunk: bytes, splitter: LineSplitter) -> None:
        try:
            for line in splitter.feed(chunk):
                self._deliver(decode_line(line))
        except BadLine as error:
            log.warning("probe %s printed an invalid line: %s", self.name, clean_text(str(error)))
            if self._child is not None:
                self._child.kill()

    def _deliver(self, message: dict[str, Any]) -> None:
        if message.get("id") is None:
            self._on_event(message)
        elif message["id"] == self._request_id and not self._answer.done():
            self._answer.set_result(message)

    def _on_errors(self, chunk: bytes) -> None:
        """Keep only the last words: a library may print a lot."""
        self._last_words = clean_text(chunk[-200:])

    def _ending(self) -> str:
        return f", its last words: {self._last_words}" if self._last_words else ""
