"""The arithmetic of docs/sizing.md, and its figures against the real page."""

import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.program import Program
from tools.sizing import PageSize, figures, of_cluster, size_of

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


def test_a_cluster_is_so_many_nodes() -> None:
    """A hundred nodes of 1,000 series, every 15 s for 15 days: worked out by hand."""
    found = of_cluster(PageSize(series=1_000, plain_bytes=100_000, gzip_bytes=15_000), 100)
    assert found["series"] == 100_000
    assert found["samples_per_sec"] == pytest.approx(6_666.67, abs=0.01)
    assert found["scrape_bytes_per_sec"] == 100_000
    assert found["disk_bytes"] == pytest.approx(12.96e9)  # 8.64 thousand million samples
    assert found["servers"] == 1


def test_ten_million_series_need_a_second_server() -> None:
    """One series more than a server takes needs another."""
    assert of_cluster(PageSize(10_000_000, 1, 1), 1)["servers"] == 1
    assert of_cluster(PageSize(10_000_001, 1, 1), 1)["servers"] == 2


def test_a_page_stays_within_its_budget() -> None:
    """A CPU node has at most 400 series and a GPU at most 120 more."""
    assert SIZES["CPU node"].series <= 400
    assert SIZES["node with 8 GPUs"].series <= 400 + 8 * 120
