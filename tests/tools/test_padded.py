"""The program that the benchmark measures: its pages are as long as they are said to be."""

import sys
from pathlib import Path

import pytest

from tests.program import Program

pytestmark = pytest.mark.system


def test_a_page_ends_with_the_made_up_series(tmp_path: Path) -> None:
    """So many series more than the program has by itself, in families of fifty."""
    command = (sys.executable, "-m", "bench.padded", "run")
    with Program(tmp_path, environment={"BENCH_SERIES": "130"}, command=command) as program:
        page = program.page_with("hw_node_healthy").text
    assert page.count("\nhw_bench_") == 130
    assert page.count("# TYPE hw_bench_") == 3
