"""What CUDA MPS allows its clients, asked of a stand-in for its control daemon."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from exporter.collectors.sharing.mps import (
    LIFE_SECS,
    LONGEST_PAUSE_SECS,
    PAUSE_SECS,
    MemoryLimit,
    MpsControl,
    MpsFailed,
    MpsServer,
    ask_servers,
    find_pipes,
    parse_memory,
    parse_percent,
    parse_pids,
    trusted_pipe,
)
from exporter.config import Config, GpuConfig
from exporter.probes.child import Children
from tests.fakes.mps import CLIENTS, LIMITS, SERVER, MpsDaemon, control_program
from tests.fakes.source_context import source_context

ME = os.geteuid()
MIB, GIB = 2**20, 2**30
LIMIT = MemoryLimit(20350 * MIB, 20351 * MIB - 1)
FOUND = (MpsServer(SERVER, 25.0, (("GPU-0", LIMIT),)),)


class Asking:
    """The control as the source uses it, on a clock of its own."""

    def __init__(self, program: Path, folder: Path, children: Children | None = None) -> None:
        self.now = 1000.0
        self.children = children or Children()
        self.folder = folder
        context = source_context(
            Config(gpu=GpuConfig(mps_control_paths=(str(program),))),
            children=self.children,
            child_environment={"PATH": "/usr/bin"},
            boottime=lambda: self.now,
        )
        self.control = MpsControl(context)

    async def settle(self, *gpus: str) -> tuple[MpsServer, ...]:
        """Ask as a collection does, and wait for the pass that this may have begun."""
        pipe = trusted_pipe(self.folder, ME)
        before = asyncio.all_tasks()
        self.control.keep_fresh(() if pipe is None else (pipe,), gpus or ("GPU-0",))
        if begun := asyncio.all_tasks() - before:
            await asyncio.wait(begun)
        return self.control.servers()


@pytest.fixture
async def asking(short_path: Path) -> AsyncIterator[Asking]:
    """A control whose program is a real child process."""
    found = Asking(control_program(short_path), short_path / "pipe")
    yield found
    await found.control.close()
    await found.children.end_all()


@pytest.mark.system
async def test_the_daemon_is_asked_what_each_client_may_use(asking: Asking) -> None:
    """Server, thread percentage and memory limit by GPU, through the program and the socket."""
    async with MpsDaemon(asking.folder, dict(LIMITS)) as daemon:
        assert await asking.settle() == FOUND
    assert daemon.asked == [command for command in LIMITS if "client" not in command]


@pytest.mark.system
async def test_it_is_asked_once_a_minute(asking: Asking) -> None:
    """Collections in between start no child; what was said is kept, and not for ever."""
    async with MpsDaemon(asking.folder, dict(LIMITS)) as daemon:
        await asking.settle()
        asked = len(daemon.asked)
        asking.now += PAUSE_SECS - 1
        assert await asking.settle() == FOUND
        assert len(daemon.asked) == asked
        asking.now += 1
        await asking.settle()
        assert len(daemon.asked) == 2 * asked
    asking.now += LIFE_SECS
    assert asking.control.servers() == ()


@pytest.mark.system
async def test_a_daemon_that_hangs_costs_its_limits_only(
    asking: Asking,
) -> None:
    """The child ends at its timeout, nothing waits for it, and the next is started later."""
    async with MpsDaemon(asking.folder, {"get_server_list": None}) as daemon:
        assert await asking.settle() == ()
        (missing,) = asking.control.missing()
        assert missing.reason == "nvidia-cuda-mps-control: timeout at get_server_list"
        assert asking.children.pids == ()
        asking.now += PAUSE_SECS
        await asking.settle()
        assert daemon.asked == ["get_server_list"]
        asking.now += PAUSE_SECS
        await asking.settle()
        assert daemon.asked == ["get_server_list"] * 2


@pytest.mark.system
async def test_limits_go_with_their_daemon(asking: Asking) -> None:
    """Where the socket is gone nothing is remembered and nothing is missing."""
    async with MpsDaemon(asking.folder, dict(LIMITS)):
        assert await asking.settle() == FOUND
    assert await asking.settle() == ()
    assert asking.control.missing() == ()


@pytest.mark.system
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/bin/sh\nexec yes 4000\n", "flood"),
        ("#!/bin/sh\necho Cannot find MPS control daemon process\n", "processes is none"),
        ("\x7fELF", "cannot be run"),
    ],
)
async def test_a_program_that_fails_is_one_sentence(
    short_path: Path, text: str, reason: str
) -> None:
    """Whatever the program does: no limits, why, and no child that stays."""
    asking = Asking(control_program(short_path, text), short_path / "pipe")
    async with MpsDaemon(asking.folder, {}):
        assert await asking.settle() == ()
    (missing,) = asking.control.missing()
    assert re.search(reason, missing.reason)
    assert asking.children.pids == ()


@pytest.mark.system
async def test_a_socket_that_was_exchanged_is_not_believed(short_path: Path) -> None:
    """Who may write the folder can put a socket of his own there; that is seen afterwards."""
    move = 'cd "$CUDA_MPS_PIPE_DIRECTORY"; mv control other; mv other control\n'
    asking = Asking(control_program(short_path, f"#!/bin/sh\n{move}"), short_path / "pipe")
    async with MpsDaemon(asking.folder, {}):
        assert await asking.settle() == ()
    (missing,) = asking.control.missing()
    assert "changed while" in missing.reason


async def test_a_program_that_anybody_could_have_put_there_is_not_run(short_path: Path) -> None:
    """As with nvidia-smi: it must be root's or ours, and not for all to write."""
    program = control_program(short_path)
    program.chmod(0o777)
    asking = Asking(program, short_path / "pipe")
    async with MpsDaemon(asking.folder, {}) as daemon:
        assert await asking.settle() == ()
    assert daemon.asked == []
    assert "mps_control_paths" in asking.control.missing()[0].reason


class Stuck(Children):
    """One child has been killed and has not died."""

    @property
    def abandoned_count(self) -> int:
        """How many there are."""
        return 1


async def test_no_child_is_started_beside_one_that_does_not_die(short_path: Path) -> None:
    """A program asleep in the kernel is one, and never two."""
    asking = Asking(control_program(short_path), short_path / "pipe", Stuck())
    async with MpsDaemon(asking.folder, {}) as daemon:
        assert await asking.settle() == ()
    assert daemon.asked == []
    assert "has not died" in asking.control.missing()[0].reason


async def test_pipes_of_others_are_not_pipes(short_path: Path) -> None:
    """A folder, socket or link that is not the scheduler's tells nothing, and is never asked."""
    pipe = short_path / "tmp/nvidia-mps"
    async with MpsDaemon(pipe, {}):
        assert [it.folder for it in find_pipes(short_path, ME)[0]] == [pipe]
        assert find_pipes(short_path, ME + 1) == ((), frozenset())
        link = short_path / "link"
        link.symlink_to(pipe)
        assert trusted_pipe(link, ME) is None
        other = short_path / "other"
        other.mkdir()
        (other / "control").symlink_to(pipe / "control")
        assert trusted_pipe(other, ME) is None
    (pipe / "control").write_text("")
    assert trusted_pipe(pipe, ME) is None


async def test_the_daemons_of_the_device_plugin_are_found(short_path: Path) -> None:
    """One for each resource, below its vendor and its name."""
    folder = short_path / "run/nvidia/mps/nvidia.com/gpu.shared/pipe"
    async with MpsDaemon(folder, {}):
        pipes, resources = find_pipes(short_path, ME)
    assert [pipe.folder for pipe in pipes] == [folder]
    assert resources == {"nvidia.com/gpu.shared"}


def says(answers: dict[str, str]) -> Callable[[str], Awaitable[str]]:
    """A daemon that answers at once."""

    async def ask(command: str) -> str:
        return answers.get(command, "Invalid device\n")

    return ask


async def test_where_gpus_are_known_by_number_only_one_limit_is_for_all() -> None:
    """Numbers are the daemon's own: a limit by number counts where every number has the same."""
    same = {
        "get_server_list": "7\n",
        "get_active_thread_percentage 7": "50.0\n",
        "get_device_pinned_mem_limit 7 0": "5G\n",
        "get_device_pinned_mem_limit 7 1": "5G\n",
    }
    limit = MemoryLimit(5 * GIB, 6 * GIB - 1)
    (server,) = await ask_servers(says(same), ("GPU-0", "GPU-1"))
    assert server.memory == (("GPU-0", limit), ("GPU-1", limit))
    other = {**same, "get_device_pinned_mem_limit 7 1": "6G\n"}
    (server,) = await ask_servers(says(other), ("GPU-0", "GPU-1"))
    assert server.memory == ()


async def test_of_several_servers_each_knows_its_clients() -> None:
    """Servers of several users have limits of their own."""
    answers = {
        "get_server_list": "7\n8\n",
        "get_active_thread_percentage 7": "50.0\n",
        "get_active_thread_percentage 8": "100.0\n",
        "get_client_list 7": "70\n",
        "get_client_list 8": "",
    }
    servers = await ask_servers(says(answers), ("GPU-0",))
    assert [(it.pid, it.thread_percent, sorted(it.clients)) for it in servers] == [
        (7, 50.0, [70]),
        (8, 100.0, []),
    ]


def test_a_server_names_its_limit_by_gpu() -> None:
    """A GPU that was not asked about has none."""
    assert FOUND[0].memory_limit("GPU-0") == LIMIT
    assert FOUND[0].memory_limit("GPU-1") is None


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("20350M\n", LIMIT),
        ("5G\n", MemoryLimit(5 * GIB, 6 * GIB - 1)),
        ("512MB", MemoryLimit(512 * MIB, 513 * MIB - 1)),
        *((text, None) for text in ("", "0M\n", "5\n", "-5G", "5T", "9" * 30 + "G", "5G\n5G\n")),
    ],
)
def test_a_limit_is_a_whole_number_of_units(text: str, limit: MemoryLimit | None) -> None:
    """The daemon rounds down; anything else is no limit, and never zero."""
    assert parse_memory(text) == limit


@pytest.mark.parametrize(
    ("text", "percent"),
    [("25.0\n", 25.0), ("100", 100.0), *((it, None) for it in ("", "0", "101", "nan", "1e1"))],
)
def test_a_percentage_is_one(text: str, percent: float | None) -> None:
    """From above 0 to 100; anything else is not said."""
    assert parse_percent(text) == percent


def test_a_list_of_processes_is_nothing_else() -> None:
    """Each once; a sentence in their place is a failure, not an empty list."""
    assert parse_pids("10\n11\n10\n") == CLIENTS
    assert parse_pids("") == ()
    for text in ("no server", "-5", "0", "99999999999", "1\x1c\x00"):
        with pytest.raises(MpsFailed):
            parse_pids(text)


@pytest.mark.system
async def test_the_pause_grows_while_it_fails(asking: Asking) -> None:
    """Twice as long each time, ten minutes at most."""
    async with MpsDaemon(asking.folder, {"get_server_list": "out of order\n"}) as daemon:
        await asking.settle()
        for times, pause in enumerate((120.0, 240.0, 480.0, LONGEST_PAUSE_SECS, 600.0), start=1):
            asking.now += pause - 1
            await asking.settle()
            assert len(daemon.asked) == times
            asking.now += 1
            await asking.settle()
            assert len(daemon.asked) == times + 1
