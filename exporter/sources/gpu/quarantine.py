"""GPUs on which the NVML probe hung: skipped, and queried by a separate probe."""

import asyncio
import logging
from collections.abc import Callable

from exporter.probes.supervisor import ProbeFailed, RequestProbe
from exporter.sources.gpu.backend import GpuProblem

HUNG = "hung"
RETRY_SECS = 5.0
"""So long after one call has hung the next is tried: a GPU that answers is back within 30 s."""

ENOUGH = 0.5
"""A slow GPU is asked for nothing more after this part of the deadline: slow is not hung."""

log = logging.getLogger("exporter.sources.gpu.source")


class Quarantine:
    """The suspects, by index, and whether they hung again when they were asked alone.

    A suspect that answers, well or with an error, is none any more; `on_change` is called then, and
    when one has hung alone too.
    """

    def __init__(
        self,
        probe: RequestProbe,
        timeout_secs: float,
        on_change: Callable[[], None] = lambda: None,
        *,
        retry_secs: float = RETRY_SECS,
    ) -> None:
        self._probe = probe
        self._timeout_secs = timeout_secs
        self._on_change = on_change
        self._retry_secs = retry_secs
        self._is_hung: dict[int, bool] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def suspects(self) -> tuple[int, ...]:
        """The indexes that no pass must touch."""
        return tuple(self._is_hung)

    @property
    def problems(self) -> tuple[GpuProblem, ...]:
        """The suspects that hung alone too."""
        return tuple(GpuProblem(HUNG, index=n) for n, hung in self._is_hung.items() if hung)

    @property
    def is_undecided(self) -> bool:
        """Whether a suspect has not been asked alone yet: nothing is known of it."""
        return not all(self._is_hung.values())

    @property
    def is_stuck(self) -> bool:
        """Whether a killed child of this probe is still alive: it sleeps in the driver."""
        return self._probe.is_stuck

    def add(self, places: set[int]) -> None:
        """Leave these GPUs out from now on, and ask them alone."""
        for place in places:
            self._is_hung.setdefault(place, False)
        if self._is_hung and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self._ask_until_none_is_left())

    async def close(self) -> None:
        """Forget the suspects and end their probe."""
        self._is_hung.clear()
        if self._task is not None:
            self._task.cancel()
        await self._probe.close()

    async def _ask_until_none_is_left(self) -> None:
        while self._is_hung:
            for place in tuple(self._is_hung):
                await self._ask(place)
            if self._is_hung:
                await asyncio.sleep(self._retry_secs)
        await self._probe.close()

    async def _ask(self, place: int) -> None:
        try:
            enough = ENOUGH * self._timeout_secs
            request = {"op": "read", "only": place, "enough_secs": enough}
            await self._probe.ask(request, self._timeout_secs)
        except ProbeFailed as failed:
            if failed.reason in ("timeout", "stuck") and not self._is_hung[place]:
                log.warning("GPU %d hangs and is not read until it answers: %s", place, failed)
                self._is_hung[place] = True
                self._on_change()
            if not self._probe.is_stuck:
                await self._probe.close()  # the next try must not wait for a back-off
        else:
            log.info("GPU %d answers again", place)
            self._is_hung.pop(place, None)
            self._on_change()
