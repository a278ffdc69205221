"""Impossible values: absent and named, and nothing else changed."""

from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from exporter.collectors.gpu.parts import SENTINELS as OF_FIELDS
from exporter.collectors.gpu.validation import BOUNDS, drop_implausible
from exporter.collectors.gpu.values import Gpu, GpuProcess, MigInstance

SENTINELS = (2**32 - 1, 2**64 - 1, 2**63 - 1, 1e300)


def label_count(hint: Any) -> int:
    """How many labels a row of a field of this type has; 0 for a field of one number."""
    for rows in get_args(hint):
        for row in get_args(rows)[:1]:
            if get_origin(row) is tuple and get_args(row)[-1] is float:
                return len(get_args(row)) - 1
    return 0


NUMBERS = [item.name for item in fields(Gpu) if item.name in BOUNDS]


HINTS = get_type_hints(Gpu)
LABELS = {name: count for name in HINTS if (count := label_count(HINTS[name])) > 0}


def gpu_with(field: str, value: Any) -> Gpu:
    """A GPU that reports this in one field, by label where the field has labels."""
    count = LABELS.get(field, 0)
    content: Any = ((*["x"] * count, value), (*["y"] * count, 1)) if count else value
    said: dict[str, Any] = {field: content}
    return Gpu(0, "GPU-0", "H100", **said)


@pytest.mark.parametrize("sentinel", SENTINELS)
def test_all_ones_are_no_value(sentinel: float) -> None:
    """Of any width, in any field, alone or among others."""
    for field in NUMBERS:
        gpu, rejected = drop_implausible(gpu_with(field, sentinel))
        lowest, highest = BOUNDS[field]
        is_another_kept = field in LABELS and lowest <= 1 <= highest
        kept = ((*["y"] * LABELS[field], 1),) if is_another_kept else None
        assert (getattr(gpu, field), rejected) == (kept, (field,))


@pytest.mark.parametrize(("field", "value"), OF_FIELDS.items())
def test_what_a_driver_says_for_unknown_is_no_value(field: str, value: float) -> None:
    """Within the bounds, and yet no reading: some fields have a value of their own for that."""
    gpu, rejected = drop_implausible(gpu_with(field, value))
    assert (getattr(gpu, field), rejected) == (None, (field,))
    lowest, highest = BOUNDS[field]
    assert lowest <= value <= highest, "the bounds alone would do"


def test_rows_that_are_all_impossible_are_absent() -> None:
    """No row is left: the field is unknown, not an empty list."""
    gpu = Gpu(0, "GPU-0", "H", clock_hertz=(("sm", 2**32 - 1), ("mem", -1.0)))
    assert drop_implausible(gpu)[0].clock_hertz is None


def test_every_number_has_bounds() -> None:
    """A field that is added has to say which values are plausible."""
    numbers = {
        name
        for name, hint in HINTS.items()
        if label_count(hint) or {int, float} & {hint, *get_args(hint)}
    }
    assert len(numbers) >= 50
    unbounded = numbers - BOUNDS.keys()
    assert unbounded == {"index", "nvlink_up", "throttle_active", "fabric_condition"}


def test_labelled_fields_are_tried_as_rows() -> None:
    """Fields known to have one, two and three labels are found as such, and the others."""
    assert LABELS["clock_hertz"] == 1
    assert LABELS["ecc_errors_total"] == 2
    assert LABELS["ecc_location_errors_total"] == 3
    assert len(LABELS) >= 18
    assert isinstance(gpu_with("ecc_errors_total", 2**32 - 1).ecc_errors_total, tuple)


def test_a_part_is_not_more_than_the_whole() -> None:
    """More memory in use than there is: the use is not believed, the size is."""
    gpu, rejected = drop_implausible(
        Gpu(0, "GPU-0", "H", memory_total_bytes=10, memory_used_bytes=11)
    )
    assert (gpu.memory_total_bytes, gpu.memory_used_bytes) == (10, None)
    assert rejected == ("memory_used_bytes",)


def test_parts_of_a_gpu_are_looked_at_too() -> None:
    """Instances and processes lose what cannot be, not more."""
    gpu, rejected = drop_implausible(
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
    """The very same value, nothing rejected; memory used to the last byte is the worst case."""
    gpu = Gpu(
        0,
        "GPU-0",
        "H100",
        temperature_celsius=40,
        thermal_margin_celsius=-1,
        clock_hertz=(("sm", 1e9),),
        memory_total_bytes=10,
        memory_used_bytes=10,
    )
    assert drop_implausible(gpu) == (gpu, ())
    assert drop_implausible(gpu)[0] is gpu
