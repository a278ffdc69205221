"""A real Prometheus scrapes the real program, in both formats."""

import http.client
import json
import shutil
import socket
import subprocess
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.nvml_library import NvmlLibrary
from tests.program import Program, wait_for
from tests.serving import serving

SCRAPES = 3
CONFIG = """
global: {{scrape_interval: 300ms, scrape_timeout: 300ms}}
scrape_configs:
  - job_name: openmetrics
    static_configs: [{{targets: ["127.0.0.1:{openmetrics}"]}}]
  - job_name: text
    static_configs: [{{targets: ["127.0.0.1:{text}"]}}]
"""


class Prometheus:
    """Prometheus on loopback, scraping the program directly and through one that wants text."""

    def __init__(self, folder: Path, openmetrics: int, text: int) -> None:
        config = folder / "prometheus.yml"
        config.write_text(CONFIG.format(openmetrics=openmetrics, text=text))
        with socket.create_server(("127.0.0.1", 0)) as sock:
            self._port = int(sock.getsockname()[1])
        self._log = folder / "prometheus.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={config}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                ],
                stdout=log,
                stderr=log,
            )

    def end(self) -> None:
        """Stop it."""
        self._process.kill()
        self._process.wait()

    @property
    def complaints(self) -> list[str]:
        """What it logged as a warning or an error."""
        lines = self._log.read_text().splitlines()
        return [line for line in lines if "level=warn" in line or "level=error" in line]

    def query(self, expression: str) -> dict[str, float]:
        """The value of an expression by job."""
        result = self._get(f"/api/v1/query?query={urllib.parse.quote(expression)}")["result"]
        return {row["metric"]["job"]: float(row["value"][1]) for row in result}

    def has_scraped(self, times: int) -> bool | None:
        """Whether each job was scraped so often."""
        try:
            counts = self.query("count_over_time(up[1m])")
        except (OSError, ValueError):
            return None  # it does not listen, or is not ready yet
        return (len(counts) == 2 and min(counts.values()) >= times) or None

    def has_all(self) -> bool:
        """Whether it has a series for each sample of its last scrapes."""
        taken = self.query('count by (job) ({__name__=~"hw_.*"})')
        return taken == self.query("scrape_samples_scraped")

    def last_errors(self) -> dict[str, str]:
        """What went wrong with the last scrape of each job."""
        targets = self._get("/api/v1/targets")["activeTargets"]
        return {target["labels"]["job"]: target["lastError"] for target in targets}

    def _get(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read()).get("data", {})
        finally:
            connection.close()


@contextmanager
def _asking_for_text(program: Program) -> Iterator[int]:
    """The port of a proxy that says nothing about formats, as old scrapers do."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = program.get(self.path)
            self.send_response(answer.status)
            for name in ("content-type", "content-length"):
                self.send_header(name, answer.headers[name])
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    with serving(server):
        yield server.server_port


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")
def test_prometheus_takes_every_sample(tmp_path: Path, nvml: NvmlLibrary) -> None:
    """Every scrape succeeds in both formats, every sample is taken, and nothing is warned about."""
    marker = tmp_path / "driver"
    marker.touch()
    nvml.say(capture="h100x8.scenario")
    changes: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 0.2},
        "gpu": {"driver_markers": [str(marker)]},
    }
    with (
        Program(tmp_path / "run", changes, environment=nvml.environment) as program,
        _asking_for_text(program) as text_port,
    ):
        program.page_with("hw_gpu_temperature_celsius")
        prometheus = Prometheus(tmp_path, program.port, text_port)
        try:
            wait_for(lambda: prometheus.has_scraped(SCRAPES), "Prometheus to scrape")
            assert prometheus.last_errors() == {"openmetrics": "", "text": ""}
            assert prometheus.query("min_over_time(up[1m])") == {"openmetrics": 1, "text": 1}
            assert prometheus.query("count by (job) (hw_gpu_up)") == {"openmetrics": 8, "text": 8}
            wait_for(prometheus.has_all, "every sample to be taken")
            assert prometheus.complaints == []
        finally:
            prometheus.end()
