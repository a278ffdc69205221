"""A real GPU, where there is one: what we say agrees with nvidia-smi of the same moment."""

import os
import shutil
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from exporter.collectors.gpu.backend import GpuAnswer
from exporter.collectors.gpu.nvml import NvmlBackend
from exporter.collectors.gpu.values import Gpu
from exporter.collectors.kernel_log.kmsg import READ_BYTES
from exporter.collectors.kernel_log.pipeline import FRAGMENT
from exporter.collectors.kernel_log.record import parse_kmsg
from exporter.identity import child_environment
from exporter.probes.child import Children, Command
from tests.collectors.gpu.backends import nvml_backend, smi_backend
from tests.collectors.kernel_log.feeding import pipeline

MARKERS = ("/proc/driver/nvidia/version", "/dev/dxg")
MIB = 2**20
SAME = (
    "name",
    "pci_bus_id",
    "serial",
    "architecture",
    "board_part_number",
    "minor_number",
    "vbios_version",
    "power_limit_watts",
    "pcie_link_generation_max",
    "pcie_link_width_max",
    "mig_enabled",
    "ecc_enabled",
    "persistence_mode",
    "compute_mode",
    "gsp_enabled",
    "remapped_rows_total",
    "row_remap_pending",
    "recovery_action",
    "fabric_state",
)
"""What does not change between two readings."""

NEAR = {
    "temperature_celsius": 8,
    "memory_temperature_celsius": 8,
    "memory_total_bytes": 2 * MIB,
    "memory_reserved_bytes": 64 * MIB,
    "power_limit_watts": 0.01,
}
"""What may have moved a little."""

NOT_ASKED = {
    "ecc_location_errors_total",
    "health",
    "nvlink_link_errors_total",
    "pcie_receive_bytes_per_second",
    "pcie_transmit_bytes_per_second",
    "thermal_margin_threshold_celsius",
    "unprinted",
    "vendor",
}
"""What is off by default, or is not read with NVML."""


@pytest.fixture(autouse=True)
def driver() -> None:
    """Skips where no NVIDIA driver is loaded."""
    if not any(Path(marker).exists() for marker in MARKERS):
        pytest.skip("no NVIDIA driver is loaded on this machine")


@pytest.fixture
def nvml(children: Children) -> NvmlBackend:
    """The NVML probe over the library of this machine."""
    argv = (sys.executable, "-S", "-m", "exporter.collectors.gpu.nvml_probe")
    command = Command(argv, child_environment(os.environ), with_input=True)
    return nvml_backend(children, command, 30)


async def _by_smi(children: Children) -> GpuAnswer:
    path = shutil.which("nvidia-smi")
    if path is None:
        pytest.skip("nvidia-smi is not installed on this machine")
    return await smi_backend(children, Path(path), 30).ask()


async def test_identity_modes_and_limits_agree(nvml: NvmlBackend, children: Children) -> None:
    """The same GPUs, and the same of everything that stands still."""
    ours, theirs = await nvml.ask(), await _by_smi(children)
    assert ours.driver_version == theirs.driver_version
    assert [gpu.uuid for gpu in ours.gpus] == [gpu.uuid for gpu in theirs.gpus]
    for one, other in zip(ours.gpus, theirs.gpus, strict=True):
        for field in SAME:
            if getattr(other, field) is not None:
                assert getattr(one, field) == getattr(other, field), field


async def test_what_moves_is_near(nvml: NvmlBackend, children: Children) -> None:
    """Temperatures and sizes are those nvidia-smi shows, but for the moment between."""
    ours, theirs = await nvml.ask(), await _by_smi(children)
    for one, other in zip(ours.gpus, theirs.gpus, strict=True):
        for field, allowed in NEAR.items():
            if getattr(other, field) is not None:
                assert abs(getattr(one, field) - getattr(other, field)) <= allowed, field


async def test_nothing_is_rejected_and_every_absence_has_a_reason(nvml: NvmlBackend) -> None:
    """Bounds fit the hardware of this machine; a field is said, or it is said why not."""
    await nvml.ask()
    answer = await nvml.ask()
    assert answer.gpus
    assert not answer.rejected
    reasons = {missing.field for missing in answer.missing}
    unknown = {
        f"gpu{gpu.index}.{item.name}"
        for gpu in answer.gpus
        for item in fields(Gpu)
        if getattr(gpu, item.name) is None and item.name not in NOT_ASKED
    }
    assert not unknown - reasons


def test_lines_of_the_driver_are_believed() -> None:
    """None of those that the kernel log holds is taken for the rest of another message."""
    taker = pipeline()
    device = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            record = parse_kmsg(os.read(device, READ_BYTES))
            assert record is not None
            taker.take(record)
    except BlockingIOError:
        taker.settle()
    finally:
        os.close(device)
    assert FRAGMENT not in taker.counters.rejected
    assert taker.counters.kinds["driver_loaded"] or taker.counters.lost


async def test_a_probe_that_has_ended_holds_no_device(
    nvml: NvmlBackend, children: Children
) -> None:
    """Let go of, a driver can be unloaded as far as we are concerned."""
    await nvml.ask()
    (pid,) = children.pids
    assert any("/dev/nvidia" in name or "/dev/dxg" in name for name in _open_files(pid))
    await nvml.close()
    assert not children.pids


def _open_files(pid: int) -> list[str]:
    return [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
