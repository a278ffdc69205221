"""Ranks that are late, with what the detectors say of their GPUs."""

from dataclasses import replace
from typing import Any

import pytest

from exporter.collectors.ebpf.values import TracedCalls
from exporter.collectors.workloads.values import GpuClient, ProcessUse
from tests.collectors.ebpf.test_late_rank_adapters import LATE

WITHOUT = "the room of the detectors is not here"
gpus_of = pytest.importorskip("tests.collectors.detectors.readings", reason=WITHOUT)
rules_of = pytest.importorskip("tests.collectors.detectors.test_detectors", reason=WITHOUT)


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({}, "gpu_unlike_siblings"),
        ({"throttle_active": rules_of.THROTTLED}, "gpu_thermal_throttle"),
    ],
    ids=["nothing else is known", "throttled"],
)
def test_it_explains_a_rank_that_is_late(fields: dict[str, Any], cause: str) -> None:
    """The others wait for the rank on the unlike GPU, where nothing known holds that back."""
    engine, gpus = rules_of.detecting(), gpus_of.node()
    gpus.clients = (GpuClient(44, (ProcessUse(gpus_of.uuid(3), "compute"),)),)
    gpus.set(3, clock_hertz=(("sm", 1.6e9),), **fields)
    late = replace(LATE, workload=gpus_of.workload(gpus_of.TRAINER))
    gpus.traced = TracedCalls(communicators=(late,))
    (fault,) = rules_of.of(rules_of.after(engine, gpus, 25 * rules_of.MINUTE), "nccl_straggler")
    assert fault.causes[-1].rule == cause
