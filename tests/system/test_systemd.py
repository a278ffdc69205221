"""A real systemd: what the exporter reads of its services."""

import re
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.services.collector import ServicesReader
from exporter.collectors.services.values import Services
from exporter.reading.source import SourceAbsent
from tests.fakes.real_systemd import systemd, why_not
from tests.program import Program, wait_for

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"systemd: {why_not()}")

SERVICES = {
    "containerd": "ExecStart=/bin/false\nRestart=always\nRestartSec=1",
    "kubelet": "ExecStart=/bin/sleep 1000",
    "nvidia-fabricmanager": "ExecStart=/bin/false",
    "backup": "ExecStart=/bin/sh -c 'kill -9 $$$$'",
}


def test_services_of_a_real_systemd(tmp_path: Path) -> None:
    """One runs, one failed, one is restarted again and again; a disabled unit of others failed."""
    with systemd(tmp_path, SERVICES) as socket:
        reader = ServicesReader(socket, tmp_path, ("kubelet", *SERVICES, "not-installed"))

        def settled() -> Services | None:
            try:
                found = reader.read().value
            except SourceAbsent:  # it boots
                return None
            restarted = found.services[1]  # for a moment it is active
            return found if (restarted.restarts_total or 0) > 1 and not restarted.active else None

        found = wait_for(settled, "two restarts")
        named = {each.service: each for each in found.services}
        assert sorted(named) == ["backup", "containerd", "kubelet", "nvidia-fabricmanager"]
        assert named["kubelet"].active
        assert named["kubelet"].enabled
        assert named["kubelet"].standing == "active (running)"
        assert named["backup"].condition_met
        assert named["nvidia-fabricmanager"].standing == "failed (exit-code)"
        assert named["backup"].standing == "failed (signal)"
        assert not named["containerd"].active
        assert all((each.state_change_timestamp_seconds or 0) > 1.7e9 for each in found.services)
        assert found.failed_units == 2
        assert found.failed_names == "backup.service, nvidia-fabricmanager.service"


def test_the_page_of_the_program(tmp_path: Path, short_path: Path) -> None:
    """The real program finds the bus under its root of the host, and the page has the states."""
    (short_path / "run").mkdir()
    with systemd(tmp_path, SERVICES) as socket:
        (short_path / "run/dbus").symlink_to(socket.parent)
        settings: dict[str, dict[str, Any]] = {
            "sources": {"host_root": str(short_path)},
            "metrics": {"collect_interval_secs": 1},
        }
        with Program(tmp_path / "program", settings) as program:
            wait_for(lambda: _failed_units(program) == "2", "two failed units")
            page = program.get("/metrics").text
    shown = re.findall(r'^hw_service_(\w+)\{.*service="kubelet"\} (\S+)$', page, re.MULTILINE)
    assert {("active", "1"), ("enabled", "1"), ("restarts_total", "0")} < set(shown)
    assert re.search(r'^hw_service_active\{.*service="containerd"\} 0$', page, re.MULTILINE)


def _failed_units(program: Program) -> str | None:
    page = program.page_with("hw_exporter_collections_total").text
    found = re.search(r"^hw_node_failed_units\{.*\} (\d+)$", page, re.MULTILINE)
    return found[1] if found else None
