"""The one type that flows: what may be shown when."""

from dataclasses import dataclass
from types import MappingProxyType

from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.model.snapshot import MAX_AGE_SECS, Snapshot


@dataclass(frozen=True)
class Apples:
    """A reading that does not perish by itself."""

    count: int


def _snapshot(*readings: object) -> Snapshot:
    return Snapshot(
        node="n",
        sequence=1,
        taken_at=0.0,
        taken_boottime=1000.0,
        duration_secs=0.0,
        readings=MappingProxyType({type(reading): reading for reading in readings}),
    )


def _state(expires: float, dynamic_expires: float | None = None) -> GpuState:
    gpu = Gpu(index=0, uuid="GPU-0", name="card", memory_total_bytes=80, temperature_celsius=50.0)
    return GpuState(gpu, 1000.0, stale=True, expires=expires, dynamic_expires=dynamic_expires)


def _gpus(*states: GpuState) -> Gpus:
    return Gpus(GpuBackend("cache", "timeout", nvml_up=False), states)


def test_what_is_not_said_is_none() -> None:
    """A type without a reading is None, not a default."""
    assert _snapshot().reading(Apples) is None
    assert _snapshot(Apples(3)).reading(Apples) == Apples(3)


def test_a_fresh_snapshot_is_shown_as_it_is() -> None:
    """Before anything expires `at` gives the very same object, so that pages are kept."""
    snapshot = _snapshot(Apples(3), _gpus(_state(1300.0)))
    assert snapshot.at(1299.9) is snapshot


def test_nothing_is_shown_beyond_the_longest_age() -> None:
    """A snapshot that nobody replaces loses all its readings to the second."""
    snapshot = _snapshot(Apples(3))
    assert snapshot.at(1000.0 + MAX_AGE_SECS - 0.001).reading(Apples) == Apples(3)
    assert snapshot.at(1000.0 + MAX_AGE_SECS).reading(Apples) is None


def test_a_gpu_served_from_the_cache_leaves_when_its_time_is_over() -> None:
    """Only its identity is left, it counts as unreadable, and its neighbours stay."""
    snapshot = _snapshot(Apples(3), _gpus(_state(1100.0), _state(1200.0)))
    shown = snapshot.at(1100.0).reading(Gpus)
    assert shown is not None
    gone, kept = shown.states
    assert (gone.expired, gone.up, gone.gpu) == (True, False, Gpu(0, "GPU-0", "card"))
    assert kept.gpu.temperature_celsius == 50.0
    assert snapshot.at(1100.0).reading(Apples) == Apples(3)


def test_moving_values_may_leave_before_the_rest() -> None:
    """After `dynamic_expires` the size of the memory is still shown, the temperature is not."""
    shown = _snapshot(_gpus(_state(1300.0, dynamic_expires=1045.0))).at(1045.0).reading(Gpus)
    assert shown is not None
    assert shown.states[0].gpu.memory_total_bytes == 80
    assert shown.states[0].gpu.temperature_celsius is None
    assert not shown.states[0].expired


def test_an_empty_cache_is_not_called_a_cache() -> None:
    """When every GPU has expired the backend is `none`, with the reason kept."""
    shown = _snapshot(_gpus(_state(1100.0))).at(1100.0).reading(Gpus)
    assert shown is not None
    assert (shown.backend.backend, shown.backend.reason) == ("none", "timeout")
