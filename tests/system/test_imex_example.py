"""The example probe of an IMEX domain, from what nvidia-imex-ctl prints to the fault and its end.

The shape of the answer is that of `nvidia-imex-ctl -N -j` of driver 580 on two nodes.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.everything import NAMES
from exporter.collectors.external_probes.lines import LineReader
from exporter.model.probe import ProbeMetric
from tests.program import ROOT, Program, wait_for

IMEX = ROOT / "examples/imex"
OWN, PEER = "127.0.0.1", "192.0.2.7"  # an address of every node, and one of none
pytestmark = pytest.mark.system


def domain(peer: str = "READY", to_peer: str = "CONNECTED", state: str = "UP") -> dict[str, Any]:
    """Return what is printed of a domain of two nodes, seen from the first."""
    connected = {"0": {"host": OWN, "status": "CONNECTED", "changed": True}}
    connected["1"] = {"host": PEER, "status": to_peer, "changed": True}
    unknown = {key: {**it, "status": "INVALID"} for key, it in connected.items()}
    there = connected if peer == "READY" else unknown
    about = {"changed": True, "version": "580.95.05"}
    own = {"status": "READY", "host": OWN, "connections": connected, **about}
    nodes = {"0": own, "1": {"status": peer, "host": PEER, "connections": there, **about}}
    return {"nodes": nodes, "timestamp": "9/4/2026 00:37:39.905", "status": state}


DOWN = domain("UNAVAILABLE", "INVALID", "DEGRADED")


class Control:
    """A stand-in for nvidia-imex-ctl that prints what is put beside it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "nvidia-imex-ctl"
        self.said = folder / "said"
        self.path.write_text(
            f'#!/bin/sh\n[ "$*" = "-N -j" ] && cat {self.said} || exit 255\n', encoding="ascii"
        )
        self.path.chmod(0o755)

    def say(self, text: str) -> None:
        """Print this from now on."""
        fresh = self.said.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self.said)


@pytest.fixture(name="control")
def _control(tmp_path: Path) -> Control:
    return Control(tmp_path)


def asked(control: Control) -> tuple[int, dict[str, float], str]:
    """Run the probe once: its exit code, its values by name and host, and what it complains of."""
    command = [sys.executable, str(IMEX / "probe.py"), str(control.path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    reader = LineReader("imex", NAMES.__contains__, lambda: 0.0)
    records = [reader.parse(json.loads(line)) for line in run.stdout.splitlines()]
    assert all(isinstance(it, ProbeMetric) for it in records)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    values = {" ".join([it["metric"], *it["labels"].values()]): it["value"] for it in rows}
    return run.returncode, values, run.stderr


def test_a_domain_that_is_up(control: Control) -> None:
    """Each node is ready and connected; all lines are accepted."""
    control.say(json.dumps(domain()))
    assert asked(control) == (
        0,
        {
            "hw_imex_domain_up": 1,
            "hw_imex_domain_nodes": 2,
            "hw_imex_domain_nodes_ready": 2,
            f"hw_imex_node_ready {OWN}": 1,
            f"hw_imex_node_ready {PEER}": 1,
            f"hw_imex_node_connected {OWN}": 1,
            f"hw_imex_node_connected {PEER}": 1,
        },
        "",
    )


def test_nothing_is_said_of_connections_by_a_node_that_is_not_ready(control: Control) -> None:
    """What is printed of them then was never asked."""
    found = domain("UNAVAILABLE", "INVALID", "DOWN")
    found["nodes"]["0"]["status"] = "UNAVAILABLE"
    control.say(json.dumps(found))
    _, values, _ = asked(control)
    assert values["hw_imex_domain_nodes_ready"] == 0
    assert not any("connected" in name for name in values)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"nodes": 7}', '{"nodes": {"0": {"host": [], "status": "READY"}}}'],
)
def test_what_is_no_answer_is_one_sentence_and_no_value(control: Control, text: str) -> None:
    """No value is better than one that was made up."""
    control.say(text)
    code, values, complaint = asked(control)
    assert (code, values) == (1, {})
    assert len(complaint.splitlines()) == 1


def test_a_control_program_that_fails_or_is_not_there(control: Control) -> None:
    """Its exit code, or what the kernel says, is the reason."""
    assert "exit code 255" in asked(control)[2]
    control.path.unlink()
    assert "No such file" in asked(control)[2]


def test_a_node_that_is_not_ready_is_a_fault_until_it_is(tmp_path: Path, control: Control) -> None:
    """Through the program: the node is named, the domain follows from it, and both end."""
    rules = tmp_path / "rules.toml"
    rules.write_text(re.sub('for = "[0-9]+s"', 'for = "0s"', (IMEX / "rules.toml").read_text()))
    control.say(json.dumps(DOWN))
    probe = {
        "name": "imex",
        "command": [sys.executable, str(IMEX / "probe.py"), str(control.path)],
        "mode": "interval",
        "every": "1s",
        "deadline": "9s",
    }
    changes: dict[str, dict[str, Any]] = {"faults": {"rules_dirs": [str(rules)]}}
    changes["metrics"] = {"collect_interval_secs": 1}
    with Program(tmp_path / "run", changes, probes=[probe]) as program:

        def faults() -> dict[str, dict[str, Any]]:
            found = program.get("/faults").document.get("faults", ())
            return {it["rule"]: it for it in found if it["state"] == "active"}

        wait_for(lambda: "imex_node_not_ready" in faults() or None, "the fault")
        found = wait_for(lambda: f if "imex_domain_not_up" in (f := faults()) else None, "both")
        assert found["imex_node_not_ready"]["summary"].startswith(f"IMEX on {PEER} is not ready")
        assert "1 of 2 nodes are ready" in found["imex_domain_not_up"]["summary"]
        row = re.compile(rf'hw_imex_node_ready\{{[^}}]*host="{PEER}"[^}}]*\}} 0$', re.MULTILINE)
        assert row.search(program.first_page().text)
        assert "imex_node_disconnected" not in found
        assert [rule for rule, it in found.items() if it["root"]] == ["imex_node_not_ready"]
        control.say(json.dumps(domain(to_peer="DISCONNECTED")))
        wait_for(lambda: [*faults()] == ["imex_node_disconnected"] or None, "the other fault")
        control.say(json.dumps(domain()))
        wait_for(lambda: not faults() or None, "the end")
