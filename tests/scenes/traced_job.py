"""A job of two ranks, as bpftrace prints its collectives to the real reader."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exporter.collectors.ebpf.batch import END, Batch
from exporter.collectors.ebpf.traced_calls import TracedCallsSource
from exporter.collectors.ebpf.tracer import Script
from exporter.probes.child import Command
from exporter.reading.context import SourceContext
from tests.fakes.fixtures import built
from tests.fakes.native import NCCL, build_nccl
from tests.fakes.waiting import until

PIDS = (41001, 41002)
COMMUNICATOR = 7
STEP_SECS = 1.0
"""Both ranks enter a collective each second."""

BPFTRACE = """exec 3<> "$0"
printf '%s\\n' '{"type": "attached_probes", "data": {"probes": 1}}'
while :; do
  if IFS= read -r -t 1 -u 3 line; then printf '%s\\n' "$line"; else printf '%s\\n' "$1"; fi
done"""
"""Prints the lines of a pipe, and each second without any the sign of life of an idle program."""


class TracedJob:
    """Two processes that map NCCL; `late` is how many seconds the second is late, look by look."""

    def __init__(self, pipe: Path) -> None:
        self.late: tuple[float, ...] = ()
        self._looks = 0
        self._pipe = pipe
        os.mkfifo(pipe)
        self._end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self._source: _Source | None = None
        self._is_made = False
        library = built(build_nccl) / NCCL
        self.files = {}
        for pid in PIDS:
            maps = f"7f00-7f10 r-xp 00000000 08:01 {library.stat().st_ino} /usr/lib/{NCCL}\n"
            self.files[f"/proc/{pid}/maps"] = maps
            self.files[f"/proc/{pid}/root/usr/lib/{NCCL}"] = f"-> {library}"

    def source(self, ctx: SourceContext) -> TracedCallsSource:
        """Build the source that reads it, in place of the one before."""
        self._source = _Source(ctx, command=self._command, require=lambda _: None)
        return self._source

    def begin(self, late: tuple[float, ...]) -> None:
        """Be late so from now on."""
        self.late, self._looks = late, 0

    async def go_on(self, now: float, secs: float) -> None:
        """Print the collectives of these seconds, and wait until they are taken."""
        source = self._source
        assert source is not None
        if not source.is_read:  # it looks for libraries from its first reading on
            return
        await until(lambda: source.is_attached)
        late = self.late[min(self._looks, len(self.late) - 1)] if self.late else 0.0
        self._looks += 1
        taken = source.batches
        os.write(self._end, "".join(self._lines(now - secs, secs, late)).encode())
        await until(lambda: source.batches > taken)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._end)

    def _command(self, script: Script) -> Command:
        if not script.descriptors:  # a trial, which attaches to nothing
            return Command(("/bin/true",), {})
        words = ("bash", "-c", BPFTRACE, str(self._pipe), _printed("printf", f"{END}\n").strip())
        return Command(words, {"PATH": "/usr/bin:/bin"})

    def _lines(self, begun: float, secs: float, late: float) -> Iterator[str]:
        maps: dict[str, dict[str, Any]] = {"@met0": {}, "@newest0": {}, "@made0": {}}
        for rank, pid in enumerate(PIDS):
            steps = int(secs / STEP_SECS)
            last = begun + (steps - 1) * STEP_SECS
            moments = [int((begun + n * STEP_SECS + rank * late) * 1e9) for n in range(steps)]
            squares = int(steps * (STEP_SECS * 1e6) ** 2)
            place = f"{pid},{pid},{COMMUNICATOR}"
            sums = enumerate((steps, sum(moments), squares))
            maps["@met0"] |= {f"{place},{what}": number for what, number in sums}
            maps["@newest0"][place] = int((last + rank * late) * 1e9)
            if not self._is_made:
                maps["@made0"][f"{pid},{COMMUNICATOR}"] = [0x77AA, len(PIDS), rank, moments[0] - 1]
        self._is_made = True
        yield from (_printed("map", {name: entries}) for name, entries in maps.items() if entries)
        yield _printed("printf", f"{END}\n")


def _printed(kind: str, data: object) -> str:
    return json.dumps({"type": kind, "data": data}) + "\n"


class _Source(TracedCallsSource):
    """Counts what it has taken."""

    batches = 0
    is_read = False

    @property
    def is_attached(self) -> bool:
        """Whether it has found the processes and their library."""
        return self._attachments.count == 1 and len(self._processes.known.parents) == len(PIDS)

    async def read(self) -> Any:
        self.is_read = True
        return await super().read()

    def _take(self, batch: Batch) -> None:
        super()._take(batch)
        self.batches += "@met" in batch.maps
