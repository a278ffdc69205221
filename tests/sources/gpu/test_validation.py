"""Impossible values: absent and named, and nothing else changed."""

from dataclasses import fields
from typing import Any

import pytest

from exporter.model.gpu import Gpu, GpuProcess, MigInstance
from exporter.sources.gpu.validation import BOUNDS, believable

SENTINELS = (2**32 - 1, 2**64 - 1, 2**63 - 1, 1e300)
NUMBERS = [item.name for item in fields(Gpu) if item.name in BOUNDS]


def gpu_with(field: str, value: Any) -> Gpu:
    """A GPU that says this of one field, by label where the field has labels."""
    labels = next((n for n in ("Labeled3", "Labeled2", "Labeled") if n in _type_of(field)), None)
    said: dict[str, Any] = {field: value}
    if labels is not None:
        count = int(labels[7:] or 1)
        said = {field: ((*["x"] * count, value), (*["y"] * count, 1))}
    return Gpu(0, "GPU-0", "H100", **said)


def _type_of(field: str) -> str:
    return {item.name: str(item.type) for item in fields(Gpu)}[field].replace("reading.", "")


@pytest.mark.parametrize("sentinel", SENTINELS)
@pytest.mark.parametrize("field", NUMBERS)
def test_all_ones_are_no_value(field: str, sentinel: float) -> None:
    """Of any width, in any field, alone or among others."""
    gpu, rejected = believable(gpu_with(field, sentinel))
    kept = getattr(gpu, field)
    assert kept is None or (isinstance(kept, tuple) and all(row[-1] == 1 for row in kept))
    assert rejected == (field,)


def test_every_number_has_bounds() -> None:
    """A field that is added has to say what is believable."""
    unbounded = {
        item.name
        for item in fields(Gpu)
        if item.name not in BOUNDS
        and any(word in str(item.type) for word in ("int", "float", "Labeled"))
    }
    assert unbounded == {"index", "nvlink_up", "clock_limit_active"}


def test_a_part_is_not_more_than_the_whole() -> None:
    """More memory in use than there is: the use is not believed, the size is."""
    gpu, rejected = believable(Gpu(0, "GPU-0", "H", memory_total_bytes=10, memory_used_bytes=11))
    assert (gpu.memory_total_bytes, gpu.memory_used_bytes) == (10, None)
    assert rejected == ("memory_used_bytes",)


def test_parts_of_a_gpu_are_looked_at_too() -> None:
    """Instances and processes lose what cannot be, not more."""
    gpu, rejected = believable(
        Gpu(
            0,
            "GPU-0",
            "H100",
            mig_instances=(MigInstance(1, 0, "MIG-a", "1g", 10, 11),),
            processes=(GpuProcess(7, "compute", 2**64 - 1, sm_utilization_percent=250),),
        )
    )
    assert gpu.mig_instances == (MigInstance(1, 0, "MIG-a", "1g", 10, None),)
    assert gpu.processes == (GpuProcess(7, "compute"),)
    assert set(rejected) == {
        "mig_memory_used_bytes",
        "process_used_memory_bytes",
        "process_sm_utilization_percent",
    }


def test_what_can_be_is_left_as_it_is() -> None:
    """The very same value, nothing rejected."""
    gpu = Gpu(0, "GPU-0", "H100", temperature_celsius=40, thermal_margin_celsius=-1)
    assert believable(gpu) == (gpu, ())
    assert believable(gpu)[0] is gpu
