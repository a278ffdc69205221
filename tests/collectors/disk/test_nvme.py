"""NVMe controllers: their state, and what they say of their own health."""

import errno
from pathlib import Path

import pytest

from exporter.collectors.disk.nvme import (
    COMMAND,
    NvmeHealthReader,
    NvmeReader,
    parse_health_log,
    read_health_log,
)
from exporter.collectors.disk.values import NvmeController, NvmeHealth
from exporter.reading.source import SourceFailed
from tests.collectors.small_node import SmallNode
from tests.fakes.fuse import StuckFiles
from tests.fakes.host_tree import cpu_node


def log(**changes: int) -> bytes:
    """A health log: a healthy disk of 35 °C, but for these bytes."""
    raw = bytearray(512)
    raw[1:3] = (308).to_bytes(2, "little")
    raw[3], raw[4], raw[5] = 100, 10, 3
    raw[144:160] = (12).to_bytes(16, "little")
    raw[160:176] = (2).to_bytes(16, "little")
    for name, value in changes.items():
        raw[int(name.removeprefix("byte"))] = value
    return bytes(raw)


def test_a_controller_says_its_state_and_place(tmp_path: Path) -> None:
    """So that a fault of the bus can be joined with the disk."""
    assert NvmeReader(cpu_node(tmp_path).sys).read().value.controllers == (
        NvmeController("nvme0", "live", "0000:06:00.0"),
    )


def test_the_health_log_is_in_base_units() -> None:
    """Kelvin become degrees Celsius, percent become shares."""
    assert parse_health_log("nvme0", log()) == NvmeHealth(
        device="nvme0",
        critical_warning=0,
        temperature_celsius=35.0,
        available_spare_ratio=1.0,
        available_spare_threshold_ratio=0.1,
        percentage_used_ratio=0.03,
        unsafe_shutdowns=12,
        media_errors=2,
    )


def test_impossible_values_of_a_log_are_not_said() -> None:
    """More than all spare blocks, and a temperature of zero kelvin; wear may exceed its promise."""
    health = parse_health_log("nvme0", log(byte1=0, byte2=0, byte3=255, byte5=255))
    assert (health.temperature_celsius, health.available_spare_ratio) == (None, None)
    assert health.percentage_used_ratio == 2.55


@pytest.mark.parametrize("raw", [b"", bytes(511), bytes(512)])
def test_a_short_or_empty_log_is_refused(raw: bytes) -> None:
    """Simulated disks answer all zeros: that is not a disk without spare blocks."""
    with pytest.raises(SourceFailed):
        parse_health_log("nvme0", raw)


def test_a_disk_that_refuses_costs_itself(node: SmallNode) -> None:
    """The others say their health; the reason is kept."""
    for name in ("nvme0", "nvme1"):
        node.write(f"sys/class/nvme/{name}/state", "live\n")

    def ask(device: Path) -> bytes:
        if device.name == "nvme0":
            raise OSError(errno.EACCES, "Permission denied")
        assert device == node.root / "root/dev/nvme1"
        return log()

    reading = NvmeHealthReader(node.sys, node.root / "root", ask).read()
    assert [health.device for health in reading.value.controllers] == ["nvme1"]
    assert reading.missing[0].reason == "Permission denied"


@pytest.mark.system
def test_the_kernel_takes_the_command(stuck_files: StuckFiles) -> None:
    """A disk of the kernel's interface writes its page where the command says."""
    assert read_health_log(stuck_files.disk("nvme0", log())) == log()


def test_without_the_right_it_is_a_failure_with_its_reason(node: SmallNode) -> None:
    """Somebody switched it on: that nothing comes of it must show."""
    node.write("sys/class/nvme/nvme0/state", "live\n")
    with pytest.raises(SourceFailed, match="no disk says its health"):
        NvmeHealthReader(node.sys, node.root / "root").read()


def test_the_command_is_as_long_as_the_kernels() -> None:
    """The number of the ioctl holds the length of its structure: 72 bytes."""
    assert COMMAND.size == 72
