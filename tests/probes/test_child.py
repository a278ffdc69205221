"""Child processes: really started, really killed."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from exporter.collectors.gpu.smi.program import Orphans
from exporter.probes.child import Children, Command, Finished, adopted, reap, run_once

pytestmark = pytest.mark.system


def _shell(script: str) -> Command:
    return Command(("/bin/sh", "-c", script), {"PATH": "/usr/bin:/bin"})


async def _ended(
    children: Children, script: str, timeout_secs: float = 10, limit_bytes: int = 10_000
) -> Finished:
    """How a script of the shell ends."""
    return await run_once(
        children, _shell(script), timeout_secs=timeout_secs, limit_bytes=limit_bytes
    )


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def _dies(pid: int) -> None:
    for _ in range(500):
        if not _is_alive(pid):
            return
        await asyncio.sleep(0.01)
    pytest.fail("it is still alive after five seconds")


async def test_a_child_that_ends_gives_all_it_said(children: Children) -> None:
    """Output, errors and exit code, and nothing is left running."""
    finished = await _ended(children, "echo out; echo err >&2; exit 3")
    assert (finished.code, finished.output, finished.errors) == (3, b"out\n", b"err\n")
    assert finished.problem is None
    assert children.pids == ()


async def test_a_child_reads_its_input_to_the_end(children: Children) -> None:
    """All that it gets, and then the end: one that reads lines until none comes ends by itself."""
    command = Command(("/bin/cat",), {}, input=b"one\ntwo\n")
    finished = await run_once(children, command, timeout_secs=10, limit_bytes=1000)
    assert (finished.code, finished.output, finished.problem) == (0, b"one\ntwo\n", None)


async def test_a_program_that_is_not_there_is_an_os_error(children: Children) -> None:
    """The caller hears it as what it is."""
    with pytest.raises(FileNotFoundError):
        await run_once(children, Command(("/no/such",), {}), timeout_secs=1, limit_bytes=1)


async def test_a_child_is_not_read_while_paused(children: Children) -> None:
    """What it prints meanwhile waits in its pipe, and comes after."""
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    child = children.start(_shell("yes"), chunks.put_nowait, lambda _: None)
    await chunks.get()
    child.pause_reading(0.3)
    before = chunks.qsize()
    await asyncio.sleep(0.2)
    assert chunks.qsize() == before
    for _ in range(before + 1):
        await chunks.get()
    child.pause_reading(0.1)
    assert await children.end(child)
    await asyncio.sleep(0.2)
    assert child.exited.done()


async def test_a_child_that_ignores_sigterm_is_killed_at_the_timeout(children: Children) -> None:
    """What it said until then is kept, and the process is gone."""
    script = "trap '' TERM; echo $$; while :; do sleep 1; done"
    finished = await _ended(children, script, timeout_secs=0.5)
    assert (finished.code, finished.problem) == (None, "timeout")
    assert not _is_alive(int(finished.output))
    assert children.pids == ()
    assert children.abandoned_count == 0


async def test_the_whole_group_is_killed(children: Children) -> None:
    """A grandchild does not outlive the timeout."""
    finished = await _ended(children, "sleep 1000 & echo $!; wait", timeout_secs=0.5)
    await _dies(int(finished.output))


async def test_a_grandchild_that_holds_the_pipe_is_not_waited_for(children: Children) -> None:
    """The child has ended: its answer is there although the pipe stays open."""
    ends = _ended(children, "setsid sleep 5 & echo answer", timeout_secs=4)
    finished = await asyncio.wait_for(ends, timeout=3)
    assert (finished.code, finished.output, finished.problem) == (0, b"answer\n", None)


@pytest.mark.parametrize("stream", ["1", "2"])
async def test_a_flood_is_cut_at_the_limit(children: Children, stream: str) -> None:
    """A child that prints without end is killed long before its timeout, and we do not grow."""
    ends = _ended(children, f"yes flooding >&{stream}", timeout_secs=60, limit_bytes=100_000)
    finished = await asyncio.wait_for(ends, timeout=20)
    assert finished.problem == "flood"
    assert len(finished.output) + len(finished.errors) == 100_000


async def test_a_cancelled_run_leaves_no_child(children: Children) -> None:
    """Stopping the program while a child runs kills it."""
    task = asyncio.ensure_future(_ended(children, "sleep 1000", timeout_secs=100))
    await asyncio.sleep(0)
    (pid,) = children.pids
    task.cancel()
    await _dies(pid)


async def test_the_environment_is_built_and_not_inherited(children: Children) -> None:
    """A child sees what it is given and nothing else."""
    os.environ["PRIVATE_TO_THE_PARENT"] = "do not tell"
    try:
        finished = await _ended(children, "env")
    finally:
        del os.environ["PRIVATE_TO_THE_PARENT"]
    names = {line.partition(b"=")[0] for line in finished.output.splitlines()}
    assert names <= {b"PATH", b"PWD", b"_", b"SHLVL", b"OLDPWD"}


def _open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_descriptors_are_given_back(children: Children) -> None:
    """Fifty children later no more descriptors are open than after the first."""
    await _ended(children, "echo x")
    before = _open_descriptors()
    for _ in range(50):
        await _ended(children, "echo x; exit 1")
    assert _open_descriptors() <= before


async def test_children_lead_their_own_session(children: Children) -> None:
    """A signal from the terminal, or to our group, does not reach them."""
    script = f"{sys.executable} -c 'import os; print(os.getsid(0) == os.getppid())'"
    finished = await _ended(children, f"{script}; exit")
    assert finished.output == b"True\n"


async def test_orphans_of_children_are_reaped(children: Children) -> None:
    """What a child leaves behind is no zombie for ever where this is process 1, and its parent."""
    orphans = Orphans()  # adopts them as process 1 does
    orphans.adopt()
    try:
        command = _shell("(sleep 0 &); exec sleep 60")
        running = children.start(command, lambda _: None, lambda _: None)
        while all(map(_is_alive, adopted())):  # noqa: ASYNC110 - nothing tells of its end
            await asyncio.sleep(0.01)
        reap(adopted())
        assert all(map(_is_alive, adopted()))
        assert running.is_running
    finally:
        orphans.adopt(wanted=False)
