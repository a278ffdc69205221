"""One GPU that was found: what is kept of it between passes, and one pass over it."""

import time
from collections.abc import Callable, Iterable

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice
from exporter.collectors.gpu.nvml_probe.identity import UNNAMED, identity, name
from exporter.collectors.gpu.nvml_probe.library import (
    FATAL_FOR_GPU,
    READ_ERRORS,
    UNKNOWN_ERROR,
    reason_of,
)
from exporter.collectors.gpu.nvml_probe.mig import MigReader
from exporter.collectors.gpu.nvml_probe.processes import GpuProcessReader
from exporter.collectors.gpu.nvml_probe.profiling import Profiler
from exporter.collectors.gpu.nvml_probe.reads import CORE_READS, FACTS, READS, Read
from exporter.collectors.gpu.words import CORE_FIELDS

QUIET_REASONS = {"not_supported", "old_driver", "no_permission", "deprecated"}
FINAL_REASONS = QUIET_REASONS | {"garbage", "not_said"}
"""A fact that is missing for another reason is asked for again."""

TOO_SLOW = "too_slow"
QUIET_SECS = 20.0
"""For so long a reading that failed for a lasting reason is left out."""


class KnownGpu:
    """A GPU with its handle. `switches` are the options that are on.

    After `begin`, `has_core` tells whether there was time for all that matters most, `has_any`
    whether there was for some of it.
    """

    def __init__(
        self, card: NvmlDevice, switches: frozenset[str], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self.has_core = self.has_any = False
        self.card = card
        self.identity = identity(card)
        self._facts: dict[str, Any] = {}
        self._facts_missing: dict[str, str] = {}
        self._facts_left = list(FACTS)
        self._profiler = Profiler()
        self._mig = MigReader(with_profiling="profiling" in switches)
        self._reads = tuple(_chosen((*self._keeping_reads(), *READS), switches))
        self._quiet: dict[Read, tuple[float, str]] = {}
        self._was_mig: bool | None = None
        self._found: dict[str, Any] = {}
        self._missing: dict[str, str] = {}
        self._problem: str | None = None

    def begin(self, has_time: Callable[[], bool] = lambda: True) -> None:
        """Begin a pass with the most important values."""
        self._found, self._missing, self._problem = {}, {}, None
        if self.identity["name"] == UNNAMED:  # its call may have failed once, or crashed
            self.identity["name"] = name(self.card)
        self.has_core = self._read_while(CORE_READS, has_time)
        self.has_any = self.has_core or bool(self._found) or self._problem is not None

    def finish(self, has_time: Callable[[], bool]) -> None:
        """Read the rest, for as long as there is time: a slow driver gives less, not nothing."""
        for fact in tuple(self._facts_left):
            if self._problem is not None or not has_time():
                break
            missing: dict[str, str] = {}
            self._read(fact, self._facts, missing)
            for field in fact.fields:
                self._facts_missing.pop(field, None)
            self._facts_missing.update(missing)
            passing = set(missing.values()) - FINAL_REASONS
            if not passing:
                self._facts_left.remove(fact)
            elif fact not in self._quiet or self._now() >= self._quiet[fact][0]:
                self._quiet[fact] = (self._now() + QUIET_SECS, passing.pop())
        self._read_while(self._reads, has_time)
        self._note_mig()

    def _read_while(self, reads: Iterable[Read], has_time: Callable[[], bool]) -> bool:
        """Read while there is time; whether there was enough of it."""
        is_enough = True
        for read in reads:
            if self._problem is not None:
                break
            if has_time():
                self._read(read, self._found, self._missing)
            else:
                is_enough = False
                self._missing.update(dict.fromkeys(read.fields, TOO_SLOW))
        return is_enough

    def answer(self) -> dict[str, Any]:
        """Give what this pass found: fields and `missing` reasons, or a `problem`."""
        reported = {**self.identity, **self._facts}
        if self._problem is not None:
            return {**reported, "problem": self._problem}
        return {**reported, **self._found, "missing": {**self._facts_missing, **self._missing}}

    def close(self) -> None:
        """Free what the library holds for the readings of this GPU."""
        self._profiler.forget(self.card)
        self._mig.forget(self.card)

    def _keeping_reads(self) -> tuple[Read, ...]:
        """Make the readings that keep something between passes: each GPU has its own."""
        profiled = (
            "activity_ratio",
            "pcie_profile_bytes_per_second",
            "nvlink_profile_bytes_per_second",
        )
        return (
            Read(("mig_instances",), self._mig.read),
            Read(profiled, self._profiler.read, switch="profiling"),
            Read(("processes",), GpuProcessReader().read, switch="processes"),
        )

    def _read(self, read: Read, found: dict[str, Any], missing: dict[str, str]) -> None:
        until, reason = self._quiet.get(read, (0.0, ""))
        if self._now() < until:
            missing.update(dict.fromkeys(read.fields, reason))
            return
        try:
            reason = _take(read.of(self.card), found, missing)
        except READ_ERRORS as error:
            reason = reason_of(error)
            if _is_fatal(reason, read.fields):
                self._problem = reason
                return
            missing.update(dict.fromkeys(read.fields, reason))
        if reason in QUIET_REASONS:
            self._quiet[read] = (self._now() + QUIET_SECS, reason)

    def _note_mig(self) -> None:
        """In MIG mode other calls are supported."""
        is_mig = self._found.get("mig_enabled")
        if self._was_mig is not None and is_mig != self._was_mig:
            self._quiet.clear()
        self._was_mig = is_mig


def _is_fatal(reason: str, fields: Iterable[str]) -> bool:
    """Tell whether nothing more is to be had of a GPU that gave this reason for these fields."""
    is_vital = reason == UNKNOWN_ERROR and not CORE_FIELDS.isdisjoint(fields)
    return is_vital or reason in FATAL_FOR_GPU


def _take(fields: Iterable[tuple[str, Any]], found: dict[str, Any], missing: dict[str, str]) -> str:
    """Sort the fields into found and missing; return the reason that all share, "" without one.

    Raises an error again after which nothing more is to be had of the GPU.
    """
    reasons = set()
    for field, value in fields:
        if isinstance(value, Exception):
            missing[field] = reason_of(value)
            if missing[field] in FATAL_FOR_GPU:
                raise value
        elif value is None:
            missing[field] = "not_said"
        else:
            found[field] = value
        reasons.add(missing.get(field, ""))
    return reasons.pop() if len(reasons) == 1 else ""


def _chosen(reads: Iterable[Read], switches: frozenset[str]) -> Iterable[Read]:
    return (read for read in reads if read.switch in {None, *switches})
