"""The settings of `hw-exporter demo`: a simulated node in a temporary directory."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exporter.collectors.demo.files import KERNEL_LOG, NodeFolder
from exporter.collectors.demo.node import DemoNode
from exporter.collectors.demo.script import FIRST_SECS, coming
from exporter.config import Config
from exporter.reports.units import duration

INTERVAL_SECS = 5.0
"""Incidents of the demo are short, so collections are more frequent than on hardware."""


@contextmanager
def simulated(given: dict[str, Any], *, whole_node: bool) -> Iterator[dict[str, Any]]:
    """Yield tables of the configuration for a demo; `given` are keys of `[demo]`."""
    with tempfile.TemporaryDirectory(
        prefix="hw-exporter-demo-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        settings: dict[str, Any] = {
            "gpu": {"backend": "demo"},
            "demo": {"start": FIRST_SECS, **given, "folder": name, "whole_node": whole_node},
            "metrics": {"collect_interval_secs": INTERVAL_SECS},
        }
        if whole_node:
            _write_first_files(folder)
            settings["kernel_log"] = {"path": str(folder / KERNEL_LOG)}
            settings["sources"] = {
                "proc_root": str(folder / "proc"),
                "sys_root": str(folder / "sys"),
                "host_root": str(folder / "root"),
                "cpu_model_probe": False,
            }
        yield settings


def _write_first_files(folder: Path) -> None:
    """Write the files that the first collection reads before the probe has printed anything."""
    boottime = time.clock_gettime(time.CLOCK_BOOTTIME)
    node = DemoNode(1, seed=0, speed=1.0)
    files = NodeFolder(folder, boottime, with_host=True)
    files.write(node, (), boottime)
    files.close()


def plan(config: Config) -> Iterator[str]:
    """Describe the simulated node, its address, and the incidents with their times."""
    demo = config.demo
    port = config.server.port
    where = f"http://localhost:{port}/" if port else "the address in the log below"
    node = "a node with" if demo.whole_node else "this machine with"
    yield f"Simulates {node} {demo.gpus} GPUs: open {where}"
    if port:
        yield f"  or run: hw-exporter status --url localhost:{port} (top, faults, why, ps, doctor)"
    if demo.healthy:
        yield "No incidents."
        return
    yield "Incidents:"
    for secs, incident in coming(demo.start):
        wait = f"in {duration(secs / demo.speed)}"
        lasts = duration((incident.ends - incident.starts) / demo.speed)
        yield f"  {wait:<10} {incident.titled(demo.gpus)} (for {lasts})"
