"""The real program and trouble with GPUs that needs a whole node to be seen."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.nvml_library import NvmlLibrary
from tests.program import Program, wait_for

CARDS = ("count = 2", "uuid = GPU-{device}", "name = H100", "temperature = 40")
ADDRESS = "0000:3b:00.0"


def settings(folder: Path, **gpu: Any) -> dict[str, dict[str, Any]]:
    """A node with a driver and no nvidia-smi; `gpu` are keys of that section."""
    marker = folder / "driver"
    marker.touch()
    section = {"driver_markers": [str(marker)], "redetect_secs": 0.2, **gpu}
    return {"metrics": {"collect_interval_secs": 0.2}, "gpu": section}


def test_a_library_that_comes_later_and_one_that_is_replaced(
    tmp_path: Path, nvml: NvmlLibrary
) -> None:
    """No library, then one of another version, then the right one: the same program sees all."""
    nvml.say(*CARDS, "init = error 18")
    (folder := tmp_path / "lib").mkdir()
    library = folder / "libnvidia-ml.so.1"
    environment = {**nvml.environment, "LD_LIBRARY_PATH": str(folder)}
    with Program(tmp_path / "run", settings(tmp_path), environment=environment) as program:
        assert "hw_memory_total_bytes" in program.page_with('reason="no_library"').text
        _put(nvml, library)
        page = program.page_with('reason="version_mismatch"').text
        assert "hw_gpu_temperature_celsius" not in page
        _put(nvml, library)
        nvml.say(*CARDS)
        page = program.page_with('backend="nvml",reason="ok"').text
        assert page.count("\nhw_gpu_temperature_celsius{") == 2
        assert program.stop()[0] == 0


def _put(nvml: NvmlLibrary, library: Path) -> None:
    """Put the library there in one step, as an upgrade does."""
    scratch = library.with_suffix(".new")
    shutil.copy(nvml.library_dir / library.name, scratch)
    scratch.replace(library)


def _up(program: Program) -> list[float]:
    page = program.get("/metrics").text
    return [float(up) for up in re.findall(r"^hw_gpu_up\{.*\} (\S+)$", page, re.MULTILINE)]


def _count(program: Program, family: str) -> int:
    return program.get("/metrics").text.count(f"\n{family}{{")


def test_access_that_is_lost_is_no_broken_gpu(tmp_path: Path, nvml: NvmlLibrary) -> None:
    """A container that loses its devices has no GPU values, and no fault of the hardware."""
    nvml.say(*CARDS)
    with Program(tmp_path / "run", settings(tmp_path), environment=nvml.environment) as program:
        program.page_with('backend="nvml",reason="ok"')
        nvml.say(*CARDS, "init = error 999", "any = error 999")
        program.page_with('reason="access_lost"')
        wait_for(lambda: program.collections() > 20, "further judgements")
        critical = [
            fault["rule"]
            for fault in program.get("/faults").document["faults"]
            if fault["severity"] == "critical"
        ]
        assert critical == []


@pytest.mark.parametrize("state", ["suspended", "active"])
def test_a_gpu_that_sleeps_is_said_to_sleep(tmp_path: Path, nvml: NvmlLibrary, state: str) -> None:
    """It is up, suspended, without values and without a fault; its neighbour is read."""
    nvml.say(*CARDS)
    (tmp_path / "sys/devices").mkdir(parents=True)
    devices = tmp_path / "sys/bus/pci/devices"
    for address, said in (("0000:18:00.0", "active"), (ADDRESS, state)):
        (devices / address / "power").mkdir(parents=True)
        (devices / address / "vendor").write_text("0x10de\n")
        (devices / address / "class").write_text("0x030200\n")
        (devices / address / "power/runtime_status").write_text(f"{said}\n")
    changes = {**settings(tmp_path), "sources": {"sys_root": str(tmp_path / "sys")}}
    with Program(tmp_path / "run", changes, environment=nvml.environment) as program:
        page = program.page_with('backend="nvml",reason="ok"').text
        is_asleep = state == "suspended"
        assert _count(program, "hw_gpu_suspended") == is_asleep
        assert page.count("\nhw_gpu_temperature_celsius{") == 2 - is_asleep
        assert _up(program) == [1, 1]
        assert bool(nvml.calls(card="1")) is not is_asleep
        assert program.get("/faults").document["faults"] == []
