"""Every value of a GPU, from the library's call to the field of the model."""

from dataclasses import fields
from typing import Any

import pytest

from exporter.collectors.gpu.values import Gpu
from exporter.decode import decode
from tests.collectors.gpu.nvml_probe.probe_process import ProbeProcess, read_gpus
from tests.fakes.nvml_library import NvmlLibrary

pytestmark = pytest.mark.system

CARD = ("count = 1", "uuid = GPU-0", "name = H100")
GIB = 2**30

BANKS = """remap_banks.max = 5
remap_banks.high = 4
remap_banks.partial = 3
remap_banks.low = 2
remap_banks.none = 1"""

SAYS: list[tuple[str, str, Any]] = [
    ("bus_id = 00000000:F8:00.0", "pci_bus_id", "0000:f8:00.0"),
    ("bus_id = 00010000:01:00.0", "pci_bus_id", "10000:01:00.0"),
    ("serial = 165", "serial", "165"),
    ("architecture = 10", "architecture", "Blackwell"),
    ("architecture = 77", "architecture", None),
    ("compute_capability = 9.0", "compute_capability", "9.0"),
    ("vbios = 96.00", "vbios_version", "96.00"),
    ("board_part_number = 692-X", "board_part_number", "692-X"),
    ("minor = 3", "minor_number", 3),
    ("memory_total = 80 GiB\nmemory_used = 1 GiB\nmemory_reserved = 2 GiB",
     "memory_reserved_bytes", 2 * GIB),
    ("bar1_total = 2 GiB\nbar1_used = 1 GiB", "bar1_memory_used_bytes", GIB),
    ("utilization_gpu = 1\nutilization_memory = 61", "memory_controller_utilization_percent", 61),
    ("encoder_utilization = 5", "encoder_utilization_percent", 5),
    ("jpeg_utilization = 6", "jpeg_utilization_percent", 6),
    ("memory_temperature = 78", "memory_temperature_celsius", 78),
    ("margin_temperature = -3", "thermal_margin_celsius", -3),
    ("threshold.slowdown = 87\nthreshold.shutdown = 92", "temperature_threshold_celsius",
     (("shutdown", 92), ("slowdown", 87))),
    ("fans = 2\nfan.0 = 30\nfan.1 = 45", "fan_speed_percent", (("0", 30), ("1", 45))),
    ("fans = 0", "fan_speed_percent", None),
    ("power_average = 650123", "power_average_watts", 650.123),
    ("power_limit = 1000\npower_limit_min = 2000\npower_limit_max = 3000",
     "power_limit_range_watts", (("min", 2), ("max", 3), ("requested", 1))),
    ("energy = 123456789012345", "energy_joules_total", 123456789012.345),
    ("clock.sm = 1980\nclock.video = 1545", "clock_hertz", (("sm", 1.98e9), ("video", 1.545e9))),
    ("max_clock.memory = 2619", "clock_max_hertz", (("memory", 2.619e9),)),
    ("performance_state = 2", "performance_state", 2),
    ("violation.power = 84120000000", "throttle_seconds_total", (("sw_power_cap", 84.12),)),
    ("driver_version = 580.65.06\nviolation.power = 0\nfield.270 = 30",
     "throttle_seconds_total", (("sw_power_cap", 0),)),
    ("driver_version = 580.82.07\nviolation.hw_thermal = 2000000000",
     "throttle_seconds_total", (("hw_thermal_slowdown", 2),)),
    ("ecc_mode = 1", "ecc_enabled", True),
    ("ecc.corrected.aggregate = 12", "ecc_errors_total", (("corrected", "aggregate", 12),)),
    ("sram.threshold_exceeded = 1", "sram_threshold_exceeded", True),
    (BANKS, "row_remap_banks",
     (("max", 5), ("high", 4), ("partial", 3), ("low", 2), ("none", 1))),
    ("retired_pages.double_bit = 0x1 0x2", "retired_pages_total", (("double_bit", 2),)),
    ("retired_pages_pending = 1", "retired_pages_pending", True),
    ("recovery_action = 4", "recovery_action", "drain_and_reset"),
    ("recovery_action = 99", "recovery_action", None),
    ("pcie_generation = 4", "pcie_link_generation", 4),
    ("pcie_width_max = 16", "pcie_link_width_max", 16),
    ("pcie_replays = 12", "pcie_replays_total", 12),
    ("nvlink_links = 3\nnvlink.state = 1", "nvlink_up", (("0", 1), ("1", 1), ("2", 1))),
    ("nvlink_links = 3\nnvlink.state = 1\nnvlink.1.state = 0", "nvlink_up",
     (("0", 1), ("1", 0), ("2", 1))),
    ("nvlink_links = 0", "nvlink_up", None),
    ("nvlink_links = 2\nnvlink.replay = 2\nnvlink.1.replay = 5", "nvlink_errors_total",
     (("replay", 7),)),
    ("nvlink_links = 2\nnvlink.rx_errors = 3", "nvlink_errors_total", (("receive", 6),)),
    ("nvlink_links = 2\nnvlink.tx_data_kib = 10", "nvlink_transmit_bytes_total", 20480),
    ("nvlink_links = 2\nnvlink.rx_bytes = 7", "nvlink_receive_bytes_total", 14),
    ("fabric_state = 3", "fabric_state", "completed"),
    ("fabric_state = 0", "fabric_state", None),
    ("fabric_state = 3\nfabric_health_summary = 1", "fabric_healthy", True),
    ("fabric_state = 3\nfabric_health_summary = 2", "fabric_healthy", False),
    ("fabric_state = 3\nfabric_version = 2\nfabric_health = 0x2a", "fabric_healthy", True),
    ("fabric_state = 3\nfabric_version = 2\nfabric_health = 0x11", "fabric_healthy", False),
    ("fabric_state = 3\nfabric_version = 2", "fabric_healthy", None),
    ("persistence_mode = 1", "persistence_mode", True),
    ("compute_mode = 3", "compute_mode", "exclusive_process"),
    ("gsp_mode = 0", "gsp_enabled", False),
    ("mig_mode = 0", "mig_enabled", False),
]  # fmt: skip

OF_OTHER_VENDORS = {"health", "vendor", "npu_id", "chip_id", "numa_node"}  # NVML says none of them


def test_each_value(nvml: NvmlLibrary) -> None:
    """What the library says becomes the field in base units; what it does not say is absent."""
    probe = ProbeProcess(nvml)
    wrong = []
    for lines, field, expected in SAYS:
        nvml.say("count = 0")
        probe.ask()
        nvml.say(*CARD, *lines.splitlines())
        (entry,) = probe.ask()["gpus"]
        found = getattr(decode(Gpu, entry)[0], field)
        if found != expected:
            wrong.append((lines, field, found))
        if expected is None and found is None:
            assert field in entry["missing"], field
    probe.end()
    assert not wrong


def test_activity_comes_with_the_second_pass(nvml: NvmlLibrary) -> None:
    """It is measured between two passes, as ratios and bytes per second."""
    nvml.say(*CARD, "gpm_supported = 1", "gpm.sm = 91.5", "gpm.tensor = 50", "gpm.pcie_rx_mib = 2")
    first, second = (decode(Gpu, read_gpus(nvml, passes=n)[0])[0] for n in (1, 2))
    assert first.activity_ratio is None
    assert second.activity_ratio == (("sm", 0.915), ("tensor", 0.5))
    assert second.pcie_profile_bytes_per_second == (("receive", 2 * 2**20),)


@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
def test_what_is_no_finite_number_costs_only_itself(nvml: NvmlLibrary, number: str) -> None:
    """A share of no time is infinite: it is absent, and the answer reaches whoever asked."""
    nvml.say(*CARD, "gpm_supported = 1", f"gpm.sm = {number}", "gpm.tensor = 50")
    gpu = decode(Gpu, read_gpus(nvml, passes=2)[0])[0]
    assert gpu.activity_ratio == (("tensor", 0.5),)


def test_a_link_that_says_nothing_now_counts_with_what_it_said_last(nvml: NvmlLibrary) -> None:
    """Sums over links never fall because a link is down: that would look like a new counter."""
    links = (
        "nvlink_links = 2",
        "nvlink.state = 1",
        "nvlink.0.tx_bytes = 5",
        "nvlink.0.symbol_errors = 1",
    )
    second = ("nvlink.1.tx_bytes = 100", "nvlink.1.symbol_errors = 7")
    probe = ProbeProcess(nvml)
    seen = []
    for lines in ((*links, *second), links, (*links, *second), ()):
        nvml.say(*CARD, *lines)
        gpu = decode(Gpu, probe.ask()["gpus"][0])[0]
        seen.append((gpu.nvlink_transmit_bytes_total, gpu.nvlink_errors_total))
    probe.end()
    whole = (105, (("symbol", 8),))
    assert seen == [whole, whole, whole, (None, None)]


def test_instances_have_activity_of_their_own(nvml: NvmlLibrary) -> None:
    """On Hopper and newer each GPU instance is measured apart; the use of the whole is absent."""
    nvml.say(
        *CARD,
        "mig_mode = 1",
        "mig_count_max = 7",
        "gpm_supported = 1",
        "utilization_gpu = 0",
        "device.0.mig.0.gpu_instance = 1",
        "device.0.mig.0.compute_instance = 0",
        "device.0.mig.0.uuid = MIG-a",
        "device.0.mig.0.name = NVIDIA H100 MIG 1g.10gb",
        "device.0.mig.0.memory_total = 10 GiB",
        "device.0.mig.0.memory_used = 1 GiB",
        "device.0.mig.0.gpm.sm = 25",
    )
    gpu = decode(Gpu, read_gpus(nvml, passes=2)[0])[0]
    assert gpu.utilization_percent is None
    (instance,) = gpu.mig_instances or ()
    assert (instance.memory_total_bytes, instance.memory_used_bytes) == (10 * GIB, GIB)
    assert instance.activity_ratio == (("sm", 0.25),)


OPTIONS: list[tuple[str, str, str, Any]] = [
    ("pcie_throughput", "pcie_throughput.rx = 7\npcie_throughput.tx = 3",
     "pcie_receive_bytes_per_second", 7168),
    ("ecc_locations", "ecc.corrected.volatile.dram = 4", "ecc_location_errors_total",
     (("corrected", "volatile", "dram", 4),)),
    ("nvlink_per_link", "nvlink_links = 2\nnvlink.state = 1\nnvlink.crc_flit = 1",
     "nvlink_link_errors_total", (("0", "crc_flit", 1), ("1", "crc_flit", 1))),
]  # fmt: skip


@pytest.mark.parametrize(("option", "lines", "field", "expected"), OPTIONS)
def test_what_is_read_on_request_only(
    nvml: NvmlLibrary, option: str, lines: str, field: str, expected: Any
) -> None:
    """With its option the value is there, without it nobody asks the driver for it."""
    nvml.say(*CARD, *lines.splitlines())
    with_it = ProbeProcess(nvml, f"--with={option}")
    assert getattr(decode(Gpu, with_it.ask()["gpus"][0])[0], field) == expected
    with_it.end()
    (plain,) = read_gpus(nvml)
    assert getattr(decode(Gpu, plain)[0], field) != expected


def test_the_number_of_calls_of_a_pass(nvml: NvmlLibrary) -> None:
    """A pass costs as many calls for the eighth card as for the first, and facts are asked once."""
    nvml.say(capture="h100x8.scenario")
    probe = ProbeProcess(nvml, "--with=processes,profiling")
    passes = []
    for _ in range(4):
        before = len(nvml.calls())
        probe.ask()
        passes.append(nvml.calls()[before:])
    probe.end()
    first, _, third, fourth = passes
    assert len(third) == len(fourth) < len(first)
    by_card = [sum(call.card == str(index) for call in fourth) for index in range(8)]
    assert max(by_card) - min(by_card) <= 3, "a card with processes costs a few calls more"
    assert max(by_card) <= 75
    assert len(fourth) <= 8 * 75 + 20
    asked = {call.function for call in fourth}
    facts = {
        "nvmlDeviceGetName",
        "nvmlDeviceGetSerial",
        "nvmlDeviceGetVbiosVersion",
        "nvmlDeviceGetMaxClockInfo",
        "nvmlDeviceGetPciInfo_v3",
        "nvmlDeviceGetArchitecture",
        "nvmlDeviceGetHandleByIndex_v2",
        "nvmlDeviceGetPowerManagementLimitConstraints",
    }
    assert not facts & asked
    assert facts <= {call.function for call in first}


def test_calls_that_are_not_supported_are_left_alone(nvml: NvmlLibrary) -> None:
    """What the board does not have is not asked for in every pass."""
    nvml.say(*CARD, "temperature = 40")
    probe = ProbeProcess(nvml)
    counts = []
    for _ in range(4):
        before = len(nvml.calls())
        probe.ask()
        counts.append(len(nvml.calls()) - before)
    probe.end()
    assert counts[3] < counts[0] / 3


def test_every_field_can_be_said(nvml: NvmlLibrary) -> None:
    """No field of the model is left that no reading gives."""
    given: set[str] = set()
    for capture in ("h100x8", "a100_mig", "gb200", "gtx_770", "t4", "laptop"):
        nvml.say(capture=f"{capture}.scenario")
        options = "processes,profiling,pcie_throughput,ecc_locations,nvlink_per_link"
        probe = ProbeProcess(nvml, f"--with={options}")
        probe.ask()
        for entry in probe.ask()["gpus"]:
            given |= entry.keys() | entry["missing"].keys()
        probe.end()
    assert {item.name for item in fields(Gpu)} - OF_OTHER_VENDORS - {"unprinted"} <= given


def test_repairs_sram_and_fabric_of_newer_drivers(nvml: NvmlLibrary) -> None:
    """Counts by kind and unit, what waits for a reset, and which condition of the fabric is ill."""
    nvml.say(
        "device.1.sram.uncorrected_parity.aggregate = 3",
        "device.1.sram.bucket.mcu = 3",
        "device.1.repair.tpc_pending = 1",
        "device.1.unrepairable_memory = 1",
        "device.1.ecc_mode_pending = 0",
        "device.1.fabric_health = 0x216",  # bandwidth full, routes ill, configuration wrong
        "device.1.fabric_health_summary = 2",
        "device.2.fabric_status = 999",
        capture="gb200.scenario",
    )
    probe = ProbeProcess(nvml)
    well, ill, failed, _ = probe.ask()["gpus"]
    probe.end()
    assert well["fabric_healthy"] is True
    assert (well["fabric_clique"], well["fabric_cluster"][:8]) == (32766, "9d1bd5a4")
    assert [well[f"chassis_{name}"] for name in ("serial", "slot", "tray")] == [
        *("1820224170059", 21, 11)
    ]
    assert (well["tpc_repair_pending"], well["unrepairable_memory"]) == (False, False)
    assert ["uncorrected_parity", "aggregate", 3] in ill["sram_ecc_errors_total"]
    assert dict(ill["sram_ecc_sources_total"])["microcontroller"] == 3
    assert (ill["tpc_repair_pending"], ill["channel_repair_pending"]) == (True, False)
    assert (ill["unrepairable_memory"], ill["ecc_mode_pending"]) == (True, False)
    assert ill["fabric_healthy"] is False
    assert dict(ill["fabric_condition"]) == {
        "degraded_bandwidth": 0,
        "route_recovery": 1,
        "route_unhealthy": 1,
        "configuration": 1,
    }
    assert failed["fabric_healthy"] is False
    assert dict(well["thermal_margin_threshold_celsius"])["shutdown"] == -5
