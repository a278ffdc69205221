"""Calls into CUDA and NCCL by workload: follows processes as they come and go (docs/ebpf.md)."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from exporter.collectors.ebpf.attachments import Attachments
from exporter.collectors.ebpf.batch import Batch
from exporter.collectors.ebpf.calls import LIBRARIES, numbers_of
from exporter.collectors.ebpf.capped import NANOSECONDS
from exporter.collectors.ebpf.collectives.communicators import Communicators
from exporter.collectors.ebpf.libraries import (
    Identity,
    LibraryFinder,
    Mapped,
    OpenLibrary,
    Place,
    mapped_files,
)
from exporter.collectors.ebpf.tenant_files import GivenUp, Progress, TenantFiles
from exporter.collectors.ebpf.totals import CallTotals
from exporter.collectors.ebpf.trace_loop import TraceLoop, require_tracing
from exporter.collectors.ebpf.traced_processes import TracedProcesses
from exporter.collectors.ebpf.tracer import Script, Trial, command_of
from exporter.collectors.ebpf.values import Communicator, TracedCalls
from exporter.model.reading import Missing, Reading
from exporter.probes.child import Command
from exporter.reading.context import SourceContext
from exporter.reading.source import SourceFailed

WAITED_SECS = 20.0
"""From then on who waits is published at once: as long as the rules for it wait."""

MAX_OPENED = 64
"""Libraries that are opened in one look."""

MAX_KNOWN = 4096
"""Libraries that are known at one time, attached to or not."""


class TracedCallsSource:
    """Looks for libraries every two seconds from its first reading on, whoever reads it."""

    name = "ebpf"
    deadline_secs = 1.0

    def __init__(
        self,
        ctx: SourceContext,
        *,
        command: Callable[[Script], Command] = command_of,
        require: Callable[[SourceContext], None] = require_tracing,
    ) -> None:
        self._ctx = ctx
        self._require = require
        self._processes = TracedProcesses(ctx)
        settings = ctx.config.ebpf
        layers = [layer for layer in LIBRARIES if layer in settings.layers]
        self._finder = LibraryFinder(ctx.proc, {layer: LIBRARIES[layer] for layer in layers})
        self._totals = CallTotals()
        self._communicators = Communicators()
        self._judged: tuple[Communicator, ...] = ()
        self._files = TenantFiles(ctx.call)
        self._attachments = Attachments(
            ctx.children,
            {layer: numbers_of((layer,), settings.skipped_calls) for layer in layers},
            self._take,
            self._miss,
            time.monotonic,
            self._files,
            command,
        )
        self._loop = TraceLoop(self._follow, "looking for libraries")
        self._trial = Trial(ctx.children, command)
        self._identities: dict[Mapped, Identity] = {}
        self._attached = 0
        self._turn = 0

    async def read(self) -> Reading[TracedCalls]:
        """Return what was counted; raise SourceAbsent where calls cannot be counted."""
        if not self._loop.is_running:
            self._require(self._ctx)
            self._loop.start()
            self._trial.start()
        self._loop.check()
        calls = self._totals.calls()
        refusals, failures = self._attachments.refusals, self._attachments.failures
        if self._trial.problem and not self._attachments.count:
            failures = (self._trial.problem, *failures)
        problems = (*failures, *self._finder.problems)
        if problems and not calls and not self._attachments.count:
            raise SourceFailed(problems[0])  # not for a refusal: tenants name their files
        missing = tuple(
            Missing("calls", problem)
            for problem in dict.fromkeys((*problems, *refusals, *self._files.problems))
        )
        traced = TracedCalls(calls, self._judged, self._attachments.count, len(refusals))
        return Reading(traced, missing)

    async def close(self) -> None:
        """Detach from everything."""
        await self._loop.close()
        self._trial.kill()
        self._attachments.close()

    async def _follow(self) -> None:
        users = await self._ctx.call(partial(self._finder.look, time.monotonic()))
        mapped = mapped_files(users)
        opened = await self._files.read(partial(self._open, self._new(mapped)))
        await self._attach(mapped, opened or {})
        self._attachments.prune()
        now = time.monotonic()
        counted, ranks = self._totals.pids, self._communicators.pids
        look_at = partial(self._processes.look, users, now, counted, ranks)
        await self._ctx.call(look_at)
        self._totals.settle(self._processes.known.workloads, now)
        if self._attachments.count != self._attached:
            self._attached = self._attachments.count
            self._ctx.wake(self.name)

    def _take(self, batch: Batch) -> None:
        """Take what one bpftrace printed; a rank that is missing is not kept waiting."""
        now_ns = int(self._ctx.boottime() * NANOSECONDS)  # what bpftrace calls nsecs
        self._totals.take(batch)
        self._communicators.take(batch, now_ns)
        before = {_noticed(one) for one in self._judged}
        self._judged = self._communicators.evaluate(now_ns, self._processes.known)
        if before != {_noticed(one) for one in self._judged}:
            self._ctx.wake(self.name)

    def _miss(self) -> None:
        """Note that calls were not counted: judgements of ranks are old."""
        self._communicators.miss()
        self._judged = ()

    def _new(self, mapped: Mapping[Mapped, Place]) -> list[Place]:
        """Choose what to open now among the libraries that are not known."""
        unknown = [
            at
            for at, (_, found) in mapped.items()
            if at not in self._identities and self._files.may_open(found.file[0])
        ]
        self._turn += MAX_OPENED
        room = max(0, min(MAX_OPENED, MAX_KNOWN - len(self._identities)))
        return [mapped[at] for at in _turned(unknown, self._turn)[:room]]

    def _open(self, places: Iterable[Place], progress: Progress) -> dict[Mapped, OpenLibrary]:
        """Open libraries; blocks while it does."""
        opened: dict[Mapped, OpenLibrary] = {}
        try:
            for place in places:
                library = self._finder.open(place, progress)
                if library is not None:
                    opened[place[1].layer, place[1].file] = library
        except GivenUp:
            _close(opened)
            raise
        return opened

    async def _attach(
        self, mapped: Mapping[Mapped, Place], opened: Mapping[Mapped, OpenLibrary]
    ) -> None:
        """Attach to what is new; note what is still in use."""
        self._identities = {at: self._identities[at] for at in self._identities if at in mapped}
        wanted: dict[Identity, OpenLibrary] = {}
        for at, library in opened.items():
            self._identities[at] = library.identity
            if library.identity not in wanted and self._attachments.wants(library.identity):
                wanted[library.identity] = library
        for at in self._identities.keys() - opened.keys():
            if self._attachments.wants(self._identities[at]):
                del self._identities[at]  # opened again at the next look
        try:
            await self._attachments.attach(tuple(wanted.values()))
        finally:
            _close(opened)


def _close(opened: Mapping[Mapped, OpenLibrary]) -> None:
    for library in opened.values():
        library.close()


def _turned(places: list[Mapped], by: int) -> list[Mapped]:
    """Begin somewhere else each time: what cannot be opened does not keep the others waiting."""
    start = by % len(places) if places else 0
    return places[start:] + places[:start]


def _noticed(one: Communicator) -> tuple[str, bool, str, str]:
    """Return what is published at once when it changes."""
    is_waiting = one.waiting_secs > WAITED_SECS
    return one.id, is_waiting, one.missing if is_waiting else "", one.late
