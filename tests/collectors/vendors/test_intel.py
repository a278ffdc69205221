"""Intel cards in sysfs, by xe and by i915."""

from pathlib import Path

import pytest

from exporter.collectors.gpu.values import Gpu
from tests.collectors.vendors.vendor_node import look, only
from tests.fakes.amd_cards import AmdNode
from tests.fakes.intel_cards import I915_CARD, XE_CARD, IntelNode

CARD, BUILT_IN = "0000:03:00.0", "0000:00:02.0"


@pytest.fixture
def node(tmp_path: Path) -> IntelNode:
    """A node without a card yet."""
    return IntelNode(tmp_path / "sys")


def said(gpu: Gpu, *names: str) -> list[object]:
    """These fields of the GPU."""
    return [getattr(gpu, name) for name in names]


def test_a_card_of_xe_says_what_its_files_say(node: IntelNode) -> None:
    """Heat, limits, energy, clocks and throttling are in base units under the known names."""
    node.card("xe", CARD, XE_CARD)
    gpus = look(node.sys)
    gpu = only(gpus).gpu
    assert [(each.backend, each.reason) for each in gpus.backends] == [("xe", "ok")]
    assert said(gpu, "uuid", "name", "vendor", "index", "numa_node") == [
        *(f"PCI-{CARD}", "Intel GPU 0xe20b", "intel", 0, None),
    ]
    assert said(gpu, "temperature_celsius", "memory_temperature_celsius") == [61, 64]
    assert gpu.thermal_margin_celsius == 44
    assert gpu.temperature_threshold_celsius == (("shutdown", 110), ("slowdown", 105))
    assert said(gpu, "power_limit_watts", "energy_joules_total") == [190, 123456]
    assert gpu.power_limit_range_watts == (("default", 200),)
    assert gpu.clock_hertz == (("graphics", 1850e6),)
    assert gpu.clock_max_hertz == (("graphics", 2850e6),)
    assert gpu.throttle_active == (
        ("sw_power_cap", 1),
        ("sw_thermal_slowdown", 0),
        ("hw_thermal_slowdown", 0),
    )
    assert said(gpu, "pcie_link_generation", "pcie_link_width") == [5, 16]
    assert said(gpu, "memory_total_bytes", "utilization_percent", "power_draw_watts") == [None] * 3


def test_a_card_of_i915_says_what_its_files_say(node: IntelNode) -> None:
    """The sensors are those of the card, not of a part of it; a limit of 0 is none."""
    node.card("i915", CARD, I915_CARD)
    gpu = only(look(node.sys)).gpu
    assert said(gpu, "power_limit_watts", "energy_joules_total", "numa_node") == [None, 77, 1]
    assert gpu.clock_hertz == (("graphics", 1100e6),)
    assert gpu.throttle_active == (
        ("sw_power_cap", 0),
        ("sw_thermal_slowdown", 1),
        ("hw_thermal_slowdown", 0),
    )


def test_tiles_are_one_card(node: IntelNode) -> None:
    """Memory is summed, the highest clock is shown, and one tile that throttles is enough."""
    second = {
        "tile1/gt2/freq0/act_freq": "2100\n",
        "tile1/gt2/freq0/throttle/reason_thermal": "1\n",
        "tile0/physical_vram_size_bytes": f"{64 << 30}\n",
        "tile1/physical_vram_size_bytes": f"{64 << 30}\n",
    }
    node.card("xe", CARD, {**XE_CARD, **second})
    gpu = only(look(node.sys)).gpu
    assert gpu.memory_total_bytes == 128 << 30
    assert gpu.clock_hertz == (("graphics", 2100e6),)
    assert dict(gpu.throttle_active or ())["sw_thermal_slowdown"] == 1


def test_graphics_of_a_processor_are_no_gpu(node: IntelNode) -> None:
    """A node that has nothing else looks as one without GPUs."""
    node.card("i915", BUILT_IN, I915_CARD)
    gpus = look(node.sys)
    assert (gpus.states, gpus.others) == ((), ())


def test_a_virtual_function_is_no_gpu(node: IntelNode) -> None:
    """The driver may bind shares of a card on the host; their vendor reads as all ones there."""
    node.card("xe", CARD, XE_CARD)
    share = node.sys / "bus/pci/devices/0000:03:00.1"
    node.card("xe", share.name, {"vendor": "0x8086\n", "class": "0x030000\n"})
    (share / "config").write_bytes(b"\xff\xff\xff\xff\x06\x00\x10\x00")
    (share / "physfn").symlink_to(f"../{CARD}")
    assert only(look(node.sys)).gpu.pci_bus_id == CARD


def test_a_card_that_is_gone_is_missed(node: IntelNode) -> None:
    """While the driver is there a card that had been bound is not forgotten."""
    node.card("xe", CARD, XE_CARD)
    gone = only(look(node.sys, (node.sys / "bus/pci/drivers/xe" / CARD).unlink))
    assert (gone.up, gone.reason) == (False, "not_listed")


def test_three_drivers_beside_each_other(node: IntelNode) -> None:
    """Cards of AMD come first, those of both drivers of Intel by address."""
    AmdNode(node.sys).card("0000:83:00.0")
    node.card("i915", "0000:43:00.0", I915_CARD)
    node.card("xe", CARD, XE_CARD)
    gpus = look(node.sys)
    assert [(state.gpu.index, state.gpu.vendor) for state in gpus.states] == [
        *((0, "amd"), (1, "intel"), (2, "intel")),
    ]
    assert [each.backend for each in gpus.backends] == ["amdgpu", "xe", "i915"]


@pytest.mark.parametrize("name", [name for name in XE_CARD if name != "vendor"])
def test_a_file_that_is_not_there_costs_what_it_says(node: IntelNode, name: str) -> None:
    """Whatever is missing, the card is there, and nothing is made up."""
    node.card("xe", CARD, XE_CARD)
    whole = only(look(node.sys)).gpu
    (node.sys / "bus/pci/devices" / CARD / name).unlink()
    state = only(look(node.sys))
    assert state.up
    for field in ("temperature_celsius", "energy_joules_total", "power_limit_watts"):
        assert getattr(state.gpu, field) in (None, getattr(whole, field))
