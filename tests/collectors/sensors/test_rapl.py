"""Energy meters inside the processors."""

import pytest

from exporter.collectors.sensors.rapl import RaplReader
from exporter.reading.source import SourceAbsent
from tests.collectors.small_node import SmallNode
from tests.fakes.fuse import StuckFiles

RAPL = "sys/class/powercap"


def zone(node: SmallNode, number: str, name: str, energy: object, highest: int = 1000) -> None:
    """One zone with its counter in millionths of a joule."""
    said = {"name": name, "energy_uj": energy, "max_energy_range_uj": highest}
    node.write_all(f"{RAPL}/intel-rapl:{number}", said)


def test_energy_is_by_package_and_memory(node: SmallNode) -> None:
    """Parts of a package are not counted beside it; a part is named after its package."""
    zone(node, "0", "package-0", 2_000_000)
    zone(node, "0:0", "core", 1_000_000)
    zone(node, "0:1", "dram", 500_000)
    zone(node, "1", "psys", 9_000_000)
    meters = RaplReader(node.sys).read().value.meters
    assert [(meter.hw_type, meter.hw_id, meter.energy_joules) for meter in meters] == [
        ("cpu", "package-0", 2.0),
        ("memory", "package-0/dram", 0.5),
        ("node", "psys", 9.0),
    ]


@pytest.mark.parametrize(("highest", "last"), [(1000, 1040), (0, 1030)])
def test_a_wrapped_counter_goes_on(node: SmallNode, highest: int, last: int) -> None:
    """The step over its highest value counts; where that is not known it began anew at zero."""
    reader = RaplReader(node.sys)
    found = []
    for energy in (900, 990, 40):
        zone(node, "0", "package-0", energy, highest)
        found.append(round(reader.read().value.meters[0].energy_joules * 1e6))
    assert found == [900, 990, last]


def test_the_same_meter_seen_over_memory_is_left_out(node: SmallNode) -> None:
    """`intel-rapl-mmio` shows package 0 a second time."""
    zone(node, "0", "package-0", 1)
    node.write_all(f"{RAPL}/intel-rapl-mmio:0", {"name": "package-0", "energy_uj": 5})
    assert len(RaplReader(node.sys).read().value.meters) == 1


@pytest.mark.parametrize("energy", ["-5", "x", ""])
def test_garbage_is_absent_with_a_reason(node: SmallNode, energy: str) -> None:
    """A meter that does not count is not at zero."""
    zone(node, "0", "package-0", energy)
    with pytest.raises(SourceAbsent, match="does not hold a counter"):
        RaplReader(node.sys).read()


@pytest.mark.system
def test_without_the_right_it_is_absent_and_says_who_may(
    node: SmallNode, stuck_files: StuckFiles
) -> None:
    """Only root may read energy; that is no failure of the exporter."""
    zone(node, "0", "package-0", 1)
    refused = stuck_files.fail("energy_uj", 13, "open")
    node.stand_in(f"{RAPL}/intel-rapl:0/energy_uj", refused)
    with pytest.raises(SourceAbsent, match="only root may"):
        RaplReader(node.sys).read()
