"""The support bundle of the real program: what is in it, and the secrets that are not."""

import os
import stat
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import run
from tests.fakes.kmsg import KernelLog
from tests.fakes.prometheus import free_port
from tests.program import Program, wait_for
from tests.system.test_faults import LOST, settings, wait_for_fault

pytestmark = pytest.mark.system

COUNT = 20
PARTS = {
    *("manifest.json", "recording.jsonl", "kernel_log.txt", "config.toml", "metrics.txt"),
    *("node.json", "status.json", "doctor.json", "processes.json", "faults.json", "why.json"),
    "silences.json",
}
PROBE = """#!/bin/sh
while :; do
  echo '{"metric": "hw_npu_state", "type": "gauge", "value": 1, "labels": {"mode": "token=%s"}}'
  sleep 1
done
"""


def _secret(number: int) -> str:
    return f"planted{number:02d}x7Kq9Zw"


def _file(folder: Path, name: str, text: str) -> str:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return str(folder / name)


def _unpacked(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as members:
        found = {it.name.rpartition("/")[2]: members.extractfile(it) for it in members}
        return {name: file.read() for name, file in found.items() if file is not None}


def _planted(folder: Path, log: KernelLog, port: int) -> dict[str, dict[str, Any]]:
    """A configuration with a secret wherever one can be."""
    token = _file(folder, "token", f"{_secret(1)}\n")
    _file(folder, "rules/mine.toml", f"# {_secret(6)}\n")
    _file(folder, "lines/mine.toml", f"# {_secret(7)}\n")
    _file(folder, "state/note", _secret(8))
    password_hash = f"$2b$04${(_secret(2) * 5)[:53]}"
    lines = {"enabled": True, "path": str(log.path), "patterns_dirs": [str(folder / "lines")]}
    labels = _file(folder, "labels", f'secret="{_secret(9)}"\n')
    return {
        **settings(log, kernel_log=lines),
        "metrics": {"collect_interval_secs": 1},
        "server": {
            "host": "127.0.0.1",
            "port": port,
        },
        "server.auth": {"bearer_token_file": token},
        "server.auth.basic_users": {"ada": password_hash},
        "processes": {"redact_salt": _secret(3)},
        "otlp": {
            "endpoint": "http://127.0.0.1:9/v1/metrics",
            "headers_file": _file(folder, "headers", f"X-Key: {_secret(4)}\n"),
        },
        "node_conditions": {
            "api_server": f"https://ada:{_secret(5)}@127.0.0.1:9",
            "token_file": _file(folder, "sa-token", _secret(10)),
        },
        "state": {"dir": str(folder / "state")},
        "faults": {"rules_dirs": [str(folder / "rules")]},
        "expect": {"labels_file": labels, "gpus": 1},
    }


def test_twenty_secrets_stay_on_the_node(tmp_path: Path, kernel_log: KernelLog) -> None:
    """Files, variables, arguments, lines, labels and reasons: nothing of them is in the archive."""
    changes = _planted(tmp_path, kernel_log, free_port())
    probe = Path(_file(tmp_path, "probe", PROBE % _secret(11)))
    probe.chmod(0o755)
    probes = [{"name": "npu", "command": [str(probe), _secret(12), f"--password={_secret(13)}"]}]
    environment = {"AWS_SECRET_ACCESS_KEY": _secret(14)}
    other = subprocess.Popen(
        ["sh", "-c", "sleep 600", _secret(15)], env={**os.environ, "KEY": _secret(16)}
    )
    try:
        with Program(tmp_path / "program", changes, probes=probes, environment=environment) as it:
            config = str(tmp_path / "program/program.toml")
            here = {"APP__SERVER__PORT": str(it.port)}
            wait_for(lambda: it.get("/ready").status == 200, "the first collection")
            kernel_log.say(f"NVRM: Xid (PCI:0000:3b:00): 13, pid=7, name=token={_secret(17)}, x")
            kernel_log.say(f"nfs: server //ada:{_secret(18)}@host not responding, still trying")
            kernel_log.say(LOST)
            silenced = run(
                *("silence", "--config", config, "--rule", "gpu_lost", "--for", "2h"),
                *("--reason", f"password: {_secret(19)}", "--by", "ada"),
                cwd=tmp_path,
                environment=here,
            )
            assert silenced.returncode == 0, silenced.stderr
            done = run(
                *("bundle", "--config", config, "--for", "6s", "--output", "it.tar.gz"),
                cwd=tmp_path,
                environment=here | {"OPENAI_API_KEY": _secret(20)},
            )
    finally:
        other.kill()
        other.wait()
    assert done.returncode == 0, done.stderr
    found = _unpacked(tmp_path / "it.tar.gz")
    assert found.keys() == PARTS
    everything = b"\n".join(found.values()).decode()
    assert [n for n in range(1, COUNT + 1) if _secret(n) in everything + done.stdout] == []
    for planted in ("hw_npu_state", "gpu_lost", "name=token=", "password: ", "//…@host"):
        assert planted in everything
    replayed = run("rules", "replay", "it.tar.gz", cwd=tmp_path)
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert "critical gpu_lost of gpu 0000:3b:00.0" in replayed.stdout


def test_a_bundle_is_a_new_file_of_its_owner(tmp_path: Path, kernel_log: KernelLog) -> None:
    """It replaces nothing, follows no link, and a place that cannot be written is one sentence."""
    with Program(tmp_path / "program", settings(kernel_log)) as program:
        program.page_with("hw_node_healthy")
        kernel_log.say(LOST)
        wait_for_fault(program, "gpu_lost")
        url = ("--url", f"127.0.0.1:{program.port}", "--for", "1s")
        assert program.get("/recording").status == 200
        assert program.get("/recording", X_Forwarded_For="10.0.0.1").status == 403
        assert program.get("/recording?start=-1").status == 400
        done = run("bundle", *url, cwd=tmp_path)
        (archive,) = tmp_path.glob("hw-exporter-*.tar.gz")
        (tmp_path / "link").symlink_to(tmp_path / "target")
        again = [
            run("bundle", *url, "--output", name, cwd=tmp_path)
            for name in (archive.name, "link", "no/such/folder", "/dev/full")
        ]
        too_long = run("bundle", *url[:2], "--for", "2d", cwd=tmp_path)
    assert done.returncode == 0
    assert "without config.toml: " in done.stdout
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert _unpacked(archive).keys() == PARTS - {"config.toml"}
    assert [it.returncode for it in again] == [1] * 4
    assert [it.stderr.count("\n") for it in again] == [1] * 4
    assert not (tmp_path / "target").exists()
    assert too_long.returncode == 2


def test_without_an_exporter_it_reads_by_itself(tmp_path: Path) -> None:
    """The command collects, as all others do; an address that does not answer is one sentence."""
    changes = {
        "APP__SERVER__PORT": str(free_port()),
        "APP__GPU__BACKEND": "off",
        "APP__KERNEL_LOG__ENABLED": "false",
    }
    done = run(
        *("bundle", "--for", "1s", "--output", "own.tar.gz"), cwd=tmp_path, environment=changes
    )
    assert done.returncode == 0, done.stderr
    found = _unpacked(tmp_path / "own.tar.gz")
    assert {"recording.jsonl", "metrics.txt", "config.toml", "manifest.json"} <= found.keys()
    gone = run("bundle", "--url", "127.0.0.1:9", cwd=tmp_path)
    assert gone.returncode != 0
    assert gone.stderr.count("\n") == 1
    assert not list(tmp_path.glob("hw-exporter-*"))


@pytest.mark.parametrize(
    "content", [b"\x1f\x8b", b"\x1f\x8bgarbage" * 100, b"\x1f\x8b\x08" + bytes(50)]
)
def test_what_is_no_bundle_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    """A file that only begins like an archive."""
    (tmp_path / "it").write_bytes(b"\x1f\x8b" + content)
    done = run("rules", "replay", "it", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "hw-exporter: it: is no archive of `hw-exporter bundle`\n"
