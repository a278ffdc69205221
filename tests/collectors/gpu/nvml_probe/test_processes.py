"""What the probe says of processes on a GPU."""

from types import SimpleNamespace
from typing import Any

import pytest

from exporter.collectors.gpu.nvml_probe.nvml import NVML_ERROR_NOT_FOUND, NVMLError
from exporter.collectors.gpu.nvml_probe.processes import GpuProcessReader
from tests.collectors.gpu.nvml_probe.probe_process import ProbeProcess, read_gpus
from tests.fakes.native import build_nvml
from tests.fakes.nvml_library import NvmlLibrary

pytestmark = pytest.mark.system

CARD = ("count = 1", "uuid = GPU-0")
NO_OTHERS = ("graphics_processes =", "mps_processes =")
MIB = 1024 * 1024


def _listed(gpu: dict[str, Any]) -> list[tuple[int, str, int | None]]:
    return [(p["pid"], p["kind"], p["used_memory_bytes"]) for p in gpu["processes"]]


def test_processes_of_all_three_lists(nvml: NvmlLibrary) -> None:
    """Compute, graphics and MPS processes are there once each; unknown memory stays unknown."""
    nvml.say(
        *CARD,
        "compute_processes = 100:2097152 101:na 103:4096",
        "graphics_processes = 101:1048576 102:3145728",
        "mps_processes = 103:4096",
    )
    (gpu,) = read_gpus(nvml)
    assert _listed(gpu) == [
        (103, "mps", 4096),
        (100, "compute", 2 * MIB),
        (101, "compute", MIB),
        (102, "graphics", 3 * MIB),
    ]


def test_no_process_is_not_the_same_as_unknown(nvml: NvmlLibrary) -> None:
    """An empty list is said as an empty list; a list that cannot be had has a reason."""
    nvml.say(*CARD, "compute_processes =", *NO_OTHERS)
    assert read_gpus(nvml)[0]["processes"] == []
    nvml.say(*CARD, "compute_processes = error 4")
    (gpu,) = read_gpus(nvml)
    assert "processes" not in gpu
    assert gpu["missing"]["processes"] == "no_permission"


def test_a_driver_without_the_graphics_and_mps_lists(nvml: NvmlLibrary) -> None:
    """Lists that are not supported cost nothing but themselves."""
    nvml.say(*CARD, "compute_processes = 100:4096")
    assert _listed(read_gpus(nvml)[0]) == [(100, "compute", 4096)]


@pytest.mark.parametrize("versions", [("_v3",), ("_v3", "_v2")])
def test_the_lists_of_older_drivers(nvml: NvmlLibrary, versions: tuple[str, ...]) -> None:
    """Drivers before 510 lack the third version, those before 450 also the second."""
    kinds = ("Compute", "Graphics", "MPSCompute")
    nvml.library_dir = build_nvml(
        missing=[f"nvmlDeviceGet{kind}RunningProcesses{v}" for kind in kinds for v in versions]
    )
    nvml.say(*CARD, "compute_processes = 100:4096 101:na", *NO_OTHERS)
    (gpu,) = read_gpus(nvml)
    assert _listed(gpu) == [(100, "compute", 4096), (101, "compute", None)]
    assert {p["gpu_instance"] for p in gpu["processes"]} == {None}


def test_mig_instances_keep_their_ids(nvml: NvmlLibrary) -> None:
    """The same pid in two instances is two processes; without MIG there are no ids."""
    nvml.say(*CARD, "compute_processes = 7:1024:1:0 7:2048:2:0 8:512", *NO_OTHERS)
    found = read_gpus(nvml)[0]["processes"]
    assert [(p["pid"], p["gpu_instance"], p["compute_instance"]) for p in found] == [
        (7, 1, 0),
        (7, 2, 0),
        (8, None, None),
    ]


@pytest.mark.parametrize("pid", [0, 4294967295])
def test_a_struct_of_another_driver_names_nobody(nvml: NvmlLibrary, pid: int) -> None:
    """One impossible process id makes the whole list unbelievable."""
    nvml.say(*CARD, f"compute_processes = 100:4096 {pid}:4096", *NO_OTHERS)
    (gpu,) = read_gpus(nvml)
    assert "processes" not in gpu
    assert gpu["missing"]["processes"] == "garbage"


def test_utilization_by_the_drivers_own_time(nvml: NvmlLibrary) -> None:
    """Each pass asks for what is newer than the newest sample before; who did nothing is at 0."""
    nvml.say(
        *CARD,
        "compute_processes = 100:4096 101:4096",
        *NO_OTHERS,
        "process_utilization = 100:40:10:1:2:0:0:1000 100:50:20:3:4:0:0:2000",
    )
    probe = ProbeProcess(nvml)
    busy, idle = probe.ask()["gpus"][0]["processes"]
    assert busy["sm_utilization_percent"] == 50
    assert busy["memory_utilization_percent"] == 20
    assert busy["encoder_utilization_percent"] == 3
    assert busy["decoder_utilization_percent"] == 4
    assert "sm_utilization_percent" not in idle
    second = probe.ask()["gpus"][0]["processes"]
    assert [p["sm_utilization_percent"] for p in second] == [0, 0]
    probe.end()


def test_a_stamp_from_the_future_does_not_silence_the_driver(nvml: NvmlLibrary) -> None:
    """The clock was set back, or the sample is garbage: who works now is not taken for idle."""
    nvml.say(
        *CARD,
        "compute_processes = 100:4096 101:4096",
        *NO_OTHERS,
        "process_utilization = 100:40:0:0:0 7:5:5:5:5:0:0:18446744073709551615",
    )
    probe = ProbeProcess(nvml)
    for _ in range(3):
        busy, idle = probe.ask()["gpus"][0]["processes"]
        assert busy["sm_utilization_percent"] == 40
    assert idle["sm_utilization_percent"] == 0
    probe.end()


class _Card:
    """A card with one process that works all the time; the driver stamps with `now`, in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def ask_newest(self, names: tuple[str, ...]) -> list[Any]:
        """List the process."""
        if "Compute" not in names[0] or "MPS" in names[0]:
            return []
        process = SimpleNamespace(
            pid=100, usedGpuMemory=4096, gpuInstanceId=None, computeInstanceId=None
        )
        return [process]

    def ask(self, _name: str, since: int) -> list[Any]:
        """Give the sample of now, unless the caller has seen a newer one."""
        stamp = int(self.now * 1_000_000)
        if stamp <= since:
            raise NVMLError(NVML_ERROR_NOT_FOUND)
        shares = dict.fromkeys(("smUtil", "memUtil", "encUtil", "decUtil"), 40)
        return [SimpleNamespace(pid=100, timeStamp=stamp, **shares)]


def test_who_works_is_not_idle_when_the_clock_is_set_back() -> None:
    """Stamps seen before lie in the future then, and the driver has nothing newer for long."""
    card: Any = _Card()
    reader = GpuProcessReader(lambda: card.now)
    for moment in (1000.0, 1001.0, 400.0, 401.0):
        card.now = moment
        assert reader.read(card)[0]["sm_utilization_percent"] == 40


def test_utilization_that_is_not_supported_is_unknown(nvml: NvmlLibrary) -> None:
    """On MIG and old cards the driver does not say it: no zero is invented."""
    nvml.say(*CARD, "compute_processes = 100:4096", *NO_OTHERS)
    process = read_gpus(nvml, passes=2)[0]["processes"][0]
    assert "sm_utilization_percent" not in process
