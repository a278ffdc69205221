"""GPUs through the whole way: source, probe process, fake library."""

import asyncio
import os

import pytest

from exporter.collectors.gpu.source import GpuSource, build_gpu
from exporter.collectors.gpu.values import GpuProcess, Gpus
from exporter.config import Config, GpuConfig
from exporter.probes.child import Children
from tests.collectors.gpu.nvml_probe.probe_process import probe_environment
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.source_context import source_context

pytestmark = pytest.mark.system

MIB = 1024 * 1024


def build_source(nvml: NvmlLibrary, children: Children) -> GpuSource:
    """The GPU source with NVML only, on a node where the driver is there."""
    ctx = source_context(
        Config(gpu=GpuConfig(backend="nvml", driver_markers=(os.devnull,))),
        driver_children=children,
        child_environment=probe_environment(nvml),
        boottime=asyncio.get_running_loop().time,
    )
    return build_gpu(ctx)


async def first_answer(source: GpuSource) -> Gpus:
    """What the source knows when its first pass has ended."""
    while True:
        gpus = (await source.read()).value
        if gpus.backend.reason != "pending":
            return gpus


async def test_the_basic_pass(nvml: NvmlLibrary) -> None:
    """Eight cards come through the probe with every value of the basic families."""
    nvml.say(capture="h100x8.scenario")
    children = Children()
    source = build_source(nvml, children)
    gpus = await first_answer(source)
    await source.close()
    assert gpus.backend.backend == "nvml"
    assert (gpus.backend.driver_version, gpus.backend.cuda_version) == ("550.90.07", "12.4")
    assert len(gpus.states) == 8
    first = gpus.states[0].gpu
    assert (first.index, first.name) == (0, "NVIDIA H100 80GB HBM3")
    assert first.memory_total_bytes == 81559 * MIB
    assert first.memory_used_bytes == 73012 * MIB
    assert first.memory_free_bytes == (81559 - 73012 - 551) * MIB
    assert (first.utilization_percent, first.temperature_celsius) == (98, 64)
    assert (first.power_draw_watts, first.power_limit_watts) == (668.43, 700)
    assert first.processes == (
        GpuProcess(
            41001,
            "compute",
            used_memory_bytes=76546048000,
            sm_utilization_percent=98,
            memory_utilization_percent=61,
            encoder_utilization_percent=0,
            decoder_utilization_percent=0,
        ),
    )
    assert [state.gpu.is_used for state in gpus.states] == [True, True] + [False] * 6
    assert not children.pids
