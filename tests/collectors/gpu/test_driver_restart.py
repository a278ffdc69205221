"""When a container has to be made anew for the library of a driver that came late."""

from types import MappingProxyType

import pytest

from exporter.collectors.gpu.driver_restart import DriverRestartDetector
from exporter.collectors.gpu.values import GpuBackend, Gpus
from exporter.model.snapshot import Snapshot

NO_DRIVER, PENDING = GpuBackend("none", "no_driver"), GpuBackend("none", "pending")
NO_LIBRARY, OK = GpuBackend("none", "no_library"), GpuBackend("nvml", "ok")
BY_PROGRAM = GpuBackend("nvidia-smi", "no_library")


def _snapshot(boottime: float, backend: GpuBackend | None) -> Snapshot:
    readings: dict[type, object] = {} if backend is None else {Gpus: Gpus(backend)}
    return Snapshot(
        node="n1",
        sequence=1,
        taken_at=boottime,
        taken_boottime=boottime,
        duration_secs=0.1,
        readings=MappingProxyType(readings),
    )


def _first_restart(patience_secs: float, *seen: GpuBackend | None) -> int | None:
    """Which of the snapshots, ten seconds apart, is the first that asks for a restart."""
    late = DriverRestartDetector(patience_secs)
    for number, backend in enumerate(seen):
        if late.needs_restart(_snapshot(10.0 * number, backend)):
            return number
    return None


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ((NO_DRIVER, PENDING, *[NO_LIBRARY] * 6), 5),
        ((None, NO_DRIVER, *[NO_LIBRARY] * 6), 5),
        ((NO_DRIVER, NO_LIBRARY, NO_LIBRARY, OK, *[NO_LIBRARY] * 6), 7),
    ],
    ids=["driver late", "first nothing was known", "the library came and went"],
)
def test_a_late_driver_without_its_library_asks_for_a_restart(
    seen: tuple[GpuBackend | None, ...], expected: int
) -> None:
    """After the patience, counted from when the library was first missing."""
    assert _first_restart(30, *seen) == expected


@pytest.mark.parametrize(
    "seen",
    [
        (PENDING, *[NO_LIBRARY] * 9),
        (NO_DRIVER,) * 9,
        (NO_DRIVER, *[OK] * 9),
        (NO_DRIVER, *[BY_PROGRAM] * 9),
        (None,) * 9,
    ],
    ids=["driver before us", "no driver", "library in time", "read by nvidia-smi", "not looked"],
)
def test_nothing_else_asks_for_a_restart(seen: tuple[GpuBackend | None, ...]) -> None:
    """A restart that could not help is never asked for, so that there is no loop of them."""
    assert _first_restart(30, *seen) is None


def test_it_is_off_by_default() -> None:
    """Outside of containers the library comes where the driver comes."""
    assert _first_restart(0, NO_DRIVER, *[NO_LIBRARY] * 9) is None
