"""A real OpenTelemetry Collector, built from Go modules; it writes what it receives to a file."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from tests.fakes.native import CACHE, fingerprint
from tests.fakes.prometheus import running
from tests.program import wait_for

SOURCES = Path(__file__).parent / "otel"
PROGRAM = "collector"
PATIENCE_SECS = 1200.0
"""For modules and compiler together, on a machine whose processors have other things to do."""


class NoCollector(Exception):
    """The Collector cannot be built here; the message says what is missing."""


def find_collector() -> Path:
    """Return the folder with the program built from these sources; raise NoCollector without."""
    target = CACHE / fingerprint(sorted(SOURCES.iterdir()), ("go build",))
    if not (target / PROGRAM).exists():
        raise NoCollector("not built: `python -m tests.fakes.otel_collector` takes minutes for it")
    return target


def build_collector() -> Path:
    """Build the program once for each content of its sources; return its folder.

    Raises NoCollector without Go or a module, and RuntimeError if it does not compile.
    """
    with suppress(NoCollector):
        return find_collector()
    if shutil.which("go") is None:
        raise NoCollector("go not installed")
    target = CACHE / fingerprint(sorted(SOURCES.iterdir()), ("go build",))
    # what the program is made of, fetched where it is not there yet
    found = _go("list", "-deps", ".")
    if found.returncode != 0:
        raise NoCollector(f"a Go module cannot be had: {_last_line(found.stderr)}")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        made = Path(scratch) / PROGRAM
        done = _go("build", "-trimpath", "-ldflags=-s -w", "-o", str(made), ".")
        if done.returncode != 0:
            raise RuntimeError(f"the Collector does not compile: {done.stderr}")
        made.replace(target / PROGRAM)
    return target


def _go(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run go after all others: tests beside it look at the time."""
    command = ["nice", "-n", "19", "go", *arguments]
    try:
        return subprocess.run(
            command, cwd=SOURCES, capture_output=True, text=True, check=False, timeout=PATIENCE_SECS
        )
    except subprocess.TimeoutExpired as error:
        raise NoCollector(f"go {arguments[0]} took longer than {PATIENCE_SECS:g} s") from error


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]


class Collector:
    """A running Collector; `url` is where it takes metrics over HTTP."""

    def __init__(self, port: int, written: Path) -> None:
        self.url = f"http://127.0.0.1:{port}/v1/metrics"
        self._written = written

    def requests(self) -> list[Any]:
        """Return the requests that it has received, the oldest first."""
        lines = self._written.read_text().splitlines(keepends=True)
        return [Parse(line, ExportMetricsServiceRequest()) for line in lines if line[-1:] == "\n"]


@contextmanager
def collector(program: Path, folder: Path, port: int) -> Iterator[Collector]:
    """Run a Collector of this folder of `build_collector` on the port, while the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    written, config = folder / "requests.jsonl", folder / "collector.yaml"
    settings = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {"lines": {"path": str(written)}},
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {"metrics": {"receivers": ["otlp"], "exporters": ["lines"]}},
        },
    }
    config.write_text(yaml.safe_dump(settings))
    command = [str(program / PROGRAM), "--config", str(config)]
    with running(command, folder / "collector.log"):
        wait_for(lambda: _listens(port), "the Collector to listen")
        yield Collector(port, written)


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    build_collector()
