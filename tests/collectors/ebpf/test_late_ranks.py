"""Ranks that are late, with what the detectors say of their GPUs."""

from typing import Any

import pytest

from exporter.collectors.ebpf.values import Communicator, TracedCalls
from exporter.collectors.workloads.values import GpuClient, ProcessUse
from tests.collectors.detectors.readings import TRAINER, node, uuid, workload
from tests.collectors.detectors.test_detectors import MINUTE, THROTTLED, after, detecting, of


@pytest.mark.parametrize(
    ("fields", "cause"),
    [({}, "gpu_unlike_siblings"), ({"throttle_active": THROTTLED}, "gpu_thermal_throttle")],
    ids=["nothing else is known", "throttled"],
)
def test_it_explains_a_rank_that_is_late(fields: dict[str, Any], cause: str) -> None:
    """The others wait for the rank on the unlike GPU, where nothing known holds that back."""
    engine, gpus = detecting(), node()
    gpus.clients = (GpuClient(44, (ProcessUse(uuid(3), "compute"),)),)
    gpus.set(3, clock_hertz=(("sm", 1.6e9),), **fields)
    late = Communicator(
        *("c", workload(TRAINER), 8, 8, (44, 45)),
        late="rank 3 (pid 44)",
        late_pid=44,
        late_secs=0.2,
        late_ratio=0.3,
    )
    gpus.traced = TracedCalls(communicators=(late,))
    (fault,) = of(after(engine, gpus, 25 * MINUTE), "nccl_straggler")
    assert fault.causes[-1].rule == cause
