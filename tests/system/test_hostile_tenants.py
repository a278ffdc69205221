"""The real program on a node whose tenants do everything they can at once."""

import time
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from bench.processes import pss_bytes
from tests.fakes.fixtures import built
from tests.fakes.fuse import StuckFiles, released
from tests.fakes.native import build_nvml
from tests.hostile import FORGED, SECRET, HostileNode
from tests.program import Program, wait_for

MIB = 1024 * 1024
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
MAX_OWN_BYTES = 96 * MIB


@pytest.fixture
def node(tmp_path: Path, stuck_files: StuckFiles) -> HostileNode:
    """Everything at once, and a file that hangs besides."""
    built(build_nvml)
    return HostileNode(tmp_path / "node", hanging=stuck_files.hang("io"))


def test_everything_at_once(node: HostileNode, stuck_files: StuckFiles) -> None:
    """Ten thousand processes, five thousand interfaces, hostile names, links, forged lines.

    The page parses in both formats and is bounded, tells no secret, believes no forged line, and
    is quick; memory is bounded, and one thread hangs in the kernel, not more.
    """
    with node.start() as program, released(stuck_files, "io"):
        program.page_with("hw_gpu_processes{")
        for _ in range(20):
            node.say_in_kernel_log(FORGED)
        wait_for(lambda: program.value("hw_kernel_log_rejected_records_total"), "lines")
        slowest = max(_seconds_of_a_scrape(program) for _ in range(20))
        text = program.get("/metrics").text
        openmetrics = program.get("/metrics", Accept=OPENMETRICS).text
        said = [text, *(program.get(path).text for path in ("/node", "/processes", "/faults"))]
        assert "gpu_lost" not in said[-1]
        # Between two collections: what was freed is given back to the system now and then.
        wait_for(lambda: _own_bytes(program) < MAX_OWN_BYTES, "its memory")
        assert program.get("/health").status == 200
        assert stuck_files.waiting("io") == 1
        assert len(program.log_lines) < 20
    assert slowest < 1.0
    assert len(text.encode()) < MIB
    assert _samples(text) == _samples(openmetrics)
    assert not [text for text in said if SECRET in text]
    assert "Traceback" not in program.log_file.read_text()


def _own_bytes(program: Program) -> int:
    """Its memory without its children; pages that it shares with others count in part."""
    return pss_bytes(program.process.pid)


def _samples(page: str) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
    """All series of a page; fails when one is there twice."""
    parse = parse_openmetrics if page.endswith("# EOF\n") else parse_text
    found = [
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in parse(page)
        for sample in family.samples
    ]
    assert len(found) == len(set(found))
    assert all(name.startswith("hw_") for name, _ in found)
    otherwise_named = ("hw_exporter_http", "hw_node_uptime_seconds")
    return {each for each in found if not each[0].startswith(otherwise_named)}


def _seconds_of_a_scrape(program: Program) -> float:
    began = time.monotonic()
    assert program.get("/metrics").status == 200
    return time.monotonic() - began
