"""The arithmetic of docs/sizing.md, and its figures against the real page."""

import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.program import Program
from tools.sizing import (
    INTERVAL_SECS,
    NODES,
    RETENTION_DAYS,
    PageSize,
    figures,
    of_cluster,
    size_of,
)

SIZES = {kind: PageSize(**size) for kind, size in figures()["pages"].items()}


def test_the_figures_are_those_of_the_real_page(tmp_path: Path) -> None:
    """The simulated node's page has about as many series as stated, each counted once."""
    demo = (sys.executable, "-m", "exporter", "demo", "--whole-node", "--speed=20")
    with Program(tmp_path, command=demo) as program:
        program.page_with("hw_network_receive_bytes_total")
        body = program.page_with("hw_gpu_workload_info").body
    families = text_string_to_metric_families(body.decode())
    samples = [item for family in families for item in family.samples]
    assert size_of(body).series == len(samples)
    assert len(samples) == pytest.approx(SIZES["node with 8 GPUs"].series, rel=0.25)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("page", SIZES.values(), ids=SIZES)
def test_clusters_are_multiples(page: PageSize, nodes: int) -> None:
    """A cluster has so many times the series of its node, and disk for its days."""
    found = of_cluster(page, nodes)
    assert found["series"] == page.series * nodes
    assert found["samples_per_sec"] * INTERVAL_SECS == pytest.approx(found["series"])
    samples_kept = found["samples_per_sec"] * 86_400 * RETENTION_DAYS
    assert found["disk_bytes"] == pytest.approx(samples_kept * 1.5)
    assert (found["servers"] - 1) * 10_000_000 < found["series"] <= found["servers"] * 10_000_000


def test_a_page_stays_within_its_budget() -> None:
    """A CPU node has at most 400 series and a GPU at most 120 more."""
    assert SIZES["CPU node"].series <= 400
    assert SIZES["node with 8 GPUs"].series <= 400 + 8 * 120
