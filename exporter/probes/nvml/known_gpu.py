"""One GPU that was found: what is kept of it between passes, and one pass over it."""

from collections.abc import Iterable
from typing import Any

from exporter.probes.nvml.card import Card
from exporter.probes.nvml.identity import identity
from exporter.probes.nvml.library import FATAL_FOR_GPU, READ_ERRORS, reason_of
from exporter.probes.nvml.mig import MigReader
from exporter.probes.nvml.processes import ProcessReader
from exporter.probes.nvml.profiling import Profiler
from exporter.probes.nvml.reads import FACTS, READS, Read

QUIET_REASONS = {"not_supported", "old_driver", "no_permission", "deprecated"}
QUIET_PASSES = 10
"""So many passes leave out a reading that failed for a lasting reason."""


class GpuGone(Exception):  # noqa: N818 - ends the reading of one GPU
    """The GPU answers nothing any more; the message is the reason."""


class KnownGpu:
    """A GPU with its handle. `switches` are the options that are on."""

    def __init__(self, card: Card, switches: frozenset[str]) -> None:
        self.card = card
        self.identity = identity(card)
        self._facts: dict[str, Any] | None = None
        self._facts_missing: dict[str, str] = {}
        self._profiler = Profiler()
        self._mig = MigReader(with_profiling="profiling" in switches)
        self._reads = tuple(_chosen((*READS, *self._keeping_reads()), switches))
        self._quiet: dict[Read, tuple[int, str]] = {}
        self._passes = 0
        self._was_mig: bool | None = None

    def read(self) -> dict[str, Any]:
        """One pass over this GPU: its fields, `missing` reasons, or a `problem`."""
        self._passes += 1
        try:
            if self._facts is None:
                self._facts = self._read(FACTS, self._facts_missing)
            missing = dict(self._facts_missing)
            fields = self._read(self._reads, missing)
        except GpuGone as gone:
            return {**self.identity, **(self._facts or {}), "problem": str(gone)}
        self._note_mig(fields)
        return {**self.identity, **self._facts, **fields, "missing": missing}

    def close(self) -> None:
        """Free what the library holds for the readings of this GPU."""
        self._profiler.forget(self.card)
        self._mig.forget(self.card)

    def _keeping_reads(self) -> tuple[Read, ...]:
        """Readings that keep something between passes: each GPU has its own."""
        profiled = (
            "activity_ratio",
            "pcie_profile_bytes_per_second",
            "nvlink_profile_bytes_per_second",
        )
        return (
            Read(("mig_instances",), self._mig.read),
            Read(profiled, self._profiler.read, switch="profiling"),
            Read(("processes",), ProcessReader().read, switch="processes"),
        )

    def _read(self, reads: Iterable[Read], missing: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for read in reads:
            until, reason = self._quiet.get(read, (0, ""))
            if self._passes < until:
                missing.update(dict.fromkeys(read.fields, reason))
                continue
            try:
                self._take(read.of(self.card), found, missing)
            except READ_ERRORS as error:
                reason = _unless_gone(error)
                missing.update(dict.fromkeys(read.fields, reason))
                if reason in QUIET_REASONS:
                    self._quiet[read] = (self._passes + QUIET_PASSES, reason)
        return found

    def _take(
        self,
        fields: Iterable[tuple[str, Any]],
        found: dict[str, Any],
        missing: dict[str, str],
    ) -> None:
        for field, value in fields:
            if isinstance(value, Exception):
                missing[field] = _unless_gone(value)
            elif value is None:
                missing[field] = "not_said"
            else:
                found[field] = value

    def _note_mig(self, fields: dict[str, Any]) -> None:
        """In MIG mode other calls are supported, and nobody knows the use of the whole."""
        is_mig = fields.get("mig_enabled")
        if is_mig:
            for field in ("utilization_percent", "memory_controller_utilization_percent"):
                fields.pop(field, None)
        if is_mig != self._was_mig:
            self._quiet.clear()
        self._was_mig = is_mig


def _unless_gone(error: Exception) -> str:
    """The reason; raises GpuGone for one after which nothing more can be expected."""
    reason = reason_of(error)
    if reason in FATAL_FOR_GPU:
        raise GpuGone(reason) from error
    return reason


def _chosen(reads: Iterable[Read], switches: frozenset[str]) -> Iterable[Read]:
    return (
        read for read in reads if read.switch in {None, *switches} and read.unless not in switches
    )
