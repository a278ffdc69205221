"""Every value of a GPU, from the library's call to the field of the model."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.gpu.nvml import parse_answer
from exporter.collectors.gpu.values import Gpu
from exporter.decode import decode
from exporter.toml import tomllib
from tests.collectors.gpu.nvml_probe.probe_process import ProbeProcess, read_gpus
from tests.fakes.nvml_library import NvmlLibrary

pytestmark = pytest.mark.system

CARD = ("count = 1", "uuid = GPU-0", "name = H100")
GIB = 2**30

SAYS = tomllib.loads(Path(__file__).with_name("values.toml").read_text("utf-8"))

OF_OTHER_VENDORS = {"health", "vendor", "npu_id", "chip_id", "numa_node"}  # NVML says none of them


def test_each_value(nvml: NvmlLibrary) -> None:
    """What the library says becomes the field in base units; what it does not say is absent."""
    probe = ProbeProcess(nvml)
    wrong = []
    for field, cases in SAYS.items():
        for case in cases:
            nvml.say("count = 0")
            probe.ask()
            nvml.say(*CARD, *case["says"].split("; "))
            (entry,) = probe.ask()["gpus"]
            is_known = field in entry or field in entry["missing"]
            if not is_known or entry.get(field) != case.get("gives"):
                wrong.append((case, field, entry.get(field)))
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
    (gpu,) = parse_answer({"gpus": read_gpus(nvml, passes=2)}).gpus
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
        "incorrect_sysguid": 1,
    }
    assert failed["fabric_healthy"] is False
    assert dict(well["thermal_margin_threshold_celsius"])["shutdown"] == -5
