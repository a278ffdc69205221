"""One bpftrace, played by the shell: good, silent, dying, flooding, refusing to die."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from exporter.collectors.ebpf.tracer import (
    MAX_KEYS_NAMES,
    Script,
    Tracer,
    Tracing,
    Trial,
    command_of,
    find_program,
)
from exporter.probes.backoff import FIRST_BACKOFF_SECS
from exporter.probes.child import Children, Command
from tests.fakes.waiting import until

pytestmark = pytest.mark.system

ATTACHED = """echo '{"type": "attached_probes", "data": {"probes": 3}}'"""
MAP = """echo '{"type": "map", "data": {"@sum0": {"1,2,3,0": 5}}}'"""
END = r"""printf '%s\n' '{"type": "printf", "data": "end\n"}'"""


def shell(text: str) -> Command:
    """What the shell runs in the place of bpftrace."""
    return Command(("/bin/sh", "-c", text), {"PATH": "/usr/bin:/bin"})


class Stage:
    """A tracer whose bpftrace is a shell script."""

    def __init__(self, text: str, patience: tuple[float, float] = (20.0, 20.0)) -> None:
        self.records: list[Mapping[str, Any]] = []
        self.children = Children()
        self.has_printed = asyncio.Event()
        self.tracer = Tracer(Script("", self._take), self.children, shell(text), patience)

    def _take(self, record: Mapping[str, Any]) -> None:
        if "@bad" in record:
            raise ValueError("not ours")
        self.records.append(record)
        self.has_printed.set()

    async def reason(self) -> str:
        """Run it to its end, and say why it ended."""
        self.tracer.start()
        return await asyncio.wait_for(self.tracer.run(), 20)


async def test_records_are_given_on_and_its_end_is_told() -> None:
    """Maps and texts come as they are printed; exit without an error gives the code."""
    stage = Stage(f"{ATTACHED}; {MAP}; {END}; exit 3")
    assert await stage.reason() == "bpftrace ended with 3"
    assert stage.records == [{"@sum0": {"1,2,3,0": 5}}, {"text": "end\n"}]


async def test_the_first_error_is_the_reason() -> None:
    """What it says of its memory limit is harmless; the first line behind it is the reason."""
    stage = Stage(
        "printf 'ERROR' >&2; sleep 0.1;"  # as one that writes without a buffer
        "echo ': couldn'\"'\"'t set RLIMIT_MEMLOCK' >&2;"
        "echo 'ERROR: failed to create map: Operation not permitted' >&2; exit 1"
    )
    assert await stage.reason() == "ERROR: failed to create map: Operation not permitted"


@pytest.mark.parametrize("line", ["no json", "[1]", '{"type": "map", "data": {"@bad": {}}}'])
async def test_a_bad_line_ends_it(line: str) -> None:
    """Who prints what is no record is killed: its counts could not be believed."""
    stage = Stage(f"{ATTACHED}; echo '{line}'; sleep 60")
    assert (await stage.reason()).startswith("bpftrace wrote a bad line")
    assert not stage.children.pids


async def test_a_flood_ends_it() -> None:
    """A line without end is refused before it fills memory."""
    stage = Stage(f"{ATTACHED}; tr '\\\\0' x < /dev/zero")
    assert "a line of more than" in await stage.reason()


async def test_silence_ends_it() -> None:
    """One that attached and then hangs is killed; so is one that never attaches."""
    attached = Stage(f"{ATTACHED}; sleep 60", (20.0, 0.2))
    assert await attached.reason() == "bpftrace was silent for 0.2 s"
    assert await Stage("sleep 60", (0.4, 20.0)).reason() == "bpftrace was silent for 0.4 s"


async def test_cancelling_kills_it() -> None:
    """Nothing is left when the exporter lets go of it."""
    stage = Stage(f"{ATTACHED}; {END}; sleep 60")
    stage.tracer.start()
    running = asyncio.ensure_future(stage.tracer.run())
    await stage.has_printed.wait()
    assert stage.tracer.is_attached
    running.cancel()
    await stage.tracer.end()
    assert not stage.children.pids
    assert not stage.tracer.is_attached


def test_it_is_tied_to_our_life() -> None:
    """Where setpriv is, bpftrace is killed with us; it gets no variables of ours."""
    command = command_of(Script("BEGIN {}", lambda _: None, (7,), 99))
    assert command.argv[-3:] == ("json", "-e", "BEGIN {}")
    assert ("--pdeathsig" in command.argv) == (find_program("setpriv") is not None)
    assert "--no-warnings" in command.argv  # 0.23 prints one for each deletion of nothing
    assert {command.environment[name] for name in MAX_KEYS_NAMES} == {"99"}
    assert command.descriptors == (7,)
    assert "LD_LIBRARY_PATH" not in command.environment


async def test_a_script_that_ended_is_started_again_after_a_pause() -> None:
    """Why it ended is told, and the next start waits for the end of the pause."""
    now, children = [100.0], Children()
    fails = "echo 'ERROR: no memory' >&2; exit 1"
    texts = iter([fails, fails, f"{ATTACHED}; sleep 60"])
    tracing = Tracing(children, lambda _: shell(next(texts)), lambda: now[0])
    script = Script("", lambda _: None)
    for secs in (0.0, 3600.0):  # one that ran for an hour is back as soon as the first time
        tracing.start(script)
        now[0] += secs
        await until(lambda: not tracing.is_running)
        assert (tracing.failure, tracing.is_pausing) == ("ERROR: no memory", True)
        now[0] += FIRST_BACKOFF_SECS
        assert not tracing.is_pausing
    tracing.start(script)
    await until(lambda: tracing.is_attached)
    await tracing.end()
    assert not tracing.is_running
    assert not children.pids


async def test_a_program_that_cannot_be_run_is_a_failure() -> None:
    """It is not running, and the reason names the error."""
    tracing = Tracing(Children(), lambda _: Command(("/nowhere/bpftrace",), {}))
    tracing.start(Script("", lambda _: None))
    await until(lambda: not tracing.is_running)
    assert tracing.failure == "bpftrace cannot be started: No such file or directory"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo 'WARNING: old headers' >&2", ""),
        ("exit 0", ""),
        ("exit 9", "bpftrace ended with 9"),
        (
            "echo 'ERROR: failed to create map: Operation not permitted' >&2; exit 1",
            "ERROR: failed to create map: Operation not permitted",
        ),
        ("head -c 900000 /dev/zero; sleep 60", "bpftrace ended with flood"),
    ],
)
async def test_what_forbids_it_to_run_is_known_without_a_library(text: str, problem: str) -> None:
    """A program that counts nothing ends well, or says why no other could run."""
    children = Children()
    trial = Trial(children, lambda _: shell(text))
    assert trial.problem == ""
    trial.start()
    await asyncio.sleep(0)
    await until(lambda: not children.pids)
    await asyncio.sleep(0.05)
    assert trial.problem == problem
    trial.kill()


async def test_a_trial_that_cannot_be_started_says_so() -> None:
    """No program is one sentence; a trial that is ended leaves no child."""
    children = Children()
    trial = Trial(children, lambda _: Command(("/no/such/bpftrace",), {}))
    trial.start()
    await until(lambda: trial.problem)
    assert trial.problem == "bpftrace cannot be started: No such file or directory"
    trial.kill()
    trial = Trial(children, lambda _: shell("sleep 60"))
    trial.start()
    await until(lambda: children.pids)
    trial.kill()
    await until(lambda: not children.pids)
