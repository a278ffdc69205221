"""A library that says next to nothing: who the GPUs are, and no more."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from exporter.collectors.gpu.backend import GpuAnswer
from exporter.collectors.gpu.values import Gpu
from exporter.probes.child import Children
from tests.collectors.gpu.backends import nvml_backend
from tests.collectors.gpu.nvml_probe.probe_process import probe_command
from tests.fakes.native import build_nvml
from tests.fakes.nvml_library import NvmlLibrary

pytestmark = pytest.mark.system

CARDS = ("count = 2", "uuid = GPU-{device}", "name = H100")
FAKE = Path(__file__).resolve().parents[2] / "fakes/nvml"
NEEDED = {
    "nvmlInitWithFlags", "nvmlShutdown", "nvmlErrorString", "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetIndex", "nvmlDeviceGetUUID",
    "nvmlDeviceGetName", "nvmlSystemGetDriverVersion",
}  # fmt: skip


def _all_functions() -> set[str]:
    """Every function that the fake library exports."""
    return {
        name
        for source in FAKE.glob("*.c")
        for name in re.findall(r"\b(nvml[A-Z]\w+)\(", source.read_text())
    }


async def _two_passes(nvml: NvmlLibrary, children: Children) -> GpuAnswer:
    way = nvml_backend(children, probe_command(nvml), 20.0)
    await way.ask()
    return await way.ask()


@pytest.mark.parametrize("how", ["not_supported", "no_symbol", "unknown_to_all"])
async def test_a_gpu_is_there_with_its_identity_alone(
    nvml: NvmlLibrary, children: Children, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether calls are not supported, missing or failing: absent with a reason, and no noise."""
    lines: tuple[str, ...] = ()
    if how == "no_symbol":
        nvml.library_dir = build_nvml(missing=sorted(_all_functions() - NEEDED))
    elif how == "unknown_to_all":
        lines = ("temperature = error 1", "power = error 3", "memory_total = error 13")
    nvml.say(*CARDS, *lines)
    answer = await _two_passes(nvml, children)
    assert [(gpu.uuid, gpu.name) for gpu in answer.gpus] == [("GPU-0", "H100"), ("GPU-1", "H100")]
    assert not answer.problems
    said = {
        item.name
        for gpu in answer.gpus
        for item in fields(Gpu)
        if getattr(gpu, item.name) is not None
    }
    known = {"index", "uuid", "name", "vendor", "processes", "mig_enabled", "nvlink_up"}
    assert said <= known | {"inforom_valid"}  # the fake's infoROM is well unless told otherwise
    reasons = {missing.field: missing.reason for missing in answer.missing}
    assert "gpu0.temperature_celsius" in reasons
    assert all(reasons.values())
    assert len(caplog.records) <= len(reasons)
