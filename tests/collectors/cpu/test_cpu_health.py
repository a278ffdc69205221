"""Frequencies, heat and machine checks of processors."""

import shutil

import pytest

from exporter.collectors.cpu.health import CpuHealthReader, parse_interrupts, spread
from exporter.collectors.cpu.values import CpuHealth
from exporter.reading.source import SourceAbsent
from tests.collectors.small_node import SmallNode

INTERRUPTS = """            CPU0       CPU1
   1:          9          0  IR-IO-APIC    1-edge      i8042
 MCE:          2          3   Machine check exceptions
 MCP:        120        121   Machine check polls
"""


def thread(node: SmallNode, number: int, core: int, package: int, **texts: object) -> None:
    """A logical processor on a core of a package."""
    folder = f"sys/devices/system/cpu/cpu{number}"
    node.write_all(f"{folder}/topology", {"core_id": core, "physical_package_id": package})
    node.write_all(folder, {name.replace("__", "/"): text for name, text in texts.items()})


def test_frequencies_are_the_spread_over_all_processors(node: SmallNode) -> None:
    """Three numbers stand for a hundred processors; hertz, not kilohertz."""
    for number, kilohertz in enumerate((1_000_000, 2_000_000, 3_000_000)):
        thread(
            node, number, number, 0,
            cpufreq__scaling_cur_freq=kilohertz, cpufreq__cpuinfo_max_freq=4_000_000,
        )  # fmt: skip
    health = CpuHealthReader(node.proc, node.sys).read().value
    assert dict(health.frequencies) == {"min": 1e9, "avg": 2e9, "max": 3e9}
    assert health.frequency_max_hertz == 4e9


def test_throttling_is_counted_once_for_a_core_and_once_for_a_package(node: SmallNode) -> None:
    """Both threads of a core, and all of a package, show the same count."""
    for number, (core, package, count) in enumerate([(0, 0, 5), (0, 0, 5), (1, 0, 2), (0, 1, 1)]):
        thread(
            node, number, core, package,
            thermal_throttle__core_throttle_count=count,
            thermal_throttle__package_throttle_count=package + 7,
        )  # fmt: skip
    health = CpuHealthReader(node.proc, node.sys).read().value
    assert dict(health.thermal_throttles) == {"core": 8, "package": 15}


def test_machine_checks_are_by_processor() -> None:
    """Polls are another row, and words behind the numbers are no numbers."""
    assert parse_interrupts(INTERRUPTS, "MCE") == {"CPU0": 2, "CPU1": 3}


def test_processors_that_go_and_come_back_count_nothing_anew(node: SmallNode) -> None:
    """The kernel shows counts of online processors only, and keeps those of the others."""
    reader, seen = CpuHealthReader(node.proc, node.sys), []
    for online in ((0, 1, 2, 3), (0, 2), (0, 1, 2, 3)):
        shutil.rmtree(node.sys, ignore_errors=True)
        for number in online:
            thread(
                node, number, number, number // 2,
                thermal_throttle__core_throttle_count=5,
                thermal_throttle__package_throttle_count=7,
            )  # fmt: skip
        names, counts = (" ".join(f"{word}{it}" for it in online) for word in ("CPU", "1"))
        node.write("proc/interrupts", f" {names}\n MCE: {counts} Machine check exceptions\n")
        health = reader.read().value
        seen.append((dict(health.thermal_throttles), health.machine_checks))
    assert seen == [({"core": 20, "package": 14}, 46)] * 3


@pytest.mark.parametrize(
    "text", ["", "MCE", "MCE:", "MCE: x", "MCE: -1", " MCP: 1 2 polls", "\x00\xff"]
)
def test_garbage_has_no_machine_checks(text: str) -> None:
    """No row is no count, never zero."""
    assert parse_interrupts(text, "MCE") == {}


def test_no_processor_has_no_spread() -> None:
    """Nothing is divided by zero."""
    assert spread([]) == ()


def test_a_virtual_machine_says_nothing_of_this(node: SmallNode) -> None:
    """Without any of the files the source is absent; with one of them the rest is not said."""
    thread(node, 0, 0, 0)
    with pytest.raises(SourceAbsent):
        CpuHealthReader(node.proc, node.sys).read()
    node.write("proc/interrupts", INTERRUPTS)
    assert CpuHealthReader(node.proc, node.sys).read().value == CpuHealth(machine_checks=5)


def test_a_frequency_of_garbage_is_left_out_with_a_reason(node: SmallNode) -> None:
    """The other processors still make a spread."""
    thread(node, 0, 0, 0, cpufreq__scaling_cur_freq="<unknown>")
    thread(node, 1, 1, 0, cpufreq__scaling_cur_freq=1_000_000)
    reading = CpuHealthReader(node.proc, node.sys).read()
    assert dict(reading.value.frequencies)["min"] == 1e9
    assert [missing.field for missing in reading.missing] == ["scaling_cur_freq"]
