"""Which libraries are attached to: by one bpftrace for all that were found at the same time."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial

from exporter.collectors.ebpf.batch import Batch, BatchReader
from exporter.collectors.ebpf.collectives.program import FUNCTIONS
from exporter.collectors.ebpf.elf import BadLibrary, functions_of
from exporter.collectors.ebpf.libraries import Identity, OpenLibrary
from exporter.collectors.ebpf.program import MAX_KEYS, Target, count_calls
from exporter.collectors.ebpf.tenant_files import Progress, TenantFiles
from exporter.collectors.ebpf.tracer import Script, Tracing, command_of
from exporter.model.label import clean_text
from exporter.probes.backoff import Backoff
from exporter.probes.child import Children, Command
from exporter.record import dataclass

LINGER_SECS = 10.0
"""What the last process of a library did is still printed after its end."""

MAX_TRACERS = 6
"""Each holds 100 MB; libraries found when there are so many make all start anew, as one."""

MAX_LIBRARIES = 48

READING_SECS = 0.5
"""Of a processor, for the libraries found by one look; what is left comes after the next."""

log = logging.getLogger("exporter.probes")


@dataclass(slots=True)
class _Attached:
    """One bpftrace, the libraries that it is attached to, and when each was last in use."""

    tracing: Tracing
    used: dict[Identity, float]
    has_counted: bool = False


@dataclass(slots=True)
class _Trouble:
    """A library that could not be attached to; it is tried again alone, while it is in use."""

    reason: str
    used: float
    not_before: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(slots=True)
class _Read:
    """Which functions a library has, read once, or why there is nothing to attach to."""

    functions: frozenset[str]
    refusal: str
    used: float


class Attachments:
    """Starts and ends bpftrace as libraries come and go.

    `on_gap` is called when libraries in use are no longer counted, or only after a while again.
    """

    def __init__(  # noqa: PLR0917 - what it works with, each of another type
        self,
        children: Children,
        numbers: Mapping[str, Mapping[str, int]],
        on_batch: Callable[[Batch], None],
        on_gap: Callable[[], None],
        clock: Callable[[], float],
        files: TenantFiles,
        command: Callable[[Script], Command] = command_of,
    ) -> None:
        self._children = children
        self._numbers = numbers
        self._on_batch = on_batch
        self._on_gap = on_gap
        self._clock = clock
        self._files = files
        self._command = command
        self._attached: list[_Attached] = []
        self._endings: set[asyncio.Task[None]] = set()
        self._troubles: dict[Identity, _Trouble] = {}
        self._read: dict[Identity, _Read] = {}
        self._logged: set[str] = set()

    @property
    def count(self) -> int:
        """How many libraries are attached to."""
        return sum(len(one.used) for one in self._attached if one.tracing.is_attached)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why bpftrace does not attach to libraries, each reason once."""
        return tuple(dict.fromkeys(trouble.reason for trouble in self._troubles.values()))

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why there is nothing to attach to in libraries: one for each library."""
        return tuple(read.refusal for read in self._read.values() if read.refusal)

    def wants(self, identity: Identity) -> bool:
        """Whether this library is to be attached to; notes that it is in use."""
        for one in self._attached:
            if identity in one.used:
                one.used[identity] = self._clock()
                return False
        read = self._read.get(identity)
        if read is not None:
            read.used = self._clock()
            if read.refusal:
                return False
        trouble = self._troubles.get(identity)
        if trouble is not None:
            trouble.used = self._clock()
            return trouble.used >= trouble.not_before
        return len(self._known()) < MAX_LIBRARIES

    async def attach(self, libraries: Sequence[OpenLibrary]) -> None:
        """Attach to these, all of which are wanted; one that was in trouble alone.

        Libraries that there is no time to read now are wanted again.
        """
        unread = [one for one in libraries if one.identity not in self._read]
        found = await self._files.read(partial(self._functions_of, unread)) if unread else {}
        for identity, read in (found or {}).items():
            self._read[identity] = read
            if read.refusal and read.refusal not in self._logged:
                self._logged.add(read.refusal)
                log.warning("calls of a library are not counted: %s", clean_text(read.refusal))
        targets = {one.identity: target for one in libraries if (target := self._target(one))}
        new = [identity for identity in targets if identity not in self._troubles]
        room = MAX_LIBRARIES - len(self._known())
        alone = [[identity] for identity in targets if identity in self._troubles]
        for group in (new[: max(0, room)], *alone):
            if group:
                self._start({identity: targets[identity] for identity in group})

    def prune(self) -> None:
        """End what is no longer used; note what has ended by itself."""
        now = self._clock()
        self._forget(now)
        for one in tuple(self._attached):
            if not one.tracing.is_running:
                self._attached.remove(one)
                self._note_gap(one)
                for identity in one.used:
                    self._fail(identity, one.tracing.failure)
            elif all(now - used > LINGER_SECS for used in one.used.values()):
                self._end(one)
        if len(self._attached) > MAX_TRACERS:
            for one in tuple(self._attached):
                self._note_gap(one)
                self._end(one)

    def close(self) -> None:
        """Kill each bpftrace; the kernel detaches the probes of a killed bpftrace."""
        for one in self._attached:
            one.tracing.kill()

    def _note_gap(self, one: _Attached) -> None:
        if one.has_counted:
            self._on_gap()

    def _end(self, one: _Attached) -> None:
        """End one, and do not wait for it."""
        self._attached.remove(one)
        ending = asyncio.ensure_future(one.tracing.end())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    def _known(self) -> set[Identity]:
        return {*self._troubles, *(identity for one in self._attached for identity in one.used)}

    def _functions_of(
        self, libraries: Sequence[OpenLibrary], progress: Progress
    ) -> dict[Identity, _Read]:
        """Read libraries while there is time, at least one; blocks while it does."""
        until = time.thread_time() + READING_SECS
        found: dict[Identity, _Read] = {}
        for library in libraries:
            if time.thread_time() > until:
                break
            progress.come_to(library.filesystem)
            present: frozenset[str] = frozenset()
            numbers, refusal = self._numbers[library.layer], ""
            try:
                present = functions_of(library.descriptor, {*numbers, *FUNCTIONS})
            except BadLibrary as error:
                refusal = f"a library of {library.layer} is not read: {error}"
            if not refusal and present.isdisjoint(numbers):
                refusal = f"a library of {library.layer} has none of the functions"
            found[library.identity] = _Read(present, refusal, self._clock())
        return found

    def _target(self, library: OpenLibrary) -> Target | None:
        """Say what to attach to; None for a library without anything, or not read yet."""
        read = self._read.get(library.identity)
        if read is None or read.refusal:
            return None
        numbers = self._numbers[library.layer]
        calls = {name: number for name, number in numbers.items() if name in read.functions}
        return Target(library.descriptor, calls, read.functions.intersection(FUNCTIONS))

    def _start(self, targets: Mapping[Identity, Target]) -> None:
        descriptors = tuple(target.descriptor for target in targets.values())
        program = count_calls(tuple(targets.values()))
        tracing = Tracing(self._children, self._command)
        one = _Attached(tracing, dict.fromkeys(targets, self._clock()))

        def take(batch: Batch) -> None:
            one.has_counted = True
            self._on_batch(batch)

        # One that has not started is found ended at the next look.
        tracing.start(Script(program, BatchReader(take).take, descriptors, MAX_KEYS))
        self._attached.append(one)

    def _forget(self, now: float) -> None:
        """Forget files that are no longer in use, and failures of files that are attached now."""
        attached = {one for each in self._attached if each.tracing.is_attached for one in each.used}
        for identity, trouble in tuple(self._troubles.items()):
            if identity in attached or now - trouble.used > LINGER_SECS:
                del self._troubles[identity]
        known = self._known()
        for identity, read in tuple(self._read.items()):
            if identity not in known and now - read.used > LINGER_SECS:
                del self._read[identity]

    def _fail(self, identity: Identity, reason: str) -> None:
        trouble = self._troubles.get(identity)
        if trouble is None:
            trouble = self._troubles[identity] = _Trouble(reason, self._clock())
            log.warning("calls are not counted at the moment: %s", clean_text(reason))
        trouble.reason = reason
        trouble.not_before = self._clock() + trouble.backoff.next_secs()
