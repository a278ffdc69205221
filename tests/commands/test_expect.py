"""`hw-exporter expect`, and where a command finds the configuration of the exporter."""

from pathlib import Path

import pytest

from tests.commands.running import run
from tests.program import Program

pytestmark = pytest.mark.system


def test_the_configuration_of_the_installed_exporter_is_found(tmp_path: Path) -> None:
    """Without --config, as in a pod or beside the service: it is expected what the file says."""
    installed = tmp_path / "installed.toml"
    installed.write_text(f"[state]\ndir = '{tmp_path}'\n[expect]\nlearn = true\ndisks = 1\n")
    accepted = run("expect", "accept", cwd=tmp_path, installed=installed)
    assert (accepted.returncode, accepted.stderr) == (0, "")
    assert "no hardware is expected" in run("expect", "accept", cwd=tmp_path).stderr
    other = tmp_path / "other.toml"
    other.write_text("")
    named = run("expect", "accept", "--config", str(other), cwd=tmp_path, installed=installed)
    assert "no hardware is expected" in named.stderr


def test_who_asks_needs_no_private_key(tmp_path: Path) -> None:
    """A user who cannot read the key of the installed exporter still gets an answer about faults.

    The exit code of a wrong configuration would be that of a critical fault.
    """
    installed = tmp_path / "installed.toml"
    files = "".join(f"{key}_file = '{tmp_path}/{key}.pem'\n" for key in ("cert", "key"))
    installed.write_text(f"[server.tls]\n{files}")
    assert run("faults", cwd=tmp_path, installed=installed).stderr == ""
    assert run("config", "check", cwd=tmp_path, installed=installed).returncode == 2


def test_another_machine_is_shown_and_not_accepted(tmp_path: Path) -> None:
    """What is expected there is not known from the configuration here, nor learned anew here."""
    here = {"APP__EXPECT__LEARN": "true", "APP__STATE__DIR": str(tmp_path)}
    with Program(tmp_path / "off") as program:
        program.first_page()
        url = f"127.0.0.1:{program.port}"
        shown = run("expect", "--url", url, environment=here)
        assert "no hardware is expected" in shown.stderr
    with Program(tmp_path / "on", {"expect": {"gpus": 64}}) as program:
        program.first_page()
        url = f"127.0.0.1:{program.port}"
        shown = run("expect", "--url", url, environment=here)
        assert (shown.stderr, "configured:" in shown.stdout) == ("", False)
        refused = run("expect", "accept", "--url", url, environment=here)
        assert (refused.returncode, "without --url" in refused.stderr) == (1, True)


def test_nothing_learned_is_not_everything_there(tmp_path: Path) -> None:
    """Where nothing could be learned yet, the command does not say that all is there."""
    here = {"APP__EXPECT__LEARN": "true", "APP__STATE__DIR": str(tmp_path / "missing")}
    shown = run("expect", environment=here)
    assert "everything expected is there" not in shown.stdout
    assert "no learned hardware" in shown.stdout


def test_labels_of_the_node_are_shown(tmp_path: Path) -> None:
    """What a label says is expected wins over the configuration; a bad label is shown as such."""
    labels = tmp_path / "labels"
    labels.write_text('expect.hw-exporter/gpus="0"\nexpect.hw-exporter/disks="many"\n')
    here = {"APP__EXPECT__LABELS_FILE": str(labels), "APP__EXPECT__GPUS": "8"}
    shown = run("expect", environment=here).stdout
    assert "expect.gpus" not in shown
    assert 'expect.hw-exporter/disks is "many", but must be a number from 0 to' in shown
    labels.write_text('expect.hw-exporter/gpus="64"\n')
    assert "by label: expect.gpus = 64" in run("expect", environment=here).stdout
