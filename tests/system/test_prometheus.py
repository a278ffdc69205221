"""A real Prometheus scrapes the real program, in both formats."""

from pathlib import Path
from typing import Any

from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.prometheus import Prometheus, needs, prometheus_of
from tests.program import Program, wait_for
from tests.serving import replying

SCRAPES = 3
CONFIG = """
global: {{scrape_interval: 300ms, scrape_timeout: 300ms}}
scrape_configs:
  - job_name: openmetrics
    static_configs: [{{targets: ["127.0.0.1:{openmetrics}"]}}]
  - job_name: text
    static_configs: [{{targets: ["{text}"]}}]
"""


def _by_job(server: Prometheus, expression: str) -> dict[str, float]:
    """The value of an expression by job."""
    return {row["metric"]["job"]: float(row["value"][1]) for row in server.query(expression)}


def _has_scraped(server: Prometheus) -> bool:
    counts = _by_job(server, "count_over_time(up[1m])")
    return len(counts) == 2 and min(counts.values()) >= SCRAPES


def _has_all(server: Prometheus) -> bool:
    """Whether it has a series for each sample of its last scrapes."""
    taken = _by_job(server, 'count by (job) ({__name__=~"hw_.*"})')
    return taken == _by_job(server, "scrape_samples_scraped")


@needs("prometheus")
def test_prometheus_takes_every_sample(tmp_path: Path, nvml: NvmlLibrary) -> None:
    """Every scrape succeeds in both formats, every sample is taken, and nothing is warned about."""
    marker = tmp_path / "driver"
    marker.touch()
    nvml.say(capture="h100x8.scenario")
    changes: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 0.2},
        "gpu": {"driver_markers": [str(marker)]},
    }
    config = tmp_path / "prometheus.yml"
    with (
        Program(tmp_path / "run", changes, environment=nvml.environment) as program,
        # says nothing about formats, as old scrapers do
        replying(lambda path, _: program.get(path).body) as text,
    ):
        program.page_with("hw_gpu_temperature_celsius")
        config.write_text(CONFIG.format(openmetrics=program.port, text=text))
        with prometheus_of(config, tmp_path) as server:
            wait_for(lambda: _has_scraped(server), "Prometheus to scrape")
            targets = server.ask("targets")["activeTargets"]
            assert {it["labels"]["job"]: it["lastError"] for it in targets} == {
                "openmetrics": "",
                "text": "",
            }
            assert _by_job(server, "min_over_time(up[1m])") == {"openmetrics": 1, "text": 1}
            assert _by_job(server, "count by (job) (hw_gpu_up)") == {"openmetrics": 8, "text": 8}
            wait_for(lambda: _has_all(server), "every sample to be taken")
    lines = (tmp_path / "prometheus.log").read_text().splitlines()
    assert [it for it in lines if "level=warn" in it or "level=error" in it] == []
