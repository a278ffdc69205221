"""GPUs that sleep: they are seen, and nothing is asked of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.gpu.nvml_probe.runtime_pm import PowerStates
from tests.collectors.gpu.nvml_probe.probe_process import ProbeProcess
from tests.fakes.nvml_library import NvmlLibrary

pytestmark = pytest.mark.system

CARDS = ("count = 2", "uuid = GPU-{device}", "name = H100", "temperature = 40")
ADDRESSES = ("0000:18:00.0", "0000:3b:00.0")


class Bus:
    """The PCI devices of a node: a network card and two GPUs."""

    def __init__(self, sys_root: Path) -> None:
        self.sys_root = sys_root
        self._device("0000:01:00.0", "0x15b3", "0x020000")
        for address in ADDRESSES:
            self._device(address, "0x10de", "0x030200")
            self.says(address, "active")

    def says(self, address: str, state: str) -> None:
        """The kernel gives this device this power state."""
        (self._folder(address) / "power/runtime_status").write_text(f"{state}\n")

    def has_share(self, address: str) -> None:
        """The first GPU is that of a vGPU host, with a virtual function at this address."""
        self._device(address, "0x10de", "0x030200")
        (self._folder(address) / "physfn").symlink_to(f"../{ADDRESSES[0]}")

    def _device(self, address: str, vendor: str, code: str) -> None:
        folder = self._folder(address)
        (folder / "power").mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "class").write_text(f"{code}\n")

    def _folder(self, address: str) -> Path:
        return self.sys_root / "bus/pci/devices" / address


@pytest.fixture
def bus(tmp_path: Path) -> Bus:
    """Both GPUs are awake."""
    return Bus(tmp_path / "sys")


@pytest.fixture
def probe(nvml: NvmlLibrary, bus: Bus) -> Iterator[ProbeProcess]:
    """A probe on this node."""
    nvml.say(*CARDS)
    started = ProbeProcess(nvml, f"--sys-root={bus.sys_root}")
    yield started
    started.end()


def _said(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(gpu["index"], gpu.get("uuid"), gpu.get("problem")) for gpu in answer["gpus"]]


def test_a_gpu_that_sleeps_from_the_start_is_left_asleep(
    nvml: NvmlLibrary, bus: Bus, probe: ProbeProcess
) -> None:
    """No call of the library is about it, in any pass; when it is awake it is read."""
    bus.says(ADDRESSES[1], "suspended")
    for _ in range(3):
        answer = probe.ask()
        assert _said(answer) == [(0, "GPU-0", None), (1, None, "suspended")]
        assert answer["gpus"][1]["pci_bus_id"] == ADDRESSES[1]
        assert not answer["is_partial"]
    assert not nvml.calls(card="1")
    bus.says(ADDRESSES[1], "active")
    assert _said(probe.ask()) == [(0, "GPU-0", None), (1, "GPU-1", None)]


def test_a_gpu_that_falls_asleep_is_not_woken(
    nvml: NvmlLibrary, bus: Bus, probe: ProbeProcess
) -> None:
    """From then on nothing is asked of it, and of the others as much as ever."""
    for _ in range(2):  # events are asked for behind the first answer
        probe.ask()
    bus.says(ADDRESSES[0], "suspended")
    of_one = len(nvml.calls(card="0"))
    of_other = len(nvml.calls(card="1"))
    for _ in range(3):
        assert _said(probe.ask()) == [(1, "GPU-1", None), (0, None, "suspended")]
    assert len(nvml.calls(card="0")) == of_one
    assert len(nvml.calls(card="1")) > of_other
    bus.says(ADDRESSES[0], "active")
    assert _said(probe.ask()) == [(0, "GPU-0", None), (1, "GPU-1", None)]


def test_where_some_are_hidden_nobody_is_taken_for_asleep(bus: Bus) -> None:
    """The n-th of the library is the n-th of the kernel only where both count as many.

    Neither counts a virtual function.
    """
    bus.says(ADDRESSES[0], "suspended")
    bus.has_share("0000:18:00.4")
    power = PowerStates(bus.sys_root)
    power.look()
    assert power.asleep(2) == {0: ADDRESSES[0]}
    assert power.asleep(1) == {}


def test_without_a_bus_nothing_sleeps(tmp_path: Path) -> None:
    """Neither a missing folder nor a missing file is a GPU that sleeps."""
    power = PowerStates(tmp_path)
    power.look()
    assert power.asleep(0) == {}
    assert power.asleep(8) == {}
