"""A GPU that is not up is a fault, whatever the reason: over every word that a reader can give."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter import collectors
from exporter.collectors.everything import KINDS
from exporter.collectors.gpu import backend, cache, nvml, quarantine, source
from exporter.collectors.gpu.backend import GpuAnswer, GpuProblem
from exporter.collectors.gpu.cache import GpuCache
from exporter.collectors.gpu.nvml_probe import gpus as nvml_gpus
from exporter.collectors.gpu.nvml_probe import library
from exporter.collectors.gpu.smi import output as smi_output
from exporter.collectors.gpu.values import EXPIRED, Gpu, GpuBackend, Gpus
from exporter.config import GpuConfig
from exporter.faults.engine import RuleEngine
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Fault
from tests.collectors.gpu.simulated_driver import BOOK

READERS = (*(backend, cache, nvml, quarantine, smi_output, source, library, nvml_gpus),)
ROOMS = Path(collectors.__file__).parent
NOT_DOWN = {cache.SUSPENDED}
TOLD_SECS = 30.0
START_SECS = 500.0


def problem_words() -> Iterator[str]:
    """The reasons of the readers' tables, and those that stand as words in their code."""
    yield from library.REASONS.values()
    yield library.reason_of(library.SwitchedOffError())
    yield library.reason_of(ValueError())
    yield "nvml_error_77"
    yield from quarantine.REASONS.values()
    yield from (word for _, word in smi_output.SENTENCES)
    yield from smi_output.EXIT_CODES.values()
    yield EXPIRED
    files = {Path(inspect.getfile(reader)) for reader in READERS}
    files |= {path for path in ROOMS.rglob("*.py") if "GpuProblem(" in path.read_text("utf-8")}
    for path in files:
        code = path.read_text("utf-8")
        yield from re.findall(r"""(?:problem"?|reason)\s*(?:=|:|, uuid =)\s*"([a-z_]+)\"""", code)
        yield from re.findall(
            r'^[A-Z_]+ = "([a-z]+(?:_[a-z]+)+|hung|crashes)"$', code, re.MULTILINE
        )


WORDS = sorted(set(problem_words()) - NOT_DOWN)


def test_the_words_are_found_in_the_code() -> None:
    """Those that are written in a function, too: a reason that is added there is among them."""
    assert {"no_identity", "duplicate_uuid", "not_listed", "no_devices", "gpu_lost"} <= set(WORDS)
    assert {"hung", "crashes", "garbage", "unknown_error", "expired"} <= set(WORDS)


@pytest.mark.parametrize("before", ["read", "unknown"])
@pytest.mark.parametrize("reason", WORDS)
def test_a_gpu_that_is_not_up_is_a_fault_within_half_a_minute(reason: str, before: str) -> None:
    """By the shipped rules, for a GPU that was read before and for one that never was."""
    found = told(reason, is_known=before == "read")
    assert [fault for fault in found if fault.subject.kind == "gpu"], reason
    assert reason == "no_permission" or any(fault.severity == "critical" for fault in found)


def told(reason: str, *, is_known: bool) -> tuple[Fault, ...]:
    """The faults of a node on which one of two GPUs is down for this reason."""
    kept = GpuCache(GpuConfig(), vendor="nvidia")
    engine = RuleEngine(BOOK, KINDS, lambda: 0.0, "")
    well, ill = (Gpu(n, f"GPU-{n}", "H100", pci_bus_id=f"0000:0{n}:00.0") for n in range(2))
    if is_known:
        kept.take(GpuAnswer((well, ill)), START_SECS)
    problems = (GpuProblem(reason, None, 1, "0000:01:00.0"),)
    for secs in (0.0, 15.0, TOLD_SECS):
        now = START_SECS + secs
        kept.take(GpuAnswer((well,), problems), now)
        gpus = Gpus(GpuBackend("nvml", "ok", nvml_up=True), kept.states(now))
        snapshot = Snapshot("n", 1, 1.7e9 + now, now, 0.0, {Gpus: gpus})
        conclusions = engine.conclude(snapshot)
    return tuple(fault for fault in conclusions.faults if fault.is_active)


def test_two_gpus_that_never_answered_are_two_faults() -> None:
    """Neither has a UUID: each is known by its address, or by its place."""
    engine = RuleEngine(BOOK, KINDS, lambda: 0.0, "")
    kept = GpuCache(GpuConfig(), vendor="nvidia")
    kept.take(GpuAnswer((), (GpuProblem("crashes", None, 0), GpuProblem("crashes", None, 1))), 0.0)
    gpus = Gpus(GpuBackend("nvml", "ok", nvml_up=True), kept.states(0.0))
    conclusions = engine.conclude(Snapshot("n", 1, 1.7e9, 0.0, 0.0, {Gpus: gpus}))
    hung = [fault.subject.kind for fault in conclusions.faults if fault.rule == "gpu_hung"]
    assert sorted(hung) == ["gpu", "gpu", "node"], "each of them, and both together"
