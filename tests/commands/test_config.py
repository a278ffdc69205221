"""`config show` and `config check`: no secret is shown, and everything wrong is said at once."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from exporter.commands.config import shown
from exporter.config import Config, ProbeCommand
from exporter.config.setting import SECRET_KEYS
from tests.commands.running import run

pytestmark = pytest.mark.system

HUSH = "hush4711hush"
SECRET_NAME = re.compile(r"(token|secret|salt|password|users|command|credential|header|auth)$")


def test_no_value_shows_a_secret() -> None:
    """Whatever key holds a login, a token or a key of a known form, alone or in an address."""
    words = (
        f"https://ada:{HUSH}@host/?token={HUSH}",
        f"Authorization: Bearer {HUSH}",
        f"sk-{HUSH}",
    )
    for word in words:
        text = json.dumps(shown(_filled(Config(), word)), ensure_ascii=False)
        assert HUSH not in text
        assert "…" in text


def _filled(value: Any, word: str) -> Any:
    """The configuration with this text wherever one can be, lists and tables included."""
    hints = get_type_hints(type(value))
    changes: dict[str, Any] = {}
    for each in fields(value):
        before, hint = getattr(value, each.name), hints[each.name]
        if is_dataclass(before):
            changes[each.name] = _filled(before, word)
        elif each.name == "probes":
            command = ("/usr/bin/env", "--token", HUSH, f"KEY={HUSH}", f"--password={HUSH}")
            changes[each.name] = (ProbeCommand(name=word, command=command),)
        elif hint is str:
            changes[each.name] = HUSH if each.name in SECRET_KEYS else word
        elif hint == tuple[str, ...]:
            changes[each.name] = (word, word)
        elif isinstance(before, Mapping):
            changes[each.name] = {"ada": HUSH if each.name in SECRET_KEYS else word}
        is_plain = is_dataclass(before) or isinstance(before, bool)
        assert is_plain or not SECRET_NAME.search(each.name) or each.name in SECRET_KEYS
    return replace(value, **changes)


def test_a_probe_shows_its_program_only(tmp_path: Path) -> None:
    """Its arguments are nobody's business, and no mistake repeats one."""
    probe = f'[[probes]]\nname = "p"\ncommand = ["/bin/sh", "--token={HUSH}", "{HUSH}"]\n'
    (tmp_path / "my.toml").write_text(f'{probe}[processes]\nredact_salt = "{HUSH}"\n')
    for more in ((), ("--json",)):
        text = run("config", "show", "--config", "my.toml", *more, cwd=tmp_path).stdout
        assert "/bin/sh" in text
        assert HUSH not in text
    (tmp_path / "my.toml").write_text(f'[[probes]]\nname = "p"\ncommand = "{HUSH}"\n')
    ended = run("config", "check", "--config", "my.toml", cwd=tmp_path)
    assert (ended.returncode, HUSH in ended.stderr) == (2, False)
    wrong = run("status", f"--ulr=http://ada:{HUSH}@host")
    assert (wrong.returncode, HUSH in wrong.stderr) == (2, False)


@pytest.mark.parametrize("command", [("--check-config",), ("config", "check")])
def test_the_check_says_everything_that_is_wrong(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Each mistake in one sentence: keys of all sections, or rules, programs and directories."""
    (tmp_path / "my.toml").write_text(
        '[server]\nprot = 1\nport = "x"\n[gpu]\nbackend = "none"\n[[probes]]\nmode = "y"\n'
    )
    check = (*command, "--config", "my.toml")
    said = run(*check, cwd=tmp_path, environment={"APP__STATE__DIRR": "x"}).stderr.splitlines()
    keys = ("server.prot", "server.port", "gpu.backend", "probes[0].mode", "state.dirr")
    assert [key for key, line in zip(keys, said, strict=True) if key not in line] == []

    rules = '[[rule]]\nid = "a"\nentity = "gpuu"\n'
    (tmp_path / "rules.toml").write_text(f"{rules}{rules.replace('a', 'b')}")
    probe = '[[probes]]\nname = "p"\ncommand = ["/nowhere/probe"]\n'
    (tmp_path / "my.toml").write_text(
        f'[faults]\nrules_dirs = ["rules.toml", "none"]\n{probe}[state]\ndir = "/proc/none"\n'
    )
    ended = run(*check, cwd=tmp_path)
    assert ended.returncode == 2
    by_rules = run("rules", "check", "rules.toml", "none", cwd=tmp_path).stdout.splitlines()[:-1]
    assert [line for line in by_rules if f"hw-exporter: {line}" not in ended.stderr] == []
    assert len(by_rules) > 8
    by_doctor = run("doctor", "--config", "my.toml", cwd=tmp_path)
    said_by_doctor = by_doctor.stdout + by_doctor.stderr
    sentences = [line.removeprefix("hw-exporter: ") for line in ended.stderr.splitlines()]
    assert by_doctor.returncode == 2
    assert [each for each in sentences if said_by_doctor.count(each) != 1] == []
    assert "probes[0].command: /nowhere/probe is no program that can be started" in ended.stderr
    assert "state.dir: /proc/none cannot be used: No such file or directory" in ended.stderr


def test_the_check_warns_of_an_open_directory(tmp_path: Path) -> None:
    """It is valid all the same, and a directory of one's own is not a word."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    environment = {"APP__STATE__DIR": str(tmp_path / "state")}
    for words in (("config", "check"), ("doctor",)):
        ended = run(*words, cwd=tmp_path, environment=environment)
        assert "can be changed by every user" in ended.stderr
        assert ended.returncode == 0 or words == ("doctor",)
    (tmp_path / "state").chmod(0o755)
    assert run("config", "check", cwd=tmp_path, environment=environment).stderr == ""
