"""The real program and its faults: from a line of the kernel log to the pages, over restarts."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.commands.running import run
from tests.fakes.kmsg import KernelLog
from tests.program import ROOT, Program, value_of, wait_for

LOST = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
GPU = "0000:3b:00.0"


def settings(log: KernelLog, **more: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A program that follows this log and collects rarely: events do not wait for it."""
    return {
        "kernel_log": {"enabled": True, "path": str(log.path)},
        "metrics": {"collect_interval_secs": 60},
        **more,
    }


def faults(program: Program) -> list[dict[str, Any]]:
    """What /faults says."""
    found: list[dict[str, Any]] = program.get("/faults").document["faults"]
    return found


def wait_for_fault(program: Program, rule: str) -> dict[str, Any]:
    """The fault of this rule, as soon as it is there."""

    def look() -> dict[str, Any] | None:
        return next((fault for fault in faults(program) if fault["rule"] == rule), None)

    return wait_for(look, f"the fault {rule}")


def test_a_line_of_the_kernel_log_is_a_fault_at_once(tmp_path: Path, kernel_log: KernelLog) -> None:
    """Gauge, page, health and reason follow a line without waiting for a collection."""
    with Program(tmp_path / "program", settings(kernel_log)) as program:
        program.first_page()
        assert "hw_faults{" in program.page_with("hw_node_healthy").text
        kernel_log.say(LOST)
        began = time.monotonic()
        text = program.page_with('fault="gpu_lost"').text
        assert time.monotonic() - began < 5  # a second, with room for a busy machine
        assert value_of(text, "hw_node_healthy") == 0
        assert f'cause="gpu_lost",cause_hw_type="gpu",cause_hw_id="{GPU}"' in text
        fault = wait_for_fault(program, "gpu_lost")
        assert LOST in fault["evidence"][0]["raw"]
        why = program.get(f"/why?hw_id={GPU}&format=text").text
        assert "no longer answers on PCIe" in why
        said = wait_for(
            lambda: [x for x in program.log_lines if x.get("fault") == "gpu_lost"],
            "the fault in the log",
        )
        assert [(line["state"], line["severity"]) for line in said] == [("active", "critical")]


def test_a_flood_hides_nothing(tmp_path: Path, kernel_log: KernelLog) -> None:
    """Ten thousand lines as fast as they are taken, twenty Xids among them: all are counted."""
    with Program(tmp_path / "program", settings(kernel_log)) as program:
        program.first_page()
        before = program.resident_bytes()
        for number in range(10_000):
            kernel_log.insist(f"eth0: renamed from veth{number}" if number % 500 else LOST)
        program.page_with('kind="xid"} 20')
        assert program.resident_bytes() < before + 16 * 2**20
        assert len(program.log_lines) < 10


def test_what_a_program_writes_is_not_believed(tmp_path: Path, kernel_log: KernelLog) -> None:
    """A line of user space is counted and makes no fault."""
    with Program(tmp_path / "program", settings(kernel_log)) as program:
        program.first_page()
        kernel_log.say(LOST, prefix=12)
        kernel_log.say("BUG: kernel NULL pointer dereference, address: 0000000000000010")
        wait_for_fault(program, "kernel_oops")
        assert [fault["rule"] for fault in faults(program)] == ["kernel_oops"]


def test_rule_runner_can_be_switched_off(tmp_path: Path) -> None:
    """Then nothing is said of faults, and health is not claimed."""
    with Program(tmp_path / "program", {"faults": {"enabled": False}}) as program:
        text = program.first_page().text
        assert "hw_node_healthy" not in text
        assert program.get("/faults").document["healthy"] is None


def test_a_mistake_is_fatal_where_that_is_asked_for(tmp_path: Path) -> None:
    """--strict-rules ends with code 2 and lines that name file, rule and place."""
    (tmp_path / "own.toml").write_text('[[rule]]\nid = "own"\nentity = "gpu"\nwhen = "heat > 5"\n')
    config = tmp_path / "config.toml"
    config.write_text(f'[faults]\nrules_dirs = ["{tmp_path / "own.toml"}"]\n')
    strict = run("run", "--strict-rules", "--check-config", "--config", str(config))
    assert (strict.returncode, strict.stdout) == (2, "")
    lines = strict.stderr.splitlines()
    assert lines
    assert all("own.toml:2: rule own: " in line for line in lines)
    lenient = run("run", "--check-config", "--config", str(config))
    assert (lenient.returncode, lenient.stderr) == (2, strict.stderr)


def test_rules_can_be_checked_and_listed(tmp_path: Path) -> None:
    """All mistakes at once, with code 2; the shipped rules are good."""
    assert run("rules", "check").returncode == 0
    (tmp_path / "own.toml").write_text('[[rule]]\nid = "own"\nwhat = 5\n')
    found = run("rules", "check", str(tmp_path))
    assert found.returncode == 2
    assert "what: is not a key of a rule" in found.stdout
    assert "severity: is missing" in found.stdout
    listed = run("rules", "list").stdout
    assert "gpu_lost" in listed
    assert len(listed.splitlines()) >= 60


def test_a_recording_is_replayed(tmp_path: Path) -> None:
    """What would have been said, when, and why; a line that makes no sense is named."""
    recording = tmp_path / "incident.jsonl"
    card = {"index": 0, "uuid": "GPU-a", "name": "H100", "pci_bus_id": "00000000:3B:00.0"}
    gpus = {"backend": {"backend": "nvml", "reason": "ok"}, "states": {"a": {"gpu": card}}}
    log = {"source": "kmsg", "reason": "ok", "records": 1, "lost": 0, "suppressed": 0}
    well = json.dumps({"at": 0, "readings": {"Gpus": gpus, "KernelLog": log}})
    recording.write_text(f'{well}\n{{"at": 30, "kernel": "{LOST}"}}\n')
    told = run("rules", "replay", str(recording))
    assert told.returncode == 0
    assert "30s  active   critical gpu_lost of gpu GPU 0" in told.stdout
    assert told.stderr == ""
    recording.write_text(f"{well}\n")
    assert run("rules", "replay", str(recording)).stdout == "no faults\n"
    recording.write_text('{"at": 0, "readings": {"Gpux": {}}}\n')
    wrong = run("rules", "replay", str(recording))
    assert wrong.returncode == 1
    assert "line 1: no reading Gpux; did you mean Gpus" in wrong.stderr
    (tmp_path / "own.toml").write_text('[[rule]]\nid = "own"\n')
    refused = run("rules", "replay", str(recording), "--rules", str(tmp_path / "own.toml"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "own.toml:2: rule own: entity: is missing" in refused.stderr


def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    """`rules list | head` ends without a traceback."""
    command = f"{sys.executable} -m exporter rules list | head -1"
    ended = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.stderr, len(ended.stdout.splitlines())) == ("", 1)
