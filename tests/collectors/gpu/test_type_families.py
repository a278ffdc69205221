"""Figures of a node by GPU product."""

from dataclasses import replace

from exporter.collectors.gpu.type_families import TYPE_FAMILIES
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.exposition.family import Sample
from exporter.model.snapshot import Snapshot


def _gpu(index: int) -> Gpu:
    return Gpu(index=index, uuid=f"GPU-{index}", name="H100")


WORKS = replace(_gpu(0), utilization_percent=90.0, power_draw_watts=300.0)
SAYS_LITTLE = replace(_gpu(1), power_draw_watts=100.0, temperature_celsius=40.0)
OLD = replace(_gpu(2), utilization_percent=10.0, power_draw_watts=700.0)


def _shown(*states: GpuState) -> dict[str, list[Sample]]:
    gpus = Gpus(GpuBackend("nvml", "ok"), states)
    snapshot = Snapshot("n", 1, 0.0, 0.0, 0.0, readings={Gpus: gpus})
    return {family.name: list(family.samples(snapshot)) for family in TYPE_FAMILIES}


def test_only_fresh_values_of_gpus_that_answer_count() -> None:
    """A lost GPU and one from the cache are in no sum; one without a reading is no zero."""
    shown = _shown(
        GpuState(WORKS, 0.0),
        GpuState(SAYS_LITTLE, 0.0),
        GpuState(OLD, 0.0, stale=True),
        GpuState(OLD, 0.0, up=False),
    )
    assert shown["hw_gpu_type_lost_gpus"] == [(("H100",), 1)]
    assert shown["hw_gpu_type_measured_gpus"] == [(("H100",), 1)]
    assert shown["hw_gpu_type_utilization_percent"] == [(("H100",), 90)]
    assert shown["hw_gpu_type_power_draw_watts"] == [(("H100",), 400)]
    assert shown["hw_gpu_type_temperature_celsius"] == [(("H100",), 40)]
    assert shown["hw_gpu_type_memory_used_bytes"] == []


def test_no_gpu_that_answers_has_no_figures() -> None:
    """Where all values are from the cache nothing is said, not zero."""
    shown = _shown(GpuState(OLD, 0.0, stale=True))
    counts = {name: shown.pop(f"hw_gpu_type_{name}_gpus") for name in ("lost", "measured")}
    assert counts == {name: [(("H100",), 0)] for name in ("lost", "measured")}
    assert set(map(len, shown.values())) == {0}
