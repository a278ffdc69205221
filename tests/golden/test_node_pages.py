"""Whole pages of the node around the GPUs, compared byte by byte; `make golden` rewrites them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.collectors.everything import FAMILIES
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Snapshot
from exporter.reports.node import hardware
from tests.collectors.whole_node import look_around
from tests.fakes.host_tree import HostTree, cpu_node, gpu_node, minimal

NODES: dict[str, Callable[[Path], HostTree]] = {"node_of_cpus": cpu_node, "node_of_gpus": gpu_node}
NOT_OF_THE_TREE = frozenset({"filesystem", "clock"})
"""What asks the kernel and not files would differ on every machine."""


@pytest.mark.parametrize("name", NODES)
def test_the_whole_page_is_as_expected(
    name: str, tmp_path: Path, is_as_expected: Callable[[str, str], None]
) -> None:
    """Every name, label, order, type and value."""
    snapshot = look_around(NODES[name](tmp_path), NOT_OF_THE_TREE)
    text = render(FAMILIES, snapshot, Format.TEXT).body.decode()
    is_as_expected(f"{name}.prom", text)
    openmetrics = render(FAMILIES, snapshot, Format.OPENMETRICS).body.decode() + "# EOF\n"
    assert len(list(parse_openmetrics(openmetrics))) == len(list(parse_text(text)))


@pytest.mark.parametrize("name", NODES)
def test_the_inventory_is_as_expected(
    name: str, tmp_path: Path, is_as_expected: Callable[[str, str], None]
) -> None:
    """Every field of the hardware around the GPUs at `/node`, in its order."""
    found = hardware(look_around(NODES[name](tmp_path), NOT_OF_THE_TREE))
    is_as_expected(f"{name}.hardware.json", json.dumps(found, indent=1) + "\n")


def test_a_node_without_hardware_has_empty_lists(tmp_path: Path) -> None:
    """No field is left out: readers find every list, and null where it is not known whose."""
    found = hardware(look_around(minimal(tmp_path), NOT_OF_THE_TREE))
    assert set(map(str, found.values())) == {"[]", "None"}
    assert found["network_namespace"] is None


def test_errors_of_links_are_counted_from_zero(tmp_path: Path) -> None:
    """Each GPU and each port has a total before its first error, on a node of any size."""
    tree = gpu_node(tmp_path)
    before = _totals(look_around(tree, NOT_OF_THE_TREE))
    names = {line.partition("{")[0] for line in before}
    assert names == {"hw_pcie_gpu_errors_total", "hw_infiniband_port_all_errors_total"}
    assert set(before.values()) == {"0"}
    aer = tree.sys / "bus/pci/devices/0000:18:00.0/aer_dev_fatal"
    aer.write_text(aer.read_text().replace("DLP 0", "DLP 3").replace("FATAL 0", "FATAL 3"))
    after = _totals(look_around(tree, NOT_OF_THE_TREE))
    assert after.keys() == before.keys()
    assert [line for line in after if after[line] != before[line]] == [
        'hw_pcie_gpu_errors_total{node="node-1",device="0000:18:00.0",severity="fatal"}'
    ]


def _totals(snapshot: Snapshot) -> dict[str, str]:
    """The totals of GPUs on the bus and of InfiniBand ports on the page, by their series."""
    page = render(FAMILIES, snapshot, Format.TEXT).body.decode()
    lines = re.findall(
        r"^(hw_(?:pcie_gpu|infiniband_port_all)_errors_total.*) (\S+)$", page, re.MULTILINE
    )
    return dict(lines)
