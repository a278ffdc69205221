"""Attaching to libraries as they come and go; bpftrace is played by the shell."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from exporter.blocking import DaemonThreads
from exporter.collectors.ebpf.attachments import (
    LINGER_SECS,
    MAX_LIBRARIES,
    MAX_TRACERS,
    Attachments,
)
from exporter.collectors.ebpf.batch import Batch
from exporter.collectors.ebpf.calls import numbers_of
from exporter.collectors.ebpf.libraries import Found, OpenLibrary
from exporter.collectors.ebpf.tenant_files import TenantFiles
from exporter.collectors.ebpf.tracer import Script
from exporter.probes.child import Children, Command
from tests.collectors.ebpf.test_tracer import ATTACHED, END, shell
from tests.fakes.fixtures import built
from tests.fakes.native import CUDART, build_cudart
from tests.fakes.waiting import until

pytestmark = pytest.mark.system

GOOD = f"{ATTACHED}; {END}; sleep 60"
BAD = "echo 'ERROR: no memory' >&2; exit 1"


class Stage:
    """Attachments under a clock that a test moves, and files to attach to."""

    def __init__(self, folder: Path) -> None:
        self.now = 100.0
        self.children = Children()
        self.scripts: list[Script] = []
        self.batches = self.gaps = 0
        self.bad: Callable[[Script], bool] = lambda _: False
        self.attachments = Attachments(
            self.children,
            {"cuda": numbers_of(("cuda",))},
            self._count_batch,
            self._count_gap,
            lambda: self.now,
            TenantFiles(DaemonThreads()),
            self._command,
        )
        self._folder = folder
        self._opened: list[OpenLibrary] = []

    def library(self, number: int, file: Path | None = None) -> OpenLibrary:
        """A library that is another one than those with other numbers."""
        descriptor = os.open(file or built(build_cudart) / CUDART, os.O_RDONLY)
        self._opened.append(OpenLibrary(Found("cuda", "", ("", "")), descriptor, (number, 1, 1)))
        return self._opened[-1]

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it is so, looking after what has ended."""

        def looked_after() -> bool:
            self.attachments.prune()
            return is_so()

        await until(looked_after)

    async def close(self) -> None:
        """Let go of everything."""
        self.attachments.close()
        await self.children.end_all()
        for library in self._opened:
            library.close()

    def _count_batch(self, _: Batch) -> None:
        self.batches += 1

    def _count_gap(self) -> None:
        self.gaps += 1

    def _command(self, script: Script) -> Command:
        self.scripts.append(script)
        return shell(BAD if self.bad(script) else GOOD)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """Nothing attached yet."""
    made = Stage(tmp_path)
    yield made
    await made.close()


async def test_libraries_found_together_share_one(stage: Stage) -> None:
    """One bpftrace for both; they are not wanted again while they are attached to."""
    both = [stage.library(1), stage.library(2)]
    assert all(stage.attachments.wants(one.identity) for one in both)
    await stage.attachments.attach(both)
    await stage.until(lambda: stage.attachments.count == 2)
    assert len(stage.scripts) == 1
    assert stage.scripts[0].descriptors == tuple(one.descriptor for one in both)
    assert not any(stage.attachments.wants(one.identity) for one in both)


async def test_what_nobody_uses_any_more_is_detached_from(stage: Stage) -> None:
    """Not at once, since its last counts are still to be printed; then nothing is left."""
    one = stage.library(1)
    await stage.attachments.attach([one])
    await stage.until(lambda: stage.attachments.count == 1)
    stage.now += LINGER_SECS - 1
    stage.attachments.prune()
    assert stage.attachments.count == 1
    stage.now += 2
    await stage.until(lambda: not stage.children.pids)
    assert stage.attachments.count == stage.gaps == 0
    assert stage.attachments.wants(one.identity)


async def test_a_library_that_cannot_be_attached_to_costs_itself_only(stage: Stage) -> None:
    """All that were tried together are tried alone, later and later; the good ones succeed."""
    good, bad = stage.library(1), stage.library(2)
    place = f"/fd/{bad.descriptor}:"
    stage.bad = lambda script: place in script.text
    await stage.attachments.attach([good, bad])
    await stage.until(lambda: bool(stage.attachments.failures))
    assert stage.attachments.failures == ("ERROR: no memory",)
    assert not stage.attachments.wants(good.identity)
    stage.now += 1.1
    assert stage.attachments.wants(good.identity)
    await stage.attachments.attach([good, bad])
    await stage.until(lambda: stage.attachments.count == 1 and len(stage.children.pids) == 1)
    assert len(stage.scripts) == 3
    stage.now += 1.1
    assert not stage.attachments.wants(bad.identity)
    assert stage.attachments.failures == ("ERROR: no memory",)


async def test_a_file_without_the_functions_is_a_reason(stage: Stage, tmp_path: Path) -> None:
    """Neither a text nor a library of something else starts a bpftrace."""
    text = tmp_path / "libcudart.so.12"
    text.write_text("no library" * 100)
    await stage.attachments.attach([stage.library(1, text), stage.library(2, Path("/bin/true"))])
    assert stage.attachments.refusals == (
        "a library of cuda is not read: it is not a 64-bit ELF file",
        "a library of cuda has none of the functions",
    )
    assert not stage.scripts


async def test_a_bpftrace_that_dies_is_replaced(stage: Stage) -> None:
    """Its libraries are wanted again, after a pause, and the reason goes when it is attached."""
    one = stage.library(1)
    await stage.attachments.attach([one])
    await stage.until(lambda: stage.attachments.count == 1 and stage.batches == 1)
    stage.children.kill_all()
    await stage.until(lambda: bool(stage.attachments.failures))
    assert stage.gaps == 1
    stage.now += 1.1
    assert stage.attachments.wants(one.identity)
    await stage.attachments.attach([one])
    await stage.until(lambda: stage.attachments.count == 1 and not stage.attachments.failures)


async def test_many_libraries_one_after_the_other_start_anew_as_one(stage: Stage) -> None:
    """Each bpftrace costs memory: beyond a few all are ended, to be attached to together."""
    for number in range(MAX_TRACERS + 1):
        await stage.attachments.attach([stage.library(number)])
        await stage.until(lambda: stage.batches > 0)
    await stage.until(lambda: not stage.children.pids)
    assert stage.gaps > 0
    assert all(stage.attachments.wants((number, 1, 1)) for number in range(MAX_TRACERS + 1))


async def test_libraries_are_bounded(stage: Stage) -> None:
    """A tenant with thousands of copies gets no more than so many attached."""
    await stage.attachments.attach([stage.library(number) for number in range(MAX_LIBRARIES)])
    assert not stage.attachments.wants((MAX_LIBRARIES, 1, 1))
