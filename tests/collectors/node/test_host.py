"""Who the node is: os-release, kernel, uptime, processor."""

from pathlib import Path

import pytest

from exporter.collectors.node.host import (
    HostReader,
    parse_cpu_model,
    parse_os_release,
    parse_uptime,
)
from exporter.reading.source import SourceFailed
from tests.collectors.small_node import SmallNode

OS_RELEASE = """# a comment
NAME="Debian GNU/Linux"
VERSION_ID='12'
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
EMPTY=
broken line
"""


def _tree(node: SmallNode, cpuinfo: str = "") -> Path:
    node.write("proc/uptime", "86400.52 170000.00\n")
    node.write("proc/sys/kernel/osrelease", "6.1.0-13-amd64\n")
    node.write("proc/cpuinfo", cpuinfo)
    node.write("etc/os-release", OS_RELEASE)
    return node.root


def _reader(root: Path, known_model: str | None = None) -> HostReader:
    return HostReader(root / "proc", root, "host-a", lambda: known_model)


def test_the_operating_system_is_that_of_the_node(node: SmallNode) -> None:
    """Where the root of the node is mounted its os-release is read, not our own."""
    host = _reader(_tree(node)).read().value
    assert (host.os_name, host.os_version) == ("Debian GNU/Linux", "12")
    assert (host.hostname, host.kernel_version) == ("host-a", "6.1.0-13-amd64")
    assert host.uptime_secs == 86400.52


def test_what_is_not_said_is_missing_with_a_reason(node: SmallNode) -> None:
    """An unknown processor is None and named among the missing fields."""
    reading = _reader(_tree(node)).read()
    assert reading.value.cpu_model is None
    assert [missing.field for missing in reading.missing] == ["cpu_model"]


def test_the_kernels_name_of_the_processor_is_there_at_once(node: SmallNode) -> None:
    """What py-cpuinfo says wins once it has spoken."""
    root = _tree(node, "processor\t: 0\nmodel name\t: AMD EPYC 9654\n")
    assert _reader(root).read().value.cpu_model == "AMD EPYC 9654"
    assert _reader(root, "AMD EPYC 9654 96-Core").read().value.cpu_model == "AMD EPYC 9654 96-Core"


@pytest.mark.parametrize("text", ["", "abc", "\n", "12,5 3"])
def test_an_uptime_that_is_no_number_fails(text: str) -> None:
    """It is never taken for zero."""
    with pytest.raises(SourceFailed):
        parse_uptime(text)


def test_os_release_is_unquoted_and_bounded() -> None:
    """Quotes, comments, empty and broken lines are handled; hostile values are cleaned."""
    values = parse_os_release(OS_RELEASE + "EVIL=a\x1bb\n")
    assert values["NAME"] == "Debian GNU/Linux"
    assert values["VERSION_ID"] == "12"
    assert values["EVIL"] == "a\ufffdb"
    assert "EMPTY" not in values


def test_an_arm_cpuinfo_has_no_model() -> None:
    """Most Arm kernels do not name the processor."""
    assert parse_cpu_model("processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd40\n") is None
