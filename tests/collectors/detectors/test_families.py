"""What the detectors found, on the page."""

from dataclasses import replace
from types import MappingProxyType

from exporter.collectors.detectors.families import FAMILIES
from exporter.collectors.detectors.values import (
    AnomalyModel,
    GpuAnomaly,
    SiblingDeviation,
    SlowCalls,
    Unusual,
)
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.workloads.values import Workload
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions

GPUS = Gpus(
    GpuBackend("nvml", "ok"),
    (GpuState(Gpu(0, "GPU-a", "H100"), 5.0), GpuState(Gpu(1, "GPU-b", "H100"), 1.0, stale=True)),
)
FOUND = Unusual(
    tuple(
        SiblingDeviation(uuid, (("sm_clock", -7.12), ("power", 0.0)), is_synchronous=True)
        for uuid in ("GPU-a", "GPU-b", "GPU-gone")
    ),
    (GpuAnomaly("GPU-a", 12.3456, is_change=None),),
    (AnomalyModel("H100", is_ready=True), AnomalyModel("A100", is_ready=False)),
    (SlowCalls("nccl", "ncclAllReduce", Workload("ml", "trainer", "main"), 0.12345),),
)
SNAPSHOT = Snapshot(
    "n1", 1, 1e9, 5.0, 0.1, MappingProxyType({Gpus: GPUS}), conclusions=Conclusions(detected=FOUND)
)


def page(snapshot: Snapshot) -> list[str]:
    """The samples of a page."""
    text = render(FAMILIES, snapshot, Format.TEXT).body.decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_what_was_found_of_gpus_that_were_read() -> None:
    """Nothing is said of a GPU served from the cache or gone; a model that learns is zero."""
    gpu = 'node="n1",gpu_index="0",gpu_name="H100",gpu_uuid="GPU-a"'
    call = 'layer="nccl",call="ncclAllReduce",namespace="ml",pod="trainer",container="main"'
    assert page(SNAPSHOT) == [
        f'hw_gpu_sibling_deviation{{{gpu},signal="sm_clock"}} -7.12',
        f'hw_gpu_sibling_deviation{{{gpu},signal="power"}} 0',
        f"hw_gpu_anomaly_score{{{gpu}}} 12.35",
        'hw_gpu_anomaly_model_ready{node="n1",gpu_name="H100"} 1',
        'hw_gpu_anomaly_model_ready{node="n1",gpu_name="A100"} 0',
        f'hw_call_slow_ratio{{node="n1",{call}}} 0.1235',
    ]


def test_nothing_is_on_the_page_where_the_detectors_are_off() -> None:
    """Neither of a node without conclusions nor of one whose detectors are off."""
    assert page(replace(SNAPSHOT, conclusions=Conclusions())) == []
    assert page(replace(SNAPSHOT, conclusions=None)) == []
