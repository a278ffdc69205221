"""Child processes that may hang, flood or not die: the only module that starts any.

Each child has its own session, so that its whole group can be killed; its output is read without
blocking; a child that survives SIGKILL (in D state in a driver) is abandoned and counted, never
waited for.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from exporter.blocking import wait_for_any
from exporter.record import dataclass

READ_CHUNK_BYTES = 65536
KILL_GRACE_SECS = 0.5
LOOK_ONLY = os.WEXITED | os.WNOHANG | os.WNOWAIT
EXIT_POLL_SECS = 0.05
REAP_SECS = 10.0

STARTED: set[int] = set()
"""The PIDs of all children that were started here and not yet reaped."""

OnBytes = Callable[[bytes], None]


def adopted() -> list[int]:
    """Return the PIDs of our children that we did not start.

    None are found if the kernel does not list children (CONFIG_PROC_CHILDREN).
    """
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii")
    except OSError:
        return []
    return [pid for pid in map(int, text.split()) if pid not in STARTED]


def reap(pids: Iterable[int]) -> None:
    """Reap those of these children that have ended."""
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


async def reap_as_process_1() -> None:
    """Reap what the programs of probes leave behind, if this is process 1 of a container."""
    while os.getpid() == 1:
        await asyncio.sleep(REAP_SECS)
        reap(adopted())


@dataclass(frozen=True, slots=True)
class Command:
    """A fixed argument vector and the whole environment of a child; no shell.

    `input` is all of its standard input, at most what a pipe takes at once (4 KiB).
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    with_input: bool = False
    input: bytes | None = None
    descriptors: tuple[int, ...] = ()  # open descriptors that the child inherits


class Child:
    """One running child process; created by `Children.start`."""

    def __init__(self, command: Command, on_output: OnBytes, on_errors: OnBytes) -> None:
        self._loop = asyncio.get_running_loop()
        takes_input = command.with_input or command.input is not None
        self._process = subprocess.Popen(  # noqa: S603 - fixed argument vectors, no shell
            command.argv,
            stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(command.environment),
            cwd="/",  # keeps no directory busy, and imports nothing from our working directory
            start_new_session=True,
            pass_fds=command.descriptors,
            bufsize=0,
        )
        self.pid = self._process.pid
        STARTED.add(self.pid)
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self._sinks: dict[int, OnBytes] = {}
        for stream, sink in ((self._process.stdout, on_output), (self._process.stderr, on_errors)):
            if stream is not None:
                self._follow(stream.fileno(), sink)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
        if command.input is not None and self._process.stdin is not None:
            self.write(command.input)
            self._process.stdin.close()
        self._pidfd = self._watch_exit()

    @property
    def is_running(self) -> bool:
        """Whether the exit of the process has not been seen."""
        return not self.exited.done()

    def write(self, data: bytes) -> bool:
        """Send a short request to the child; False if it takes none now or has ended."""
        stream = self._process.stdin
        if stream is None or stream.closed:
            return False
        try:
            return os.write(stream.fileno(), data) == len(data)
        except OSError:
            return False  # the pipe is full or closed: the caller treats the child as hung

    def kill(self) -> None:
        """Kill the child's process group and stop reading from it; does not wait."""
        if not self.is_running:
            return
        self._stop_reading()
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return  # already gone, or not ours to signal: its exit will be seen

    def pause_reading(self, secs: float) -> None:
        """Read nothing for `secs`: a child that prints more waits at its full pipes."""
        for descriptor in self._sinks:
            self._loop.remove_reader(descriptor)
        self._loop.call_later(secs, self._resume_reading)

    async def gone_within(self, secs: float) -> bool:
        """Return whether the process ends within so many seconds."""
        await asyncio.wait({self.exited}, timeout=secs)
        return self.exited.done()

    def _follow(self, descriptor: int, sink: OnBytes) -> None:
        os.set_blocking(descriptor, False)
        self._sinks[descriptor] = sink
        self._loop.add_reader(descriptor, self._on_readable, descriptor)

    def _on_readable(self, descriptor: int) -> bool:
        """Pass on the available output; return whether there may be more."""
        try:
            data = os.read(descriptor, READ_CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(descriptor)
            self._sinks.pop(descriptor, None)
            return False
        self._sinks[descriptor](data)
        return descriptor in self._sinks

    def _resume_reading(self) -> None:
        for descriptor in self._sinks:
            self._loop.add_reader(descriptor, self._on_readable, descriptor)

    def _watch_exit(self) -> int | None:
        try:
            pidfd = os.pidfd_open(self.pid)
        except OSError:  # kernels before 5.3 and some sandboxes have no pidfd
            self._loop.call_later(EXIT_POLL_SECS, self._poll_exit)
            return None
        self._loop.add_reader(pidfd, self._on_exit)
        return pidfd

    def _poll_exit(self) -> None:
        self._on_exit()
        if not self.exited.done():
            self._loop.call_later(EXIT_POLL_SECS, self._poll_exit)

    def _on_exit(self) -> None:
        if self.exited.done() or os.waitid(os.P_PID, self.pid, LOOK_ONLY) is None:
            return
        # Processes left in its group are killed with it: until the child is reaped, its PID is
        # unique.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        code = self._process.wait()
        STARTED.discard(self.pid)
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        # The last output is still in the pipes; a grandchild that holds them is not waited for.
        for descriptor in tuple(self._sinks):
            for _ in range(64):
                if not self._on_readable(descriptor):
                    break
        self._stop_reading()
        self.exited.set_result(code)

    def _stop_reading(self) -> None:
        for descriptor in tuple(self._sinks):
            self._loop.remove_reader(descriptor)
        self._sinks.clear()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


class Children:
    """All children of this program: starts, ends and counts them."""

    def __init__(self) -> None:
        self._running: set[Child] = set()
        self._abandoned: set[Child] = set()

    def start(self, command: Command, on_output: OnBytes, on_errors: OnBytes) -> Child:
        """Start a child; raise OSError if the program cannot be run."""
        child = Child(command, on_output, on_errors)
        self._running.add(child)
        child.exited.add_done_callback(lambda _: self._forget(child))
        return child

    async def end(self, child: Child) -> bool:
        """Kill the child; return False if it survives and is abandoned."""
        child.kill()
        if await child.gone_within(KILL_GRACE_SECS):
            return True
        self._abandoned.add(child)
        return False

    @property
    def pids(self) -> Sequence[int]:
        """The PIDs of all children that have not ended."""
        return tuple(child.pid for child in self._running)

    @property
    def abandoned_count(self) -> int:
        """The number of killed children that have not died."""
        return len(self._abandoned)

    def kill_all(self) -> None:
        """Kill all children at once, without waiting."""
        for child in tuple(self._running):
            child.kill()

    async def end_all(self) -> None:
        """Kill all children at once; return when all have died, or half a second later."""
        running = [child.exited for child in self._running]
        self.kill_all()
        if running:
            await asyncio.wait(running, timeout=KILL_GRACE_SECS)

    def _forget(self, child: Child) -> None:
        self._running.discard(child)
        self._abandoned.discard(child)


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a one-shot child; `problem` is timeout, stuck, flood or None."""

    code: int | None
    output: bytes
    errors: bytes
    problem: str | None


async def run_once(
    children: Children,
    command: Command,
    *,
    timeout_secs: float,
    limit_bytes: int,
    sink: OnBytes | None = None,
) -> Finished:
    """Run a child to its end, or kill it at the timeout or output limit.

    Raises OSError if the program cannot be run. The output so far is kept, or passed to `sink` as
    it arrives.
    """
    flooded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    output, errors = _Capped(limit_bytes, flooded, sink), _Capped(limit_bytes, flooded)
    child = children.start(command, output.add, errors.add)
    ends: set[asyncio.Future[Any]] = {child.exited, flooded}
    try:
        await wait_for_any(ends, timeout_secs)
    except asyncio.CancelledError:
        child.kill()
        raise
    if child.exited.done() and not flooded.done():
        return Finished(child.exited.result(), output.data, errors.data, None)
    if not await children.end(child):
        return Finished(None, output.data, errors.data, "stuck")
    problem = "flood" if flooded.done() else "timeout"
    return Finished(None, output.data, errors.data, problem)


class _Capped:
    """Bytes up to a limit, kept or passed on; sets `full` when more arrive."""

    def __init__(self, limit: int, full: asyncio.Future[None], sink: OnBytes | None = None) -> None:
        self._chunks: list[bytes] = []
        self._room = limit
        self._full = full
        self._sink = sink or self._chunks.append

    def add(self, chunk: bytes) -> None:
        if len(chunk) > self._room and not self._full.done():
            self._full.set_result(None)
        part = chunk[: self._room]
        self._room -= len(part)
        self._sink(part)

    @property
    def data(self) -> bytes:
        return b"".join(self._chunks)
