"""AMD cards in sysfs: what each value means, and what a missing, hostile or hanging file costs."""

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from exporter.blocking import DaemonThreads
from exporter.collectors.everything import families_of
from exporter.collectors.gpu.values import Gpu, GpuProcess, Gpus
from exporter.collectors.vendors.amd.metrics import Throttling, parse_metrics
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Snapshot
from exporter.toml import tomllib
from tests.collectors.vendors.vendor_node import VendorNode, look, only
from tests.fakes.amd_cards import MI100, AmdNode, metrics_v1_3, metrics_v1_8, metrics_v1_9

FIRST, SECOND = "0000:83:00.0", "0000:a3:00.0"
RECORDED = tomllib.loads(Path(__file__).with_name("mi100.toml").read_text("utf-8"))


def in_rows(value: Any) -> Any:
    """A value as a field of a GPU has it, whose rows are tuples."""
    return tuple(map(in_rows, value)) if isinstance(value, list) else value


MI100_SAYS: dict[str, Any] = {name: in_rows(value) for name, value in RECORDED.items()}


@pytest.fixture
def node(tmp_path: Path) -> AmdNode:
    """A node with one card."""
    node = AmdNode(tmp_path / "sys")
    node.card(FIRST)
    return node


def said(gpu: Gpu) -> dict[str, object]:
    """Everything that the GPU says."""
    pairs = ((item.name, getattr(gpu, item.name)) for item in fields(Gpu))
    return {name: value for name, value in pairs if value is not None}


def test_a_recorded_board_says_what_it_said(node: AmdNode) -> None:
    """Each value of a public recording is there in base units, and nothing else is.

    Drivers that are not here are not named, from the first collection on.
    """
    gpus = look(node.sys)
    assert said(only(gpus).gpu) == {"index": 0, **MI100_SAYS}
    assert [(each.backend, each.reason) for each in gpus.others] == [("amdgpu", "ok")]
    assert gpus.backends == gpus.others


@pytest.mark.parametrize("name", [name for name in MI100 if "name" not in name])
def test_a_file_that_is_not_there_costs_what_it_says(node: AmdNode, name: str) -> None:
    """Whatever is missing, nothing is zero in its place, and no other value changes much."""
    node.card(FIRST, {name: None})
    state = only(look(node.sys))
    known = said(state.gpu)
    assert state.up
    assert known.keys() <= {"index", *MI100_SAYS}
    changed = {key for key, value in MI100_SAYS.items() if known.get(key) != value}
    assert len(changed) <= 3, changed
    assert not any(known.get(key) == 0 for key in changed), changed


@pytest.mark.parametrize("text", ["", "\n", "N/A\n", "-\n", "9" * 400, "\x00\xff", "1.5\n"])
@pytest.mark.parametrize("name", ["gpu_busy_percent", "mem_info_vram_total", "pp_dpm_sclk"])
def test_a_file_with_something_else_in_it_is_absent(node: AmdNode, name: str, text: str) -> None:
    """What is no number is not said, and never zero."""
    node.card(FIRST, {name: text, "hwmon/hwmon7/freq1_input": None})
    gpu = only(look(node.sys)).gpu
    clocks = dict(gpu.clock_hertz or ())
    by_file = {
        "gpu_busy_percent": gpu.utilization_percent,
        "mem_info_vram_total": gpu.memory_total_bytes,
        "pp_dpm_sclk": clocks.get("graphics"),
    }
    assert by_file[name] is None


async def test_values_that_cannot_be_are_left_out(node: AmdNode) -> None:
    """All ones, a terawatt and 300 degrees are no values; they are counted."""
    node.card(
        FIRST,
        {
            "gpu_busy_percent": "65535",
            "hwmon/hwmon7/power1_average": "4294967295000000",
            "hwmon/hwmon7/temp1_input": "300000",
            "mem_info_vram_used": "18446744073709551615",
        },
    )
    reading = await VendorNode(node.sys).source.read()
    assert isinstance(reading.value, Gpus)
    gpu, rejected = only(reading.value).gpu, dict(reading.rejected)
    assert (gpu.utilization_percent, gpu.power_draw_watts) == (None, None)
    assert (gpu.temperature_celsius, gpu.memory_used_bytes) == (None, None)
    assert rejected.keys() >= {"utilization_percent", "power_draw_watts", "temperature_celsius"}


def test_a_card_without_edge_sensor_shows_its_junction(node: AmdNode) -> None:
    """Newer Instinct boards have no edge; their power is measured now, not averaged."""
    prefix = "hwmon/hwmon7"
    edge = {f"{prefix}/temp1_{name}": None for name in ("label", "input", "crit", "emergency")}
    now = {f"{prefix}/power1_average": None, f"{prefix}/power1_input": "131000000"}
    node.card(FIRST, {**edge, **now})
    gpu = only(look(node.sys)).gpu
    assert (gpu.temperature_celsius, gpu.thermal_margin_celsius) == (55, 45)
    assert (gpu.power_draw_watts, gpu.power_average_watts) == (131, None)


def test_a_sleeping_card_is_not_read(node: AmdNode) -> None:
    """Its files would wake it: a suspended card is up, and only its power state is opened."""
    folder = node.card(FIRST)

    def falls_asleep() -> None:
        (folder / "power/runtime_status").write_text("suspended\n")
        _trap(folder / "gpu_busy_percent")
        _trap(folder / "config")

    state = only(look(node.sys, falls_asleep))
    assert (state.up, state.suspended) == (True, True)
    assert state.gpu.utilization_percent is None
    assert state.gpu.memory_total_bytes == MI100_SAYS["memory_total_bytes"]


def test_a_card_that_slept_from_the_start_has_its_place_only(node: AmdNode) -> None:
    """Nothing but the address and the vendor are known of it, and it is not woken to be asked."""
    folder = node.card(FIRST, {"power/runtime_status": "suspended\n"})
    _trap(folder / "unique_id")
    state = only(look(node.sys))
    assert (state.gpu.pci_bus_id, state.suspended, state.up) == (FIRST, True, True)
    assert state.gpu.vendor == "amd"


def test_a_card_whose_registers_are_all_ones_is_lost(node: AmdNode) -> None:
    """It has fallen off the bus although its driver is still bound; it comes back by itself."""
    lost = look(node.sys, lambda: node.card(FIRST, {"config": b"\xff" * 64}))
    assert (only(lost).up, only(lost).reason) == (False, "gpu_lost")
    back = look(node.sys, lambda: node.card(FIRST, {"config": b"\x02\x10\x8c\x73"}))
    assert only(back).up


def test_a_card_that_is_gone_is_not_listed(node: AmdNode) -> None:
    """Its driver no longer has it: it is down until it is back; the other is as before."""
    node.card(SECOND, {"unique_id": "a3b000000000002\n"})
    gpus = look(node.sys, lambda: node.unbind(FIRST))
    assert [(state.gpu.pci_bus_id, state.up) for state in gpus.states] == [
        (FIRST, False),
        (SECOND, True),
    ]
    assert gpus.states[0].reason == "not_listed"


def test_a_driver_that_is_unloaded_is_forgotten(node: AmdNode) -> None:
    """Without amdgpu there is no GPU, and the page says again that there is no driver."""
    gpus = look(node.sys, node.unload)
    assert gpus.states == ()
    assert [(each.backend, each.reason) for each in gpus.backends] == [("none", "no_driver")]


def test_a_driver_that_comes_later_is_noticed(node: AmdNode) -> None:
    """Without the driver nothing is said of AMD; once it is bound its card is there."""
    node.unload()
    assert look(node.sys).others == ()
    gpus = look(node.sys, lambda: AmdNode(node.sys).card(FIRST))
    assert (only(gpus).gpu.pci_bus_id, only(gpus).up) == (FIRST, True)


def test_numbers_follow_the_bus(node: AmdNode) -> None:
    """GPUs of NVIDIA come first, also those without a driver; then AMD's by address."""
    node.card("0000:03:00.0", {"unique_id": "a3b000000000002\n"})
    node.other_device("0000:c1:00.0", "0x10de", "0x030200")
    node.other_device("0000:c1:00.1", "0x10de", "0x040300")
    node.other_device("0000:00:02.0", "0x8086", "0x030000")
    gpus = look(node.sys)
    assert [(state.gpu.index, state.gpu.pci_bus_id) for state in gpus.states] == [
        (1, "0000:03:00.0"),
        (2, FIRST),
    ]


async def test_gpus_of_both_vendors_are_one_list(node: AmdNode) -> None:
    """Beside NVML the card has the next number; both backends are named."""
    node.other_device("0000:c1:00.0", "0x10de", "0x030200")
    nvidia = Gpu(index=0, uuid="GPU-n", name="H100")
    gpus = await VendorNode(node.sys, nvidia=nvidia).read()
    assert [(s.gpu.index, s.gpu.vendor) for s in gpus.states] == [(0, "nvidia"), (1, "amd")]
    assert [(each.backend, each.driver_version) for each in gpus.backends] == [
        ("nvml", "550.1"),
        ("amdgpu", None),
    ]


def test_boards_with_one_unique_id_are_two_cards(node: AmdNode) -> None:
    """The second is named by its place, and no series is there twice."""
    node.card(SECOND)
    uuids = [state.gpu.uuid for state in look(node.sys).states]
    assert uuids == ["GPU-a3b0000000000001", f"PCI-{SECOND}"]


def test_a_hostile_name_stays_inside_its_label(node: AmdNode) -> None:
    """A product name with quotes, newlines and ten thousand letters is cut and escaped."""
    node.card(FIRST, {"product_name": 'x"} 1\nhw_evil 1\n\x1b[2J' + "A" * 10_000})
    gpus = look(node.sys)
    snapshot = Snapshot("n", 1, 0.0, 0.0, 0.0, {Gpus: gpus})
    page = render(families_of(snapshot), snapshot, Format.TEXT).body.decode()
    assert "\nhw_evil" not in page
    assert len(only(gpus).gpu.name) <= 256


def test_processes_are_those_of_the_compute_driver(node: AmdNode) -> None:
    """A process counts for the card whose memory it holds, partitions of a card in sum."""
    node.card(SECOND, {"unique_id": "a3b000000000002\n"})
    node.compute_node(1, 101, FIRST)
    node.compute_node(2, 102, SECOND)
    node.process(4711, {101: 2**30, 102: 0})
    node.process(4712, {102: 2**20})
    first, second = (state.gpu for state in look(node.sys).states)
    assert first.processes == (GpuProcess(4711, "compute", 2**30),)
    assert second.processes == (GpuProcess(4712, "compute", 2**20),)
    assert first.architecture == "gfx908"
    hidden = look(node.sys, sees_host_pids=False)
    assert [state.gpu.processes for state in hidden.states] == [None, None]


@pytest.mark.parametrize("names", ["ras/{}_err_count", "ras/aca_{}"])
def test_bad_pages_and_deferred_errors_are_seen(node: AmdNode, names: str) -> None:
    """A page that waits for a reset is pending; a deferred error is a kind of its own.

    MI300 and newer name the files of the blocks otherwise.
    """
    older = {f"ras/{block}_err_count": None for block in ("umc", "gfx")}
    node.card(
        FIRST,
        {
            **older,
            names.format("umc"): "ue: 1\nce: 7\nde: 2\n",
            names.format("gfx"): "ue: 0\nce: 1\nde: 0\n",
            "ras/gpu_vram_bad_pages": "0x00000001 : 0x00001000 : R\n0x0000000f : 0x00001000 : P\n",
        },
    )
    gpu = only(look(node.sys, ecc_locations=True)).gpu
    assert gpu.ecc_errors_total == (
        ("corrected", "volatile", 8),
        ("deferred", "volatile", 2),
        ("uncorrected", "volatile", 1),
    )
    assert ("uncorrected", "volatile", "umc", 1) in (gpu.ecc_location_errors_total or ())
    assert (gpu.retired_pages_total, gpu.retired_pages_pending) == ((("uncorrected", 1),), True)


@pytest.mark.parametrize("table", [metrics_v1_8, metrics_v1_9])
def test_energy_and_throttling_come_from_the_metrics_table(
    node: AmdNode, table: Callable[..., bytes]
) -> None:
    """Energy counts in 2^-16 J; a throttler is active when it grew since the last look."""
    before = table(65536 * 1000, (1000, 5, 100, 0, 0, 0))
    now = table(65536 * 1001, (2000, 5, 900, 0, 0, 0))
    node.card(FIRST, {"gpu_metrics": before})
    first = only(look(node.sys)).gpu
    assert (first.energy_joules_total, first.throttle_active) == (1000, None)
    gpu = only(look(node.sys, lambda: node.card(FIRST, {"gpu_metrics": now}))).gpu
    assert gpu.energy_joules_total == 1001
    assert gpu.throttle_active == (
        ("sw_power_cap", 1),
        ("sw_thermal_slowdown", 0),
        ("hw_thermal_slowdown", 0),
    )


@pytest.mark.parametrize(
    ("status", "margin", "active"),
    [
        (1 << 0, 45.0, {"sw_power_cap"}),
        (1 << 22, 45.0, {"sw_power_cap"}),
        (1 << 36, 45.0, set()),  # always set on some chips: not throttled far below the limit
        (1 << 36, 4.0, {"sw_thermal_slowdown"}),
        (1 << 34, None, {"sw_thermal_slowdown"}),
        (1 << 47, 45.0, {"hw_thermal_slowdown"}),
        (0, 0.0, set()),
    ],
)
def test_throttlers_have_nvml_names(status: int, margin: float | None, active: set[str]) -> None:
    """The chip-independent bits become the reasons that rules know."""
    rows = Throttling().active(parse_metrics(metrics_v1_3(status)), margin)
    assert rows is not None
    assert {reason for reason, holds in rows if holds} == active


def test_a_cut_or_unknown_table_says_nothing() -> None:
    """Whatever is cut off, and a version of the future, is no value and no error."""
    for table in (metrics_v1_9(1, (1, 2, 3, 4, 5, 6)), metrics_v1_8(1, (1, 2, 3, 4, 5, 6))):
        for length in range(len(table)):
            assert parse_metrics(table[:length]).energy_joules is None
    future = table[:2] + b"\x09\x09" + table[4:]
    assert parse_metrics(future) == parse_metrics(b"")


async def test_a_file_that_hangs_costs_its_card(node: AmdNode) -> None:
    """The card is hung and not read again; the other stays fresh; it is back when it answers."""
    node.card(SECOND, {"unique_id": "a3b000000000002\n"})
    vendor_node = VendorNode(node.sys, call=DaemonThreads(), timeout_secs=0.2)
    await vendor_node.read()
    pipe = node.sys / "bus/pci/devices" / FIRST / "gpu_busy_percent"
    _trap(pipe)
    hung = await vendor_node.read()
    before = threading.active_count()
    for _ in range(3):
        again = await vendor_node.read()
    assert threading.active_count() == before, "one thread hangs, and no more"
    writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    os.write(writer, b"50\n")
    os.close(writer)
    pipe.unlink()
    pipe.write_text("50\n")
    await asyncio.sleep(0.1)
    back = await vendor_node.read()
    await vendor_node.source.close()
    for gpus in (hung, again):
        assert [(state.up, state.reason) for state in gpus.states] == [
            (False, "hung"),
            (True, None),
        ]
        assert gpus.states[1].stale is False
    assert [state.up for state in back.states] == [True, True]


def _trap(file: Path) -> None:
    """Make reading this file hang for ever."""
    file.unlink(missing_ok=True)
    os.mkfifo(file)
