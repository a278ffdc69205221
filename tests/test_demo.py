"""The command `demo`: the real program on a simulated node."""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.demo.script import FIRST_SECS, INCIDENTS, coming
from exporter.commands.demo import plan
from exporter.config.file import Layer, load
from tests.commands.running import run_program
from tests.fakes.promtool import listed_remarks, remarks
from tests.program import Program, wait_for

pytestmark = pytest.mark.system

MOST_SERIES_OF_A_GPU, MOST_SERIES_OF_A_NODE = 120, 400
"""So many series each GPU may add, and so many all else on the node together."""


def _demo(folder: Path, *options: str) -> Program:
    command = (sys.executable, "-m", "exporter", "demo", "--gpus", "8", *options)
    changes = {"kernel_log": {"enabled": True}}
    environment = {
        "TMPDIR": str(folder),
        "APP__METRICS__COLLECT_INTERVAL_SECS": "1",
        "APP__PROCESSES__POD_UIDS": "true",
    }
    return Program(folder, changes, environment=environment, command=command)


def _pods(program: Program) -> set[str | None]:
    """Return the pods that have a process on a GPU now; the one on a lost GPU comes back."""
    return {process["pod"] for process in program.get("/processes").document["processes"]}


def test_a_whole_node_can_be_seen_working(tmp_path: Path) -> None:
    """GPUs, pods, host and kernel log are there, incidents come, and the page lints clean."""
    with _demo(tmp_path, "--whole-node", "--speed", "400") as program:
        program.page_with("hw_gpu_xid_errors_total{")
        # So fast that a process may end between two looks: that passes.
        page = program.page_with('reason="ok"} 1').text
        assert 'backend="demo",reason="ok"' in page
        assert 'pod="llama-train-0",container="trainer"' in page
        assert "hw_disk_io_time_seconds_total{" in page
        assert re.search(r'pod_info\{.*pod="llama-train-0",pod_uid="[0-9a-f-]{32,36}"', page)
        wait_for(lambda: _pods(program) >= {"llama-train-0", "embed-0"}, "both pods")
        program.page_with("hw_kernel_log_events_total{")
        code, secs = program.stop()
    of_gpus, of_node = _series(page)
    assert max(of_gpus.values()) <= MOST_SERIES_OF_A_GPU
    assert of_node <= MOST_SERIES_OF_A_NODE
    assert code == 0
    assert secs < 2
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("hw-exporter-demo")]
    assert remarks(page.encode()) <= listed_remarks()


def _series(page: str) -> tuple[Counter[str], int]:
    """Count the series of each GPU, and those that name no GPU."""
    series = [line for line in page.splitlines() if not line.startswith("#")]
    found = [re.search(r'gpu_uuid="([^"]+)"', line) for line in series]
    return Counter(each[1] for each in found if each), found.count(None)


def test_only_the_gpus_are_simulated_unless_more_is_asked_for(tmp_path: Path) -> None:
    """Without the switch the host is the real one, and simulated processes are still found."""
    with _demo(tmp_path) as program:
        page = program.page_with("hw_gpu_workload_info{").text
        assert 'cpu_model="Demo' not in page
        assert page.count("hw_gpu_up{") == 8
        assert program.stop()[0] == 0


def test_something_breaks_within_ten_seconds(tmp_path: Path) -> None:
    """Whoever tries it need not wait: the script begins six seconds before a GPU is lost."""
    with _demo(tmp_path) as program:
        program.first_page()
        fault = wait_for(lambda: _critical(program), "a critical fault")
        assert fault["rule"] == "gpu_lost"
    seconds, incident = coming(FIRST_SECS)[0]
    assert (seconds, incident.titled(8)) == (6, "GPU 5 falls off the bus")


def _critical(program: Program) -> dict[str, Any] | None:
    faults = program.get("/faults").document["faults"]
    return next((fault for fault in faults if fault["severity"] == "critical"), None)


def test_a_healthy_one_stays_healthy(tmp_path: Path) -> None:
    """A whole cycle of the script passes without any fault, Xid or event."""
    with _demo(tmp_path, "--whole-node", "--healthy", "--speed", "900") as program:
        program.page_with('pod="llama-train-0"')
        start = program.get("/status").document["collected_at"]
        wait_for(
            lambda: program.get("/status").document["collected_at"] >= start + 3,
            "a cycle of the script",
        )
        document = program.get("/faults").document
        page = program.get("/metrics").text
    assert (document["healthy"], document["faults"]) == (True, [])
    assert "hw_gpu_xid_errors_total{" not in page
    assert "hw_kernel_log_events_total{" not in page


def test_the_plan_says_what_comes_when() -> None:
    """All incidents in their order, or that nothing goes wrong."""
    config = load([Layer("test", {"demo": {"start": FIRST_SECS, "gpus": 2, "speed": 2.0}})])
    lines = list(plan(config))
    assert "http://localhost:8080/" in lines[0]
    assert re.search(r"in 3 s +GPU 1 falls off the bus \(for 90 s\)", lines[3])
    assert len(lines) == 3 + len(INCIDENTS)
    healthy = load([Layer("test", {"demo": {"healthy": True}})])
    assert list(plan(healthy))[-1] == "No incidents."


def test_a_wrong_number_of_gpus_is_refused(tmp_path: Path) -> None:
    """Bounds hold for the options of the demo as for any key of the configuration."""
    ended = run_program("demo", "--gpus", "99", environment={"TMPDIR": str(tmp_path)})
    assert ended.returncode == 2
    assert 'demo.gpus is "99", but must be at most 16' in ended.stderr
    assert not any(tmp_path.iterdir())
