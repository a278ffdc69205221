"""Calls into CUDA and NCCL by workload: follows processes as they come and go (docs/ebpf.md)."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from exporter.model.collectives import Communicator
from exporter.model.reading import Missing, Reading
from exporter.model.traced import TracedCalls
from exporter.probes.ebpf.attachments import Attachments
from exporter.probes.ebpf.batch import Batch
from exporter.probes.ebpf.calls import LIBRARIES, numbers_of
from exporter.probes.ebpf.communicators import Communicators
from exporter.probes.ebpf.libraries import (
    Identity,
    LibraryFinder,
    OpenLibrary,
    User,
)
from exporter.probes.ebpf.totals import CallTotals
from exporter.sources.context import SourceContext
from exporter.sources.interface import SourceFailed
from exporter.sources.workloads.trace_loop import TraceLoop, require_tracing
from exporter.sources.workloads.traced_processes import TracedProcesses

WAITED_SECS = 20.0
"""From then on who waits is published at once: as long as the rules for it wait."""

Mapped = tuple[str, tuple[str, str]]
"""A file as the maps of processes name it: the layer, then device and inode."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look found: who maps which libraries, and the libraries not known before, open."""

    users: dict[int, User]
    opened: dict[Mapped, OpenLibrary]


class TracedCallsSource:
    """Looks for libraries every two seconds from its first reading on, whoever reads it."""

    name = "ebpf"
    deadline_secs = 1.0

    def __init__(self, ctx: SourceContext) -> None:
        self._ctx = ctx
        self._processes = TracedProcesses(ctx)
        settings = ctx.config.ebpf
        layers = [layer for layer in LIBRARIES if layer in settings.layers]
        self._finder = LibraryFinder(ctx.proc, {layer: LIBRARIES[layer] for layer in layers})
        self._totals = CallTotals()
        self._communicators = Communicators()
        self._judged: tuple[Communicator, ...] = ()
        self._attachments = Attachments(
            ctx.children,
            {layer: numbers_of((layer,), settings.skipped_calls) for layer in layers},
            self._take,
            time.monotonic,
        )
        self._loop = TraceLoop(self._follow, "looking for libraries")
        self._identities: dict[Mapped, Identity] = {}
        self._attached = 0

    async def read(self) -> Reading[TracedCalls]:
        """Return what was counted; raise SourceAbsent where calls cannot be counted."""
        if not self._loop.is_running:
            require_tracing(self._ctx, needs_pids=True)
            self._loop.start()
        self._loop.check()
        calls = self._totals.calls()
        problems = (*self._attachments.problems, *self._finder.problems)
        if problems and not calls and not self._attachments.count:
            raise SourceFailed(problems[0])
        missing = tuple(Missing("calls", problem) for problem in problems)
        return Reading(TracedCalls(calls, self._judged, self._attachments.count), missing)

    async def close(self) -> None:
        """Detach from everything."""
        await self._loop.close()
        self._attachments.close()

    async def _follow(self) -> None:
        look = await self._ctx.call(partial(self._look, frozenset(self._identities)))
        self._attach(look)
        self._attachments.prune()
        now = time.monotonic()
        counted, ranks = self._totals.pids, self._communicators.pids
        look_at = partial(self._processes.look, look.users, now, counted, ranks)
        await self._ctx.call(look_at)
        self._totals.settle(self._processes.known.workloads, now)
        if self._attachments.count != self._attached:
            self._attached = self._attachments.count
            self._ctx.wake(self.name)

    def _take(self, batch: Batch) -> None:
        """Take what one bpftrace printed; a rank that is missing is not kept waiting."""
        now_ns = time.monotonic_ns()
        self._totals.take(batch)
        self._communicators.take(batch, now_ns)
        before = {_noticed(one) for one in self._judged}
        self._judged = self._communicators.evaluate(now_ns, self._processes.known)
        if before != {_noticed(one) for one in self._judged}:
            self._ctx.wake(self.name)

    def _look(self, known: Collection[Mapped]) -> _Look:
        users = self._finder.look(time.monotonic())
        opened: dict[Mapped, OpenLibrary] = {}
        for pid, user in users.items():
            for found in user.libraries:
                mapped = (found.layer, found.file)
                if mapped not in known and mapped not in opened:
                    library = self._finder.open(pid, found)
                    if library is not None:
                        opened[mapped] = library
        return _Look(users, opened)

    def _attach(self, look: _Look) -> None:
        """Attach to what is new; note what is still in use."""
        mapped = {(one.layer, one.file) for user in look.users.values() for one in user.libraries}
        self._identities = {at: self._identities[at] for at in self._identities if at in mapped}
        wanted: dict[Identity, OpenLibrary] = {}
        for at, library in look.opened.items():
            self._identities[at] = library.identity
            if library.identity not in wanted and self._attachments.wants(library.identity):
                wanted[library.identity] = library
        for at in self._identities.keys() - look.opened.keys():
            if self._attachments.wants(self._identities[at]):
                del self._identities[at]  # opened again at the next look
        self._attachments.attach(tuple(wanted.values()))
        for library in look.opened.values():
            library.close()


def _noticed(one: Communicator) -> tuple[str, bool, str, str]:
    """Return what is published at once when it changes."""
    is_waiting = one.waiting_secs > WAITED_SECS
    return one.id, is_waiting, one.missing if is_waiting else "", one.late
