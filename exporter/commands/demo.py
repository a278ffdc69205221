"""The settings of the command `demo`: a simulated node in a folder that lasts as long as it."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exporter.probes.demo.files import KERNEL_LOG, NodeFolder
from exporter.probes.demo.node import DemoNode

INTERVAL_SECS = 5.0
"""Incidents are short: they are looked at more often than hardware is."""


@contextmanager
def simulated(given: dict[str, Any], *, whole_node: bool) -> Iterator[dict[str, Any]]:
    """Tables of the configuration for the length of a demo; `given` are keys of `[demo]`."""
    with tempfile.TemporaryDirectory(
        prefix="hw-exporter-demo-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        settings: dict[str, Any] = {
            "gpu": {"backend": "demo"},
            "demo": {**given, "folder": name, "whole_node": whole_node},
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
    """What the first collection reads before the probe has said anything."""
    boottime = time.clock_gettime(time.CLOCK_BOOTTIME)
    node = DemoNode(1, seed=0, speed=1.0)
    files = NodeFolder(folder, boottime, with_host=True)
    files.write(node, (), boottime)
    files.close()
