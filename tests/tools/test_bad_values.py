"""The word on the bad values of each family, and what the recordings are watched for."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from exporter.collectors.everything import FAMILIES, LIVE_FAMILIES
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.exposition.family import Family, MetricType, family
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Fault, FaultState, Subject
from tests.corpus.invariants import PATIENCE_SECS, Watch
from tools.bad_values import MEANT, TABLE, word_of

ROWS: tuple[Family, ...] = (*FAMILIES, *LIVE_FAMILIES)
LOST = GpuState(Gpu(index=3, uuid="GPU-3", name="NVIDIA L4"), 0.0, up=False, expired=True)
SUBJECT = Subject("gpu", "gpu", "GPU-3", "GPU 3")
FAULT = Fault(
    *("gpu_lost", SUBJECT, "critical", FaultState.ACTIVE, 0.0, None, 1.0, "lost", "reset", ""),
    status="failed",
)


def test_every_family_has_a_word() -> None:
    """A family says which of its values are bad, or why none is."""
    assert [row.name for row in ROWS if not word_of(row)] == []
    labels = {row.name: row.labels for row in ROWS}
    components = {name: bad.component for name, bad in TABLE.items() if bad.component}
    assert {name for name, label in components.items() if label not in labels[name]} == set()


def test_a_new_gauge_without_a_word_is_refused() -> None:
    """Whoever adds a gauge must decide; a word on a family that is gone is refused too."""
    with pytest.raises(KeyError, match="hw_gpu_new"):
        word_of(family("hw_gpu_new", "Whether it is new.", lambda _: ()))
    names = {row.name for row in ROWS}
    gauges = {row.name for row in ROWS if row.type is MetricType.GAUGE}
    assert TABLE.keys() <= names
    assert MEANT.keys() <= gauges
    assert not TABLE.keys() & MEANT.keys()


def _moment(secs: float, state: GpuState) -> Snapshot:
    gpus = Gpus(GpuBackend("nvml", "ok", nvml_up=True), (state,))
    return Snapshot("node", 1, secs, secs, 0.0, MappingProxyType({Gpus: gpus}))


def _watched(conclusions: Conclusions, *moments: Snapshot) -> Watch:
    watch = Watch()
    for moment in moments:
        watch.look(moment, conclusions)
    return watch


def test_a_lost_gpu_without_a_fault_is_seen() -> None:
    """The watch over recordings finds what it is for, and nothing where a fault says it."""
    moments = [_moment(secs, LOST) for secs in (0.0, 15.0, PATIENCE_SECS + 15)]
    silent = _watched(Conclusions(), *moments)
    assert list(silent.holes) == ["hw_gpu_up('3', 'NVIDIA L4', 'GPU-3')"]
    assert not _watched(Conclusions(faults=(FAULT,)), *moments).holes


def test_a_fault_that_begins_as_its_gpu_returns_is_seen() -> None:
    """A fault whose component has just got well is a mistake of its rule."""
    back = replace(LOST, up=True, expired=False)
    begun = Conclusions(faults=(replace(FAULT, since=30.0),))
    watch = _watched(Conclusions(), _moment(15.0, LOST))
    watch.look(_moment(30.0, back), begun)
    assert list(watch.got_well) == ["gpu_lost@GPU-3"]
