"""What the tools of other vendors printed on real machines, against what we read."""

import json
from pathlib import Path

import pytest

from exporter.collectors.gpu.values import Gpu
from exporter.collectors.vendors.npu_smi_output import MIB, parse_info
from tests.collectors.vendors.vendor_node import look
from tests.fakes.amd_cards import AmdNode
from tests.fakes.npu_smi import A3, tables

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
ROCM_SMI: dict[str, dict[str, str]] = json.loads(
    (CAPTURES / "amd/mi100x4_rocm_6.0.json").read_text("utf-8")
)
CARDS = [name for name in ROCM_SMI if name.startswith("card")]


def _number(card: dict[str, str], key: str) -> int:
    """The whole number in a text as `53.0` or `(300Mhz)`."""
    return round(float(card[key].strip("()").removesuffix("Mhz")))


def sysfs_of(card: dict[str, str]) -> dict[str, str | None]:
    """The files of amdgpu with the values that rocm-smi printed of a card."""
    speed, width = card["pcie clock level"].removeprefix("0 (").removesuffix(")").split("GT/s x")
    watts = _number(card, "Average Graphics Package Power (W)")
    limit = _number(card, "Max Graphics Package Power (W)")
    said = {
        "device": card["Device ID"],
        "unique_id": f"{int(card['Unique ID'], 16):016x}",
        "vbios_version": card["VBIOS version"],
        "product_name": card["Card series"],
        "product_number": card["Card SKU"],
        "numa_node": card["(Topology) Numa Node"],
        "gpu_busy_percent": card["GPU use (%)"],
        "mem_info_vram_total": card["VRAM Total Memory (B)"],
        "mem_info_vram_used": card["VRAM Total Used Memory (B)"],
        "mem_info_vis_vram_total": card["VIS_VRAM Total Memory (B)"],
        "mem_info_vis_vram_used": card["VIS_VRAM Total Used Memory (B)"],
        "current_link_speed": f"{speed} GT/s PCIe",
        "current_link_width": width,
        "pcie_replay_count": card["PCIe Replay Count"],
        "hwmon/hwmon7/power1_average": f"{watts}000000",
        "hwmon/hwmon7/power1_cap": f"{limit}000000",
        "hwmon/hwmon7/temp1_input": f"{_number(card, 'Temperature (Sensor edge) (C)')}000",
        "hwmon/hwmon7/temp2_input": f"{_number(card, 'Temperature (Sensor junction) (C)')}000",
        "hwmon/hwmon7/temp3_input": f"{_number(card, 'Temperature (Sensor memory) (C)')}000",
        "hwmon/hwmon7/freq1_input": f"{_number(card, 'sclk clock speed:')}000000",
        "hwmon/hwmon7/freq2_input": f"{_number(card, 'mclk clock speed:')}000000",
    }
    absent = {"serial_number": None, "mem_busy_percent": None}
    return {**{name: f"{text}\n" for name, text in said.items()}, **absent}


@pytest.fixture
def gpus(tmp_path: Path) -> list[Gpu]:
    """What we read of the four cards."""
    node = AmdNode(tmp_path / "sys")
    for name in CARDS:
        node.card(ROCM_SMI[name]["PCI Bus"].lower(), sysfs_of(ROCM_SMI[name]))
    return [state.gpu for state in look(node.sys).states]


def test_four_mi100_are_what_rocm_smi_printed(gpus: list[Gpu]) -> None:
    """In the order of the tool, each value in base units, `N/A` as nothing."""
    assert [gpu.temperature_celsius for gpu in gpus] == [53, 55, 54, 51]
    assert [gpu.memory_temperature_celsius for gpu in gpus] == [53, 54, 55, 50]
    assert [gpu.power_draw_watts for gpu in gpus] == [36, 44, 43, 39]
    assert [gpu.pci_bus_id for gpu in gpus] == [
        f"0000:{bus}:00.0" for bus in ("83", "a3", "c3", "e3")
    ]
    for gpu, name in zip(gpus, CARDS, strict=True):
        card = ROCM_SMI[name]
        assert gpu.name == "Arcturus GL-XL [Instinct MI100]"
        assert int(gpu.uuid.removeprefix("GPU-"), 16) == int(card["Unique ID"], 16)
        assert gpu.memory_used_bytes == _number(card, "VRAM Total Used Memory (B)")
        assert gpu.power_limit_watts == 290
        assert dict(gpu.clock_hertz or ()) == {"graphics": 300e6, "memory": 1200e6}
        assert (gpu.pcie_link_generation, gpu.pcie_link_width, gpu.numa_node) == (4, 16, 1)
        assert (gpu.utilization_percent, gpu.memory_controller_utilization_percent) == (0, None)
        assert gpu.serial is None


def test_an_atlas_a3_is_what_npu_smi_printed() -> None:
    """Two chips of one card, of which one measures the power of both."""
    text = (CAPTURES / "ascend/a3_24.1.txt").read_text("utf-8")
    chips = parse_info(text)
    assert chips.version == "24.1.rc3.7"
    first, second = chips.gpus
    assert [gpu.pci_bus_id for gpu in chips.gpus] == ["0000:9d:00.0", "0000:9f:00.0"]
    assert (first.power_draw_watts, second.power_draw_watts) == (178.8, None)
    assert [gpu.memory_used_bytes for gpu in chips.gpus] == [3397 * MIB, 3186 * MIB]
    assert first.processes is None, "the recording ends before the table of processes"


def test_the_fake_npu_smi_prints_as_the_real_one() -> None:
    """Line for line, apart from its version."""
    real = (CAPTURES / "ascend/a3_24.1.txt").read_text("utf-8").splitlines()
    fake = tables(A3).splitlines()[: len(real)]
    different = [line for line, other in zip(real, fake, strict=True) if line != other]
    assert different == [real[1]]
