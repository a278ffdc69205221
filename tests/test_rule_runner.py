"""The judge in the program: what is kept over a restart, and what a bad disk costs."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from exporter.blocking import CallBlocking, DaemonThreads
from exporter.collectors import chosen
from exporter.collectors.cpu.values import Cpu
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.kernel_log.values import KernelLog
from exporter.collectors.pressure import Pressure, Pressures
from exporter.config import Config, Faults, Sources, State
from exporter.faults.silences import BadSilence
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from exporter.rule_runner import RuleRunner
from exporter.web.maintenance import clearable
from tests.fakes.virtual_time import in_virtual_time
from tests.faults.scenes import event
from tests.loaded_once import EVERYTHING_ONCE, loaded_once

T = TypeVar("T")

OF_FAULTS = ["fault_history.jsonl", "faults.json"]
"""What is written once a fault began."""


async def at_once(function: Callable[[], T]) -> T:
    """How a blocking function is called here."""
    await asyncio.sleep(0)
    return function()


def config(folder: Path, **more: object) -> Config:
    """A configuration that keeps its state here."""
    (folder / "proc/sys/kernel/random").mkdir(parents=True, exist_ok=True)
    (folder / "proc/sys/kernel/random/boot_id").write_text("boot-1\n")
    (folder / "state").mkdir(exist_ok=True)
    made = Config(
        sources=Sources(proc_root=str(folder / "proc")), state=State(dir=str(folder / "state"))
    )
    return replace(made, **more)  # type: ignore[arg-type]  # fields by name


def snapshot(now: float, *oopses: float) -> Snapshot:
    """A snapshot in which the kernel has told of these errors of its own."""
    events = tuple(
        replace(event("kernel_oops", at, ("node", "")), number=number)
        for number, at in enumerate(oopses, start=1)
    )
    log = KernelLog("kmsg", "ok", 0, 0, 0, events=events)
    return Snapshot("n", 1, 1e9 + now, now, 0.1, readings={KernelLog: log})


def judging(made: Config, how: CallBlocking = at_once, node: str = "") -> RuleRunner:
    """The judge of this configuration, which calls functions that may block in this way."""
    return RuleRunner(made, EVERYTHING_ONCE, how, stopwatch=lambda: 0.0, node=node)


async def test_a_fault_is_kept_over_a_restart(tmp_path: Path) -> None:
    """The next process of this boot shows the same fault since the same moment."""
    first = judging(config(tmp_path))
    said = await first.conclude(snapshot(100.0, 90.0))
    (fault,) = said.active
    await asyncio.sleep(0.01)
    (again,) = (await judging(config(tmp_path)).conclude(snapshot(200.0))).active
    assert (again.rule, again.since) == (fault.rule, fault.since)


def saturated(now: float) -> Snapshot:
    """A snapshot of a node whose processors are all in use, with tasks that wait."""
    pressures = Pressures((Pressure("cpu", "some", 1.0, avg60=90.0),))
    cpu = Cpu(cores=1, threads=1, usage_percent=99.0, used_cores=0.99)
    return Snapshot("n", 1, 1e9 + now, now, 0.1, readings={Cpu: cpu, Pressures: pressures})


@pytest.mark.parametrize(
    ("interval", "moments", "wanted"),
    [
        (15.0, [100, 115, 3600], 0),
        (15.0, [100, 115, 3600, *range(3615, 3900, 15)], 1),
        (15.0, [*range(100, 401, 60)], 1),
        (600.0, [0, 600], 1),
    ],
    ids=["a pause", "held after a pause", "late", "a long interval"],
)
async def test_time_in_which_nothing_was_evaluated_does_not_count(
    tmp_path: Path, interval: float, moments: list[float], wanted: int
) -> None:
    """A node that was suspended is not saturated since then; long intervals are no pause."""
    metrics = replace(Config().metrics, collect_interval_secs=interval)
    judge = judging(config(tmp_path, metrics=metrics))
    for now in moments:
        conclusions = await judge.conclude(saturated(now))
    assert [fault.rule for fault in conclusions.active] == ["cpu_saturated"] * wanted


async def test_a_node_that_was_renamed_has_its_faults_and_silences_once(tmp_path: Path) -> None:
    """The host name is set after the start: nothing is said of a node that is no more."""
    first = judging(config(tmp_path), node="localhost")
    said = await first.conclude(replace(snapshot(100.0, 90.0), node="localhost"))
    wanted = {"for": "2h", "reason": "known", "component": "localhost"}
    await first.silence(wanted, said, 1e9 + 100)
    await asyncio.sleep(0.01)
    again = judging(config(tmp_path), node="gpu-7")
    said = await again.conclude(replace(snapshot(200.0), node="gpu-7"))
    ((rule, subject, silence),) = ((it.rule, it.subject, it.silence) for it in said.active)
    assert (rule, subject.hw_id, subject.hw_name) == ("kernel_oops", "gpu-7", "gpu-7")
    assert silence is not None
    assert {row.hw_id for row in said.history} == {"gpu-7"}


async def test_the_end_of_a_silence_needs_no_directory() -> None:
    """A restart brings no silence back that was in memory only."""
    runner = judging(Config())
    wanted = {"for": "2h", "reason": "a new cable"}
    made, is_kept = await runner.silence(wanted, Conclusions(), 1e9)
    assert (is_kept, await runner.end_silence(made.id, 1e9)) == (False, (made, True))


@in_virtual_time
async def test_a_disk_that_hangs_delays_no_silence(tmp_path: Path) -> None:
    """It counts at once; whoever asked for it learns that a restart may lose it."""

    def hang(function: Callable[[], T]) -> Awaitable[T]:  # noqa: ARG001 - as CallBlocking
        return asyncio.get_running_loop().create_future()

    runner = judging(config(tmp_path), hang)
    wanted = {"for": "2h", "reason": "swap the disk"}
    made, is_kept = await runner.silence(wanted, Conclusions(), 1e9)
    assert (runner.silences(1e9), is_kept) == ((made,), False)
    assert await runner.end_silence(made.id, 1e9) == (made, False)


SITE_RULE = """
[actions]
look = "Look."

[[rule]]
id = "site_rule"
entity = "gpu"
when = "events(xid, within=1h) > 0"
until = ["driver_loaded"]
severity = "info"
summary = "There was an Xid"
action = "look"
"""

SILENCE = """
[[silence]]
until = 2001-09-10T00:00:00Z
reason = "moved"
"""


def snapshot_of_xids(now: float, *xids: tuple[float, int]) -> Snapshot:
    """A snapshot in which the kernel has told of these Xids of a GPU: boot time and code."""
    events = tuple(
        replace(event("xid", at, ("gpu", "GPU-0"), code=str(code)), number=number)
        for number, (at, code) in enumerate(xids, start=1)
    )
    log = KernelLog("kmsg", "ok", 0, 0, 0, events=events)
    state = GpuState(Gpu(0, "GPU-0", "H100"), 100.0, up=True, reason="ok")
    gpus = Gpus(GpuBackend("nvml", "ok"), (state,))
    return Snapshot("n", 1, 1e9 + now, now, 0.1, readings={KernelLog: log, Gpus: gpus})


async def test_a_reload_takes_all_that_is_configured_of_faults(tmp_path: Path) -> None:
    """Xids known before follow their severities; new rules can be cleared; silences are read."""
    files = {"rules.toml": SITE_RULE, "silences.toml": SILENCE}
    paths = {name: tmp_path / name for name in files}
    for name, text in files.items():
        paths[name].write_text(text)
    before = config(tmp_path, faults=Faults(severity={"gpu_channel_timeout": "critical"}))
    runner = judging(before)
    xids = ((90.0, 64), (91.0, 109))
    said = await runner.conclude(snapshot_of_xids(100.0, *xids))
    assert {it.rule: it.severity for it in said.active} == {
        "gpu_row_remap_failed": "critical",
        "gpu_channel_timeout": "critical",
    }
    after = replace(
        before,
        faults=Faults(
            rules_dirs=(str(paths["rules.toml"]),),
            silences_dirs=(str(paths["silences.toml"]),),
            severity={"xid_109": "info"},
            off=("xid_64",),
        ),
    )
    await runner.reload(after, loaded_once(chosen(after)))
    said = await runner.conclude(snapshot_of_xids(115.0, *xids, (110.0, 64)))
    assert {it.rule: it.severity for it in said.active} == {
        "gpu_channel_timeout": "info",
        "site_rule": "info",
    }
    assert clearable(runner.rules, said, "site_rule", "GPU-0") == (("gpu", "GPU-0"),)
    assert [it.silence is not None for it in said.active] == [True, True]
    await runner.reload(before, loaded_once(chosen(before)))
    assert runner.silences(1e9 + 115.0) == ()


class Gate:
    """A way to call functions in which one call, by its number, waits until it is opened."""

    def __init__(self, number: int) -> None:
        self.opened = asyncio.Event()
        self._left = number

    async def __call__(self, function: Callable[[], T]) -> T:
        """The function's result."""
        self._left -= 1
        if self._left == 0:
            await self.opened.wait()
        return function()


async def test_a_fault_that_goes_on_is_not_said_to_be_cleared(tmp_path: Path) -> None:
    """A fault of old lines is cleared; one whose evidence is there now begins again at once."""
    runner = judging(config(tmp_path))
    state = GpuState(Gpu(0, "GPU-0", "H100"), 100.0, up=False, reason="insufficient_power")
    gpus = Gpus(GpuBackend("nvml", "ok"), (state,))
    seen = replace(snapshot(100.0, 90.0), readings={Gpus: gpus})
    log = snapshot(100.0, 90.0).readings
    seen = replace(seen, readings={**seen.readings, **log})
    said = await runner.conclude(seen)
    results = {}
    for rule in ("gpu_power_missing", "kernel_oops"):
        keys = clearable(runner.rules, said, rule, "")
        clearing = asyncio.ensure_future(runner.clear(rule, keys, 101.0))
        await asyncio.sleep(0)
        await runner.conclude(replace(seen, sequence=2, taken_boottime=115.0))
        results[rule] = (keys, await clearing)
    keys, still = results["gpu_power_missing"]
    assert keys == still == (("gpu", "GPU-0"),)
    assert results["kernel_oops"] == ((("node", "n"),), ())


@in_virtual_time
async def test_without_an_evaluation_nothing_is_said_to_be_cleared(tmp_path: Path) -> None:
    """Whoever waits for a clear is told when no evaluation comes."""
    runner = judging(config(tmp_path))
    with pytest.raises(BadSilence, match="not evaluated now"):
        await runner.clear("kernel_oops", (("node", "n"),), 101.0)


async def test_the_event_loop_does_not_judge(tmp_path: Path) -> None:
    """Ten thousand processes are judged in a thread: scrapes are answered meanwhile."""
    threads, seen = DaemonThreads(), set[int]()

    def call(function: Callable[[], T]) -> Awaitable[T]:
        def noted() -> T:
            seen.add(threading.get_ident())
            return function()

        return threads(noted)

    made = replace(config(tmp_path), state=State())  # nothing is written
    judge = judging(made, call)
    assert (await judge.conclude(snapshot(100.0, 90.0))).active
    assert seen
    assert threading.get_ident() not in seen


async def test_what_waits_for_a_slow_write_is_not_forgotten(tmp_path: Path) -> None:
    """A judgement without anything new does not drop what one before it left to be written."""
    slow_write = Gate(2)
    judge = judging(config(tmp_path), slow_write)
    await judge.conclude(snapshot(100.0, 90.0))
    await asyncio.sleep(0)
    await judge.conclude(snapshot(101.0, 90.0, 100.5))
    await judge.conclude(snapshot(102.0, 90.0, 100.5))
    slow_write.opened.set()
    await judge.close()
    assert "100.5" in (tmp_path / "state/faults.json").read_text()


async def test_what_is_being_judged_at_the_end_is_written(tmp_path: Path) -> None:
    """A fault that is found after nobody waits for it any more is kept for the next process."""
    slow_judgement = Gate(1)
    judge = judging(config(tmp_path), slow_judgement)
    waiting = asyncio.ensure_future(judge.conclude(snapshot(100.0, 90.0)))
    await asyncio.sleep(0)
    waiting.cancel()
    asyncio.get_running_loop().call_later(0.01, slow_judgement.opened.set)
    await judge.close()
    assert "90.0" in (tmp_path / "state/faults.json").read_text()


async def test_another_boot_begins_anew(tmp_path: Path) -> None:
    """What was kept of another boot is not shown."""
    made = config(tmp_path)
    await judging(made).conclude(snapshot(100.0, 90.0))
    await asyncio.sleep(0.01)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("boot-2\n")
    assert not (await judging(made).conclude(snapshot(200.0))).active


async def test_a_directory_that_cannot_be_written_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """RuleRunner goes on without keeping anything, and names each file once."""
    made = replace(config(tmp_path), state=State(dir=str(tmp_path / "none")))
    judge = judging(made)
    for number in range(3):
        said = await judge.conclude(
            snapshot(100.0 + number, *(90.0 + n for n in range(number + 1)))
        )
        await asyncio.sleep(0.01)
    assert said.active
    told = [it.message for it in caplog.records if "cannot be saved" in it.message]
    assert len(told) == len(set(told)) == 2  # of the faults, and of their history


async def test_mistakes_in_rules_are_logged_and_the_rest_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A bad file of the operator leaves the shipped rules."""
    (tmp_path / "bad.toml").write_text("[[rule]]\nid = 5\n")
    made = replace(config(tmp_path), faults=Faults(rules_dirs=(str(tmp_path / "bad.toml"),)))
    said = await judging(made).conclude(snapshot(100.0))
    assert said.rules_loaded > 60
    assert dict(said.rules_skipped)["invalid"] == 1
    assert any("bad.toml" in record.message for record in caplog.records)


async def test_without_a_folder_nothing_is_written(tmp_path: Path) -> None:
    """A judgement is the only call that is made."""
    calls = 0

    async def counted(function: Callable[[], T]) -> T:
        nonlocal calls
        calls += 1
        return function()

    made = replace(config(tmp_path), state=State())
    judge = judging(made, counted)
    assert (await judge.conclude(snapshot(100.0, 90.0))).active
    await judge.close()
    assert calls == 1


@pytest.mark.parametrize("error", [ValueError("broken"), asyncio.CancelledError()])
async def test_a_judgement_that_fails_writes_nothing(tmp_path: Path, error: BaseException) -> None:
    """Whoever waits for it is told, and nobody else; the next one is as any other."""
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: complaints.append(said))
    errors = [error]

    async def fails_once(function: Callable[[], T]) -> T:
        if errors:
            raise errors.pop()
        return function()

    judge = judging(config(tmp_path), fails_once)
    with pytest.raises(type(error)):
        await judge.conclude(snapshot(100.0, 90.0))
    await judge.close()
    assert list((tmp_path / "state").iterdir()) == []
    await judge.conclude(snapshot(101.0, 90.0))
    await judge.close()
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == OF_FAULTS
    assert complaints == []


@pytest.mark.parametrize(("opens_after", "is_written"), [(0.25, True), (1000.0, False)])
@in_virtual_time
async def test_the_end_waits_a_moment_for_a_disk(
    tmp_path: Path,
    opens_after: float,
    is_written: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """What it takes in a third of a second is kept; a dead one keeps nobody."""
    loop = asyncio.get_running_loop()
    slow_write = Gate(2)
    judge = judging(config(tmp_path), slow_write)
    await judge.conclude(snapshot(100.0, 90.0))
    loop.call_later(opens_after, slow_write.opened.set)
    await judge.close()
    assert loop.time() == (0.25 if is_written else 0.3)
    assert (tmp_path / "state/faults.json").exists() is is_written


@pytest.mark.parametrize(("steps", "done"), [(2, 3), (1000, 5)])
async def test_a_fit_is_done_in_a_few_slices_after_each_collection(
    tmp_path: Path, steps: int, done: int
) -> None:
    """Until there is nothing to do, and never so many that they show."""
    left = [True] * steps
    calls = 0

    def advance() -> bool:
        nonlocal calls
        calls += 1
        return bool(left and left.pop())

    await judging(config(tmp_path))._fit(advance)
    assert calls == done
