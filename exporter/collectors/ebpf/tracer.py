"""One running bpftrace: started, listened to, ended when it is silent or floods, and restarted."""

import asyncio
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any

from exporter.model.label import clean_text
from exporter.probes.backoff import LONGEST_BACKOFF_SECS, Backoff
from exporter.probes.child import Child, Children, Command, run_once
from exporter.probes.protocol import BadLine, LineSplitter, decode_line
from exporter.record import dataclass

SILENCE_SECS = 15.0
"""A program prints every few seconds, also where there is nothing to say."""

START_SECS = 120.0
"""Compiling and attaching may take so long on a busy node."""

DETACH_SECS = 20.0
"""The kernel waits for all processors at each function that is detached from."""

MAX_KEYS_NAMES = ("BPFTRACE_MAP_KEYS_MAX", "BPFTRACE_MAX_MAP_KEYS")
MAX_TEXT_NAMES = ("BPFTRACE_STRLEN", "BPFTRACE_MAX_STRLEN")

PATH = "/usr/bin:/usr/local/bin:/bin:/usr/sbin:/sbin"
MAX_WORDS = 500
MAX_ERROR_BYTES = 4096
TRIAL = "interval:ms:1 { exit(); }"
TRIAL_BYTES = 64 * 1024

OnRecord = Callable[[Mapping[str, Any]], None]
"""Takes maps by name, as bpftrace prints them; a printed text as `{"text": …}`."""


@dataclass(frozen=True, slots=True)
class Script:
    """A program for bpftrace, what takes its records, and which of our files it attaches to."""

    text: str
    on_record: OnRecord
    descriptors: tuple[int, ...] = ()
    max_keys: int = 4096


def find_program(name: str) -> str | None:
    """Find a program in the folders of the system."""
    return shutil.which(name, path=PATH)


def command_of(script: Script) -> Command:
    """Give the command; with setpriv bpftrace is killed when we are, however we end.

    Warnings are left out: from 0.23 on, each key that is deleted and not there is one. Since 0.19
    its variables have other names.
    """
    setpriv = find_program("setpriv")
    tied = () if setpriv is None else (setpriv, "--pdeathsig", "KILL", "--")
    bpftrace = find_program("bpftrace") or "bpftrace"
    return Command(
        (*tied, bpftrace, "--no-warnings", "-f", "json", "-e", script.text),
        {
            "PATH": PATH,
            "HOME": "/",
            **dict.fromkeys(MAX_KEYS_NAMES, str(script.max_keys)),
            **dict.fromkeys(MAX_TEXT_NAMES, "64"),
        },
        descriptors=script.descriptors,
    )


class Tracer:
    """Runs one script until it ends; what it printed is given on, record by record."""

    def __init__(
        self,
        script: Script,
        children: Children,
        command: Command,
        patience: tuple[float, float] = (START_SECS, SILENCE_SECS),
    ) -> None:
        self._script = script
        self._children = children
        self._command = command
        self._patience = patience
        self._splitter = LineSplitter()
        self._child: Child | None = None
        self._spoke = asyncio.Event()
        self._errors = b""
        self.is_attached = False
        self.problem = ""

    def start(self) -> None:
        """Start the child; `run` tells where the program cannot be run."""
        try:
            self._child = self._children.start(self._command, self._take, self._on_errors)
        except OSError as error:
            self.problem = f"bpftrace cannot be started: {error.strerror}"

    async def run(self) -> str:
        """Wait until it has ended, and say why; ends it when it is silent for too long."""
        child = self._child
        if child is None:
            return self.problem
        try:
            while await self._has_spoken(child):
                pass
        finally:
            self.is_attached = False
            child.kill()
        await self.end()
        if not child.exited.done():
            self.problem = "bpftrace was killed but does not exit"
        if not self.problem:
            self.problem = (
                first_words(self._errors) or f"bpftrace ended with {child.exited.result()}"
            )
        return self.problem

    async def end(self) -> None:
        """Kill it, and wait while the kernel detaches it; abandon it when it takes too long."""
        child = self._child
        if child is not None:
            child.kill()
            if not await child.gone_within(DETACH_SECS):
                await self._children.end(child)

    async def _has_spoken(self, child: Child) -> bool:
        """Wait for the next word; False when the child has ended or is to be ended."""
        self._spoke.clear()
        waiting = asyncio.ensure_future(self._spoke.wait())
        limit = self._patience[self.is_attached]
        ends: set[asyncio.Future[Any]] = {waiting, child.exited}
        try:
            await asyncio.wait(ends, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if child.exited.done() or self.problem:
            return False
        if not self._spoke.is_set():
            self.problem = f"bpftrace was silent for {limit:g} s"
            return False
        return True

    def _take(self, chunk: bytes) -> None:
        try:
            for line in self._splitter.feed(chunk):
                self._deliver(decode_line(line))
        except (BadLine, AttributeError, KeyError, TypeError, ValueError) as error:
            self.problem = f"bpftrace wrote a bad line: {clean_text(str(error))}"
        self._spoke.set()

    def _deliver(self, message: dict[str, Any]) -> None:
        kind, data = message.get("type"), message.get("data")
        if kind == "attached_probes":
            self.is_attached = True
        elif kind in ("map", "hist") and isinstance(data, dict):
            self._script.on_record(data)
        elif kind == "printf" and isinstance(data, str):
            self._script.on_record({"text": data})

    def _on_errors(self, chunk: bytes) -> None:
        """Keep the first errors: what follows them follows from them."""
        self._errors += chunk[: MAX_ERROR_BYTES - len(self._errors)]


def first_words(errors: bytes) -> str:
    """Return the first line that tells of an error; empty without one."""
    for line in errors.decode("utf-8", "replace").split("\n"):
        if line.strip() and "RLIMIT_MEMLOCK" not in line and "uprobe_events" not in line:
            return clean_text(line[:MAX_WORDS])
    return ""


class Trial:
    """Runs bpftrace once, with a program that counts nothing.

    Without it, what forbids bpftrace to run (seccomp, SELinux, kernel lockdown) would be told only
    when a process uses a library whose calls are counted. `problem` is empty until it has ended,
    and if it ended well; else it is tried again after a minute.
    """

    def __init__(
        self, children: Children, command: Callable[[Script], Command] = command_of
    ) -> None:
        self._children = children
        self._command = command(Script(TRIAL, lambda _: None))
        self._task: asyncio.Task[None] | None = None
        self.problem = ""

    def start(self) -> None:
        """Start it; it ends by itself."""
        self._task = asyncio.ensure_future(self._run())

    def kill(self) -> None:
        """Kill it where it still runs."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while problem := await self._try():
            self.problem = problem
            await asyncio.sleep(LONGEST_BACKOFF_SECS)
        self.problem = ""

    async def _try(self) -> str:
        """Run it to its end; return why it did not end well, empty if it did."""
        try:
            ended = await run_once(
                self._children, self._command, timeout_secs=START_SECS, limit_bytes=TRIAL_BYTES
            )
        except OSError as error:
            return f"bpftrace cannot be started: {error.strerror}"
        if ended.code == 0:
            return ""
        return first_words(ended.errors) or f"bpftrace ended with {ended.problem or ended.code}"


class Tracing:
    """Keeps one script running: started again, after a pause, where bpftrace has ended by itself.

    `failure` says why it last ended or did not start; empty where it did neither, or was killed.
    """

    def __init__(
        self,
        children: Children,
        command: Callable[[Script], Command] = command_of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._children = children
        self._command = command
        self._clock = clock
        self._tracer: Tracer | None = None
        self._task: asyncio.Task[str] | None = None
        self._backoff, self._not_before = Backoff(), 0.0
        self._started = 0.0
        self.failure = ""

    @property
    def is_attached(self) -> bool:
        """Whether bpftrace counts."""
        return self.is_running and self._tracer is not None and self._tracer.is_attached

    @property
    def is_running(self) -> bool:
        """Whether bpftrace runs; where it has ended by itself the reason is kept."""
        if self._task is not None and self._task.done():
            self.failure, self._task = self._task.result(), None
            if self._clock() - self._started > LONGEST_BACKOFF_SECS:
                self._backoff.reset()
            self._not_before = self._clock() + self._backoff.next_secs()
        return self._task is not None

    @property
    def is_pausing(self) -> bool:
        """Whether the pause after its last failure is not over."""
        return not self.is_running and self._clock() < self._not_before

    def start(self, script: Script) -> None:
        """Run this script."""
        self._tracer = Tracer(script, self._children, self._command(script))
        self._started = self._clock()
        self._tracer.start()
        self._task = asyncio.ensure_future(self._tracer.run())

    def kill(self) -> None:
        """Kill bpftrace; the kernel detaches the probes of a killed bpftrace."""
        task, self._task, self.failure = self._task, None, ""
        if task is not None:
            task.cancel()

    async def end(self) -> None:
        """Kill bpftrace, and wait while the kernel detaches it."""
        self.kill()
        if self._tracer is not None:
            await self._tracer.end()
