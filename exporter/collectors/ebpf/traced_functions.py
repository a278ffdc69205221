"""Calls of chosen functions of Python and operators of Torch by workload (docs/ebpf.md)."""

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import field
from functools import partial

from exporter.collectors.ebpf.batch import BatchReader
from exporter.collectors.ebpf.elf import BadLibrary
from exporter.collectors.ebpf.functions import (
    FILES,
    FunctionTotals,
    count_functions,
    functions,
    probes_of,
)
from exporter.collectors.ebpf.libraries import (
    Identity,
    LibraryFinder,
    Mapped,
    OpenLibrary,
    Place,
    User,
    mapped_files,
)
from exporter.collectors.ebpf.program import MAX_KEYS
from exporter.collectors.ebpf.tenant_files import GivenUp, Progress, TenantFiles
from exporter.collectors.ebpf.trace_loop import TraceLoop, require_tracing
from exporter.collectors.ebpf.traced_processes import TracedProcesses
from exporter.collectors.ebpf.tracer import Script, Tracing, Trial
from exporter.collectors.ebpf.values import TracedFunctions
from exporter.model.label import clean_text
from exporter.model.reading import Missing, Reading
from exporter.reading.context import SourceContext
from exporter.reading.source import SourceFailed
from exporter.record import dataclass

LINGER_SECS = 60.0
"""For so long a file that nobody maps any more stays attached to."""

MAX_FILES = 16

log = logging.getLogger("exporter.probes")


@dataclass(slots=True)
class _Prepared:
    """The probes of the files that have any, our descriptors that they name, and problems."""

    files: frozenset[Identity] = frozenset()
    probes: list[str] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    problems: dict[str, None] = field(default_factory=dict)

    def close(self) -> None:
        """Let go of the files; bpftrace has its own descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)


class TracedFunctionsSource:
    """Looks for files to attach to every two seconds; one bpftrace is attached to all of them."""

    name = "ebpf_functions"
    deadline_secs = 1.0

    def __init__(self, ctx: SourceContext) -> None:
        self._ctx = ctx
        self._processes = TracedProcesses(ctx)
        self._clock = time.monotonic
        settings = ctx.config.ebpf
        self._chosen = functions(settings.torch_operators, settings.python_functions)
        wanted = {one.layer for one in self._chosen}
        self._files = TenantFiles(ctx.call)
        names = {layer: pattern for layer, pattern in FILES.items() if layer in wanted}
        self._finder = LibraryFinder(ctx.proc, names)
        self._totals = FunctionTotals(self._chosen)
        self._identities: dict[Mapped, Identity] = {}
        self._attached: frozenset[Identity] = frozenset()
        self._barren: frozenset[Identity] = frozenset()
        self._all_used = 0.0
        self._tracing = Tracing(ctx.children)
        self._left_out: tuple[str, ...] = ()  # tenants name their files: no failure of ours
        self._loop = TraceLoop(self._follow, "looking for files to attach to")
        self._trial = Trial(ctx.children)

    async def read(self) -> Reading[TracedFunctions]:
        """Return what was counted; raise SourceAbsent where nothing can be."""
        if not self._loop.is_running:
            require_tracing(self._ctx)
            self._loop.start()
            self._trial.start()
        self._loop.check()
        failure = self._trial.problem or self._tracing.failure
        if failure and not self._tracing.is_attached:
            raise SourceFailed(failure)
        problems = (*self._left_out, *self._finder.problems, *self._files.problems)
        missing = tuple(Missing("functions", problem) for problem in problems)
        files = len(self._attached) if self._tracing.is_attached else 0
        return Reading(TracedFunctions(self._totals.functions(), files), missing)

    async def close(self) -> None:
        """Detach from everything."""
        await self._loop.close()
        self._trial.kill()
        self._tracing.kill()

    async def _follow(self) -> None:
        users = await self._ctx.call(partial(self._finder.look, self._clock()))
        look_at = partial(self._processes.look, users, self._clock(), self._totals.pids)
        await self._ctx.call(look_at)
        places = await self._files.read(partial(self._find, users))
        if places is not None:
            await self._attach(places)
        self._totals.settle(self._processes.known.workloads, self._clock())

    def _find(self, users: Mapping[int, User], progress: Progress) -> Mapping[Identity, Place]:
        """Find the files in use and whose processes use them; blocks while it does."""
        found: dict[Identity, Place] = {}
        known, self._identities = self._identities, {}
        for mapped, place in mapped_files(users).items():
            identity = known.get(mapped)
            if identity is None:
                library = self._open(place, progress)
                if library is None:
                    continue
                identity = library.identity
                library.close()
            self._identities[mapped] = identity
            if len(found) < MAX_FILES:
                found.setdefault(identity, place)
        return found

    def _open(self, place: Place, progress: Progress) -> OpenLibrary | None:
        """Open a file, unless its filesystem is left out; raise GivenUp as the finder does."""
        may_open = self._files.may_open(place[1].file[0])
        return self._finder.open(place, progress) if may_open else None

    async def _attach(self, places: Mapping[Identity, Place]) -> None:
        """Attach to these files where one is new, or one has not been in use for a while."""
        now = self._clock()
        if self._attached and not self._tracing.is_running:
            self._attached = frozenset()
            failure = clean_text(self._tracing.failure)
            log.warning("functions are not counted at the moment: %s", failure)
        wanted = frozenset(places) - self._barren
        if wanted >= self._attached:
            self._all_used = now
        is_over = now - self._all_used > LINGER_SECS
        if (wanted <= self._attached and not is_over) or self._tracing.is_pausing:
            return
        prepared = await self._files.read(partial(self._prepare, places))
        if prepared is None:
            return
        try:
            self._barren = frozenset(places) - prepared.files
            self._left_out = tuple(prepared.problems)
            if prepared.files != self._attached:
                self._tracing.kill()
                self._attached, self._all_used = prepared.files, now
                if prepared.probes:
                    self._tracing.start(self._script(prepared))
        finally:
            prepared.close()

    def _prepare(self, places: Mapping[Identity, Place], progress: Progress) -> _Prepared:
        """Open the files and write their probes; blocks while it does."""
        prepared = _Prepared()
        try:
            self._add_probes(prepared, places, progress)
        except GivenUp:
            prepared.close()
            raise
        return prepared

    def _add_probes(
        self, prepared: _Prepared, places: Mapping[Identity, Place], progress: Progress
    ) -> None:
        for identity, place in places.items():
            library = self._open(place, progress)
            if library is None:
                continue
            prepared.descriptors.append(library.descriptor)
            name = place[1].path.rpartition("/")[2]
            try:
                probes = probes_of(library.layer, library.descriptor, name, self._chosen)
            except BadLibrary as error:
                prepared.problems[f"a file of {library.layer} is left out: {error}"] = None
                continue
            if probes:
                prepared.probes += probes
                prepared.files |= {identity}

    def _script(self, prepared: _Prepared) -> Script:
        text = count_functions(self._chosen, prepared.probes)
        reader = BatchReader(self._totals.take)
        return Script(text, reader.take, tuple(prepared.descriptors), MAX_KEYS)
