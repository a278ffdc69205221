"""Limits that CUDA MPS gives to its clients, asked of its control daemon by NVIDIA's own program.

`nvidia-cuda-mps-control` reads commands and prints answers:
https://docs.nvidia.com/deploy/mps/latest/mpsv2-interface.html. The protocol on the daemon's socket
is not documented, so that it is not spoken here. The program runs in a child beside collections, a
minute apart: a daemon that hangs costs nothing but its own limits.
"""

import asyncio
import re
import stat
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from exporter.model.reading import Missing
from exporter.probes.child import Command, run_once
from exporter.probes.trusted_program import first_trustworthy
from exporter.reading.context import SourceContext
from exporter.record import dataclass

PIPES = "tmp/nvidia-mps"
PLUGIN_PIPES = "run/nvidia/mps"
CONTROL = "control"
ROOT = 0
MAX_PIPES = 8
MAX_SERVERS = 8
MAX_GPUS = 16
OUTPUT_LIMIT_BYTES = 64 * 1024

PAUSE_SECS, LONGEST_PAUSE_SECS = 60.0, 600.0
LIFE_SECS = 150.0
"""Limits older than this are not shown."""

ASK_SECS = 2.0
PASS_SECS = 10.0

_PERCENT = re.compile(r"\d{1,3}(?:\.\d{1,6})?")
_MEMORY = re.compile(r"(\d{1,9})([MG])B?")
_UNITS = {"M": 1024**2, "G": 1024**3}
_PID = re.compile(r"[1-9]\d{0,7}")


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """What one client may allocate; the daemon says whole units and leaves the rest out."""

    bytes: int
    at_most_bytes: int


@dataclass(frozen=True, slots=True)
class MpsServer:
    """One server, its clients, and what each of them may use; None where nothing is said."""

    pid: int
    thread_percent: float | None
    memory: tuple[tuple[str, MemoryLimit], ...] = ()
    clients: frozenset[int] = frozenset()

    def memory_limit(self, gpu_uuid: str) -> MemoryLimit | None:
        """Return what each client may allocate on this GPU."""
        return dict(self.memory).get(gpu_uuid)


@dataclass(frozen=True, slots=True)
class Pipe:
    """A pipe directory, and what tells whether anybody has changed it since."""

    folder: Path
    owner: int
    stamp: tuple[int, int, int, int]


class MpsFailed(Exception):
    """The daemon did not answer as it should; the message says why in one sentence."""


def find_pipes(host_root: Path, owner: int = ROOT) -> tuple[tuple[Pipe, ...], frozenset[str]]:
    """Find pipe directories of this user, and the resources of the device plugin that have one."""
    # The second is what NVIDIA's container runtime mounts where the first is: in our own container.
    places = {host_root / PIPES: "", Path("/", PIPES): "", **dict(_of_plugin(host_root))}
    found = {trusted_pipe(folder, owner): resource for folder, resource in places.items()}
    pipes = {pipe.stamp: pipe for pipe in found if pipe is not None}
    resources = {resource for pipe, resource in found.items() if pipe is not None and resource}
    return tuple(pipes.values())[:MAX_PIPES], frozenset(resources)


def _of_plugin(host_root: Path) -> Iterator[tuple[Path, str]]:
    """List where the device plugin has a daemon for each resource, `VENDOR/NAME/pipe`."""
    root = host_root / PLUGIN_PIPES
    try:
        root.lstat()
    except OSError:
        return  # not there, or for root only
    for folder in sorted(root.glob("*/*/pipe"))[:MAX_PIPES]:
        yield folder, f"{folder.parts[-3]}/{folder.parts[-2]}"


def trusted_pipe(folder: Path, owner: int = ROOT) -> Pipe | None:
    """Return the pipe directory where it and its control socket are this user's and no links."""
    try:
        around, control = folder.lstat(), (folder / CONTROL).lstat()
    except OSError:
        return None
    if {around.st_uid, control.st_uid} != {owner}:
        return None
    if not stat.S_ISDIR(around.st_mode) or not stat.S_ISSOCK(control.st_mode):
        return None
    # What was put in the place of the socket, even for a moment, has changed both.
    stamp = (around.st_ino, around.st_ctime_ns, control.st_ino, control.st_ctime_ns)
    return Pipe(folder, owner, stamp)


class MpsControl:
    """Asks the daemons now and then, in the background, and keeps what they said last."""

    def __init__(self, ctx: SourceContext) -> None:
        self._children = ctx.children
        self._environment = {**ctx.child_environment, "LC_ALL": "C"}
        self._programs = tuple(map(Path, ctx.config.gpu.mps_control_paths))
        self._call = ctx.call
        self._boottime = ctx.boottime
        self._servers: tuple[MpsServer, ...] = ()
        self._answered_at = 0.0
        self._not_before = 0.0
        self._pause = PAUSE_SECS
        self._missing: tuple[Missing, ...] = ()
        self._pass: asyncio.Task[None] | None = None

    def servers(self) -> tuple[MpsServer, ...]:
        """Return what the daemons said last; nothing once that is old."""
        return self._servers if self._boottime() - self._answered_at < LIFE_SECS else ()

    def missing(self) -> tuple[Missing, ...]:
        """Return why limits are not known."""
        return self._missing

    def keep_fresh(self, pipes: tuple[Pipe, ...], gpu_uuids: tuple[str, ...]) -> None:
        """Ask again in the background when it is time; forget everything without a daemon."""
        if not pipes:
            self._servers, self._missing = (), ()
            return
        is_running = self._pass is not None and not self._pass.done()
        if is_running or self._boottime() < self._not_before:
            return
        self._pass = asyncio.ensure_future(self._ask_all(pipes, gpu_uuids[:MAX_GPUS]))

    async def close(self) -> None:
        """End the pass that is running; its child is killed with it."""
        if self._pass is not None:
            self._pass.cancel()
            await asyncio.wait({self._pass}, timeout=ASK_SECS / 10)

    async def _ask_all(self, pipes: tuple[Pipe, ...], gpu_uuids: tuple[str, ...]) -> None:
        end = asyncio.get_running_loop().time() + PASS_SECS
        try:
            servers = [it for pipe in pipes for it in await self._ask_pipe(pipe, gpu_uuids, end)]
        except MpsFailed as failed:
            self._servers, self._missing = (), (Missing("mps_limits", str(failed)),)
            self._pause = min(LONGEST_PAUSE_SECS, 2 * self._pause)
        else:
            self._servers, self._missing = tuple(servers), ()
            self._answered_at = self._boottime()
            self._pause = PAUSE_SECS
        self._not_before = self._boottime() + self._pause

    async def _ask_pipe(
        self, pipe: Pipe, gpu_uuids: tuple[str, ...], end: float
    ) -> list[MpsServer]:
        program = await self._call(lambda: first_trustworthy(self._programs))
        if program is None:
            raise MpsFailed("nvidia-cuda-mps-control is not at any of gpu.mps_control_paths")

        async def ask(command: str) -> str:
            return await self._run(program, pipe, command, end)

        servers = await ask_servers(ask, gpu_uuids)
        if await self._call(lambda: trusted_pipe(pipe.folder, pipe.owner)) != pipe:
            raise MpsFailed(f"{pipe.folder} changed while its daemon was asked")
        return servers

    async def _run(self, program: Path, pipe: Pipe, command: str, end: float) -> str:
        """Run one command in a child of its own; raise MpsFailed."""
        if self._children.abandoned_count:
            raise MpsFailed("a child has not died yet, none is started beside it")
        left = min(ASK_SECS, end - asyncio.get_running_loop().time())
        if left <= 0:
            raise MpsFailed(f"the control daemon did not end answering within {PASS_SECS:g} s")
        environment = {**self._environment, "CUDA_MPS_PIPE_DIRECTORY": str(pipe.folder)}
        try:
            finished = await run_once(
                self._children,
                Command((str(program),), environment, input=f"{command}\n".encode()),
                timeout_secs=left,
                limit_bytes=OUTPUT_LIMIT_BYTES,
            )
        except OSError as error:
            raise MpsFailed(f"{program} cannot be run: {error.strerror}") from error
        if finished.problem is not None:
            raise MpsFailed(f"nvidia-cuda-mps-control: {finished.problem} at {command}")
        if finished.code:
            raise MpsFailed(f"nvidia-cuda-mps-control: exit code {finished.code}")
        return finished.output.decode("utf-8", "replace")


async def ask_servers(
    ask: Callable[[str], Awaitable[str]], gpu_uuids: tuple[str, ...]
) -> list[MpsServer]:
    """Ask for all servers and their limits; raise MpsFailed for an answer that is none."""
    pids = parse_pids(await ask("get_server_list"))[:MAX_SERVERS]
    servers = []
    for pid in pids:
        percent = parse_percent(await ask(f"get_active_thread_percentage {pid}"))
        memory = await _memory_limits(ask, pid, gpu_uuids)
        clients = parse_pids(await ask(f"get_client_list {pid}")) if len(pids) > 1 else ()
        servers.append(MpsServer(pid, percent, memory, frozenset(clients)))
    return servers


async def _memory_limits(
    ask: Callable[[str], Awaitable[str]], pid: int, gpu_uuids: tuple[str, ...]
) -> tuple[tuple[str, MemoryLimit], ...]:
    """Ask for the limit of each GPU.

    Some daemons (550) know numbers only, which are theirs and not ours: the limits by number are
    taken where all are the same.
    """
    limits: list[tuple[str, MemoryLimit]] = []
    for uuid in gpu_uuids:
        limit = parse_memory(await ask(f"get_device_pinned_mem_limit {pid} {uuid}"))
        if limit is not None:
            limits.append((uuid, limit))
        elif not limits:
            break
    if limits or not gpu_uuids:
        return tuple(limits)
    by_number = {
        parse_memory(await ask(f"get_device_pinned_mem_limit {pid} {number}"))
        for number in range(len(gpu_uuids))
    }
    only = by_number.pop() if len(by_number) == 1 else None
    return () if only is None else tuple((uuid, only) for uuid in gpu_uuids)


def parse_pids(text: str) -> tuple[int, ...]:
    """Parse a list of process ids; raise MpsFailed when it is something else."""
    words = text.split()
    if not all(_PID.fullmatch(word) for word in words):
        raise MpsFailed("the control daemon's list of processes is none")
    return tuple(dict.fromkeys(map(int, words)))


def parse_percent(text: str) -> float | None:
    """Parse an active thread percentage; None when it says none."""
    percent = float(text.strip()) if _PERCENT.fullmatch(text.strip()) else 0.0
    return percent if 0 < percent <= 100 else None  # noqa: PLR2004 - percent


def parse_memory(text: str) -> MemoryLimit | None:
    """Parse a limit as the daemon prints it (`20350M`, `5G`, rounded down); None for no limit."""
    found = _MEMORY.fullmatch(text.strip())
    if found is None or not int(found[1]):
        return None
    unit = _UNITS[found[2]]
    count = int(found[1])
    return MemoryLimit(count * unit, (count + 1) * unit - 1)
