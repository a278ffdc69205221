"""The node around the GPUs on the page: what is shown, what is left out to stay small."""

from dataclasses import replace
from pathlib import Path

import pytest

from exporter.collectors import chosen
from exporter.collectors.cpu.values import Cpu
from exporter.collectors.disk.values import (
    Filesystem,
    Filesystems,
    MdArray,
    MdArrays,
    NvmeController,
    NvmeControllers,
    NvmeHealth,
    NvmeHealths,
)
from exporter.collectors.everything import FAMILIES, live_families
from exporter.collectors.memory.values import Dimm, MemoryController, MemoryErrors
from exporter.collectors.network.values import Interface, Network
from exporter.collectors.node.values import Host
from exporter.collectors.pcie.values import Pcie, PcieDevice, PcieError
from exporter.collectors.processes import ProcessStates
from exporter.collectors.sensors.values import Sensor, Sensors
from exporter.config import Config
from exporter.exposition.page import Moment
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Outcome, SourceReport
from tests.collectors.large_node import large_node
from tests.collectors.whole_node import UNITS, look_around
from tests.exposition.sampling import by_labels, samples, snapshot_of

BUDGET = 400
OF_THE_PROGRAM = 65
"""Series of faults, rules, events, components and what the exporter uses, without active faults.

As counted on the page of the program for the files of the same node.
"""


def test_a_large_server_stays_within_its_budget(tmp_path: Path) -> None:
    """Two sockets, 256 threads, six disks, eight filesystems, two services: our own included."""
    default = chosen(Config())
    reports = tuple(SourceReport(row.name, Outcome.OK, 0.001, None, 1.0) for row in default)
    node = large_node(tmp_path)
    node.write({f"{UNITS}/{name}": "active running enabled" for name in ("containerd", "kubelet")})
    seen = look_around(node, frozenset({"process_states", "kernel_files"}))
    snapshot = snapshot_of(*seen.readings.values(), reports=reports)
    page = render(FAMILIES, snapshot, Format.TEXT)
    moment = Moment(boottime=0.0, version="1", python="3")
    live = render(live_families(moment), snapshot, Format.TEXT)
    assert page.series + live.series <= BUDGET - OF_THE_PROGRAM


@pytest.mark.parametrize(("count", "zeros"), [(8, True), (9, False)])
def test_zeros_are_left_out_where_there_are_many(count: int, *, zeros: bool) -> None:
    """A few interfaces show all their errors; of many only those that had any."""
    nics = [
        Interface(f"eth{number}", receive_packets=1, receive_errors=0) for number in range(count)
    ]
    nics[0] = Interface("eth0", receive_packets=1, receive_errors=5)
    found = by_labels("hw_network_receive_errors_total", snapshot_of(Network("host", tuple(nics))))
    assert found[("eth0",)] == 5
    assert len(found) == (count if zeros else 1)


def test_an_interface_that_was_never_used_shows_that_it_is_down() -> None:
    """Its counters would all be zero; once it has carried a packet it keeps them."""
    unused = Interface("eth1", receive_packets=0, transmit_packets=0, up=False)
    used = Interface("eth2", receive_packets=1, transmit_packets=0, up=False)
    snapshot = snapshot_of(Network("host", (unused, used)))
    assert by_labels("hw_network_up", snapshot) == {("eth1",): 0, ("eth2",): 0}
    assert by_labels("hw_network_receive_packets_total", snapshot) == {("eth2",): 1}


def test_devices_beyond_the_limit_are_counted() -> None:
    """A kind that is shown whole has no sample."""
    snapshot = snapshot_of(Network("host", (), 4984), Filesystems(()))
    assert by_labels("hw_exporter_devices_truncated", snapshot) == {("interface",): 4984}


def test_a_pod_says_that_it_sees_no_network_of_the_node() -> None:
    """No interface, and the scope that explains why."""
    snapshot = snapshot_of(Network("pod"))
    assert by_labels("hw_exporter_network_namespace_info", snapshot) == {("pod",): 1}
    assert by_labels("hw_network_up", snapshot) == {}


def test_what_is_not_said_has_no_sample() -> None:
    """Neither zero nor NaN stands for it."""
    snapshot = snapshot_of(Network("host", (Interface("eth0", up=True),)))
    assert by_labels("hw_network_receive_bytes_total", snapshot) == {}
    assert by_labels("hw_network_speed_bytes_per_second", snapshot) == {}


def test_a_filesystem_that_does_not_answer_keeps_its_flags() -> None:
    """Sizes are gone, that it is unreachable is said."""
    dead = Filesystem("s:/x", "/nfs", "nfs4", readonly=False, unreachable=True)
    snapshot = snapshot_of(Filesystems((dead,)))
    labels = ("s:/x", "/nfs", "nfs4")
    assert by_labels("hw_filesystem_unreachable", snapshot) == {labels: 1}
    assert by_labels("hw_filesystem_readonly", snapshot) == {labels: 0}
    assert by_labels("hw_filesystem_size_bytes", snapshot) == {}


def test_modules_without_errors_are_summed_on_a_large_node() -> None:
    """One with errors is shown; what the controllers know beside it stands under no name."""
    dimms = tuple(Dimm("mc0", f"D{number}", 3 if number == 2 else 0, 0) for number in range(5))
    controllers = (MemoryController("mc0", 4, 0, dimms), MemoryController("mc1", 2, 0))
    assert by_labels("hw_memory_errors_total", snapshot_of(MemoryErrors(controllers))) == {
        ("mc0", "D2", "corrected"): 3,
        ("mc0", "D2", "uncorrected"): 0,
        ("", "", "corrected"): 3,
        ("", "", "uncorrected"): 0,
    }


def test_all_modules_are_shown_on_a_small_node() -> None:
    """With what each controller could not give to a module; what it does not count is not said."""
    controller = MemoryController("mc0", 1, None, (Dimm("mc0", "D0", 0, None),))
    assert by_labels("hw_memory_errors_total", snapshot_of(MemoryErrors((controller,)))) == {
        ("mc0", "D0", "corrected"): 0,
        ("mc0", "", "corrected"): 1,
    }


def cards(count: int, **of_first: object) -> Pcie:
    """So many NVMe disks below a port, of which the first differs."""
    port = PcieDevice("0000:00:01.0", "port", width=16, width_max=16)
    usual = {"parent": port.device, "width": 4, "width_max": 4, "width_reachable": 4}
    made = [PcieDevice(f"0000:{n:02x}:00.0", "nvme", **usual) for n in range(1, count + 1)]  # type: ignore[arg-type] # values of several types
    made[0] = PcieDevice("0000:01:00.0", "nvme", **{**usual, **of_first})  # type: ignore[arg-type] # same
    return Pcie((port, *made))


def test_healthy_links_of_many_cards_are_counted() -> None:
    """Eight cards show their links, nine are a number."""
    assert len(samples("hw_pcie_link_width", snapshot_of(cards(8)))) == 8
    snapshot = snapshot_of(cards(9))
    assert by_labels("hw_pcie_link_width", snapshot) == {}
    assert by_labels("hw_pcie_links", snapshot) == {
        ("full",): 9,
        ("reduced",): 0,
        ("unknown",): 0,
    }
    assert by_labels("hw_pcie_info", snapshot) == {}


def test_a_reduced_link_is_shown_with_the_port_above() -> None:
    """Both ends of the link, to see which of them it is."""
    snapshot = snapshot_of(cards(9, width=2))
    assert by_labels("hw_pcie_link_width", snapshot) == {
        ("0000:00:01.0",): 16,
        ("0000:01:00.0",): 2,
    }
    assert by_labels("hw_pcie_links", snapshot)[("reduced",)] == 1
    assert len(samples("hw_pcie_info", snapshot)) == 2


def test_errors_of_the_bus_are_shown_where_they_occurred() -> None:
    """With the place of the card, and as a sum that is there before the first one."""
    errors = {
        "errors": (PcieError("correctable", "BadTLP", 7),),
        "errors_by_severity": (("correctable", 7), ("fatal", 0)),
    }
    snapshot = snapshot_of(cards(9, **errors))
    assert by_labels("hw_pcie_errors_total", snapshot) == {
        ("0000:01:00.0", "correctable", "BadTLP"): 7
    }
    assert by_labels("hw_pcie_all_errors_total", snapshot) == {("correctable",): 7, ("fatal",): 0}
    assert by_labels("hw_pcie_info", snapshot) == {("0000:01:00.0", "0000:00:01.0", "nvme", ""): 1}


def core(number: int, value: float | None) -> Sensor:
    """The temperature of one core, with both limits."""
    limits = (("high.degraded", 85.0), ("high.critical", 95.0))
    return Sensor("temperature", "coretemp.0", "coretemp", f"Core {number}", value, limits)


def test_of_many_cores_the_hottest_is_shown() -> None:
    """The package stays; four cores or fewer are shown one by one."""
    package = Sensor("temperature", "coretemp.0", "coretemp", "Package id 0", 50.0)
    few = snapshot_of(Sensors((package, *(core(n, 40.0 + n) for n in range(4)))))
    assert len(samples("hw_temperature_celsius", few)) == 5
    many = snapshot_of(Sensors((package, core(9, None), *(core(n, n / 8) for n in range(4)))))
    assert by_labels("hw_temperature_celsius", many) == {
        ("coretemp.0", "coretemp", "Package id 0"): 50.0,
        ("coretemp.0", "coretemp", "hottest core"): 0.375,
    }


def test_of_many_sensors_the_main_one_of_each_device_is_shown() -> None:
    """Without its limits, which rules see all the same."""
    limits = (("high.degraded", 80.0), ("high.critical", 90.0))
    found = snapshot_of(
        Sensors(
            tuple(
                Sensor("temperature", f"nvme{disk}", "nvme", f"Sensor {number}", 40.0, limits)
                for disk in range(9)
                for number in range(2)
            )
        )
    )
    assert len(samples("hw_temperature_celsius", found)) == 9
    assert by_labels("hw_temperature_limit_celsius", found) == {}


def test_a_walk_over_processes_adds_its_states() -> None:
    """Without one only what the scheduler counts is shown."""
    snapshot = snapshot_of(ProcessStates((("zombie", 3.0),)))
    assert by_labels("hw_processes", snapshot) == {("zombie",): 3}


@pytest.mark.parametrize(("count", "shown"), [(4, 4), (5, 1)])
def test_of_many_controllers_those_that_are_not_live_are_shown(count: int, shown: int) -> None:
    """Four say that they live; of five the one that does not."""
    states = ["resetting", *["live"] * (count - 1)]
    controllers = (NvmeController(f"nvme{n}", state) for n, state in enumerate(states))
    found = by_labels("hw_nvme_state", snapshot_of(NvmeControllers(tuple(controllers))))
    assert found[("nvme0", "resetting")] == 1
    assert len(found) == shown


def test_a_controller_without_a_state_has_no_series() -> None:
    """What the kernel did not say is absent."""
    silent = NvmeControllers((NvmeController("nvme0", None), NvmeController("nvme1", "live")))
    assert by_labels("hw_nvme_state", snapshot_of(silent)) == {("nvme1", "live"): 1}


def test_the_health_of_a_disk_is_shown() -> None:
    """One series for each value that the disk says."""
    health = NvmeHealth("nvme0", 4, None, 0.9, 0.1, 1.2, 7, 0)
    snapshot = snapshot_of(NvmeHealths((health,)))
    assert by_labels("hw_nvme_critical_warning", snapshot) == {("nvme0",): 4}
    assert by_labels("hw_nvme_percentage_used_ratio", snapshot) == {("nvme0",): 1.2}
    assert by_labels("hw_nvme_media_errors_total", snapshot) == {("nvme0",): 0}
    assert by_labels("hw_nvme_temperature_celsius", snapshot) == {}


def test_sources_are_up_when_they_were_read() -> None:
    """One whose hardware is absent says nothing: `hw_exporter_source_up == 0` is a failure."""
    reports = (
        SourceReport("gpu", Outcome.OK, 0.1),
        SourceReport("disk", Outcome.FAILED, 0.1, "no way"),
        SourceReport("raid", Outcome.ABSENT, 0.1),
        SourceReport("nvme", Outcome.STUCK, 0.1),
        SourceReport("kernel_log", Outcome.OK, 0.1),
    )
    seen = snapshot_of(reports=reports)
    assert samples("hw_exporter_source_up", seen) == [
        (("gpu",), True),
        (("disk",), False),
        (("nvme",), False),
        (("kernel_log",), True),
    ]
    assert samples("hw_kernel_log_source_info", seen) == []


def test_what_a_node_does_not_name_is_unknown() -> None:
    """The rest is shown as it is."""
    host = Host("n", "Ubuntu", None, "6.8", None, 60.0)
    ((labels, value),) = samples("hw_node_info", snapshot_of(host))
    assert (labels[0], labels[1], labels[2], value) == ("Ubuntu", "unknown", "6.8", 1)


def test_disks_and_processes_are_counted_by_state() -> None:
    """All four states of an array, both of the scheduler."""
    array = MdArray("md0", "active", "raid1", 2, 1, 3, 4)
    found = samples("hw_md_disks", snapshot_of(MdArrays((array,))))
    states = (("active", 2), ("failed", 1), ("spare", 3), ("missing", 4))
    assert found == [(("md0", state), count) for state, count in states]
    cpu = Cpu(None, 8, None, None, processes_running=3, processes_blocked=2)
    found = samples("hw_processes", snapshot_of(cpu))
    assert found == [(("running",), 3), (("blocked",), 2)]


def test_a_card_at_no_port_is_shown_without_one() -> None:
    """And one in no named slot without that."""
    seen = snapshot_of(Pcie((PcieDevice("0000:3b:00.0", "gpu"),)))
    assert samples("hw_pcie_info", seen) == [(("0000:3b:00.0", "", "gpu", ""), 1)]


def test_errors_of_no_known_module_are_what_the_controller_counted_beside() -> None:
    """Never less than nothing; of each sort by itself."""
    one = Dimm("mc0", "A1", corrected_errors=3, uncorrected_errors=1)
    mc = MemoryController("mc0", corrected_errors=5, uncorrected_errors=0, dimms=(one,))
    found = by_labels("hw_memory_errors_total", snapshot_of(MemoryErrors((mc,))))
    assert found["mc0", "", "corrected"] == 2
    assert found["mc0", "", "uncorrected"] == 0
    silent = replace(mc, dimms=(Dimm("mc0", "A1"),))
    found = by_labels("hw_memory_errors_total", snapshot_of(MemoryErrors((silent,))))
    assert found == {("mc0", "", "corrected"): 5, ("mc0", "", "uncorrected"): 0}
