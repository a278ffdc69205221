"""Pressure: what the files under `/proc/pressure` say."""

import pytest

from exporter.collectors.pressure import Pressure, PressureReader, parse_pressure
from exporter.reading.source import SourceAbsent
from tests.collectors.small_node import SmallNode

IO = """some avg10=0.25 avg60=12.50 avg300=1.00 total=3500000
full avg10=0.00 avg60=0.00 avg300=0.00 total=1
"""


def test_totals_are_in_seconds_and_averages_in_percent() -> None:
    """Each file has a line for some and one for all tasks."""
    assert parse_pressure("io", IO) == (
        Pressure("io", "some", 3.5, 0.25, 12.5, 1.0),
        Pressure("io", "full", 0.000001, 0.0, 0.0, 0.0),
    )


def test_all_tasks_waiting_for_a_processor_is_not_said() -> None:
    """The kernel writes zeros there: they would look like a measurement."""
    assert [pressure.kind for pressure in parse_pressure("cpu", IO)] == ["some"]


@pytest.mark.parametrize(
    "text",
    ["", "some", "some total=", "some total=-1", "some total=x", "half total=1", "=", "some total"],
)
def test_garbage_has_no_pressure(text: str) -> None:
    """A line that is not understood is left out, not shown as zero."""
    assert parse_pressure("io", text) == ()


def test_an_average_that_cannot_be_is_not_said() -> None:
    """The total stays."""
    pressure = parse_pressure("io", "some avg10=-1 avg60=nan avg300=101 total=5")[0]
    assert (pressure.avg10, pressure.avg60, pressure.avg300) == (None, None, None)


def test_a_file_of_garbage_costs_its_resource(node: SmallNode) -> None:
    """The others are shown, and the reason is kept."""
    for resource in ("cpu", "memory", "io"):
        node.pressure(resource)
    node.write("proc/pressure/memory", "not supported")
    reading = PressureReader(node.proc).read()
    assert {pressure.resource for pressure in reading.value.pressures} == {"cpu", "io"}
    assert [missing.field for missing in reading.missing] == ["memory"]
    assert reading.value.of("io", "full") is not None
    assert reading.value.of("memory", "some") is None


def test_a_kernel_that_does_not_measure_is_absent(node: SmallNode) -> None:
    """Old kernels, and those started with psi=0, have no folder."""
    with pytest.raises(SourceAbsent, match="does not measure"):
        PressureReader(node.proc).read()
