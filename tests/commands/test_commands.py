"""Every other command: with a running exporter, on its own, and with whatever else answers."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.commands.arguments import build_parser
from exporter.commands.ask import build_prompt
from exporter.commands.top import KEY, TopView, draw
from exporter.reports.text.status import Screen, wrap
from exporter.toml import tomllib
from tests.commands.running import answering, on_terminal, run
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.gpu_node import GpuNode
from tests.program import Program, wait_for

pytestmark = pytest.mark.system

DEMO = {"APP__GPU__BACKEND": "demo"}
READING = {
    "faults": "one reading of this machine",
    "metrics": "hw_cpu_usage_percent{",  # a rate
    **dict.fromkeys(("status", "ps", "why", "doctor"), ""),
}
"""Commands that only show something, and a text of theirs where no exporter runs."""

NONSENSE = (
    b"",
    b"[]",
    b"{}",
    b'{"verdict": 1, "faults": [], "checks": [{}], "processes": [{}]}',
    b'{"node": null, "healthy": true, "faults": [{"state": "active"}], "unjudged": []}',
    b"\xff" * 100,
    b'{"a":' * 5000,
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A simulated node on which GPU 5 has fallen off the bus, for six minutes."""
    folder = tmp_path_factory.mktemp("demo")
    command = (
        sys.executable,
        "-m",
        "exporter",
        "demo",
        "--whole-node",
        "--start=839",
        "--speed=0.5",
    )
    often = {"APP__METRICS__COLLECT_INTERVAL_SECS": "1"}
    changes = {"kernel_log": {"enabled": True}}
    with Program(folder, changes, environment=often, command=command) as program:
        program.first_page()
        wait_for(lambda: _lost(program), "a lost GPU", secs=40)
        yield program


def _lost(program: Program) -> bool | None:
    status = program.get("/status").document
    states = [gpu["state"] for gpu in status["gpus"]]
    return True if "lost" in states and status["faults"] else None


def _url(program: Program) -> str:
    return f"127.0.0.1:{program.port}"


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("status", "/status"),
        ("ps", "/processes"),
        ("faults", "/faults"),
        ("why", "/why"),
        ("doctor", "/doctor"),
    ],
)
def test_json_is_what_http_answers(demo: Program, command: str, path: str) -> None:
    """The same bytes but for what moves: fields and their order."""
    printed = json.loads(run(command, "--json", "--url", _url(demo)).stdout)
    answered = demo.get(path).document
    assert list(printed) == list(answered)
    assert printed["node"] == answered["node"]


def test_the_demo_is_described(demo: Program) -> None:
    """Verdict, cause, action, GPUs and workloads on one screen; nothing of the lost GPU."""
    text = run("status", "--url", _url(demo), environment={"LANG": "C.UTF-8"}).stdout
    assert "1 critical: GPU 5" in text
    assert "because the link of PCIe slot 6" in " ".join(text.split())
    assert re.search(
        r"^  5  lost: it has fallen off the bus( \(serving/\S+.*)?$", text, re.MULTILINE
    )
    assert "ml/llama-train-0/trainer" in text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert run("faults", "--url", _url(demo)).returncode == 2
    processes = run("ps", "--url", _url(demo)).stdout
    assert re.search(r"^41000  python3 .* ml/llama-train-0/trainer$", processes, re.MULTILINE)
    checked = run("doctor", "--url", _url(demo)).stdout
    assert all(check["name"] in checked for check in demo.get("/doctor").document["checks"])
    assert run("metrics", "--url", _url(demo)).stdout.startswith("# HELP hw_node_info")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_sentences_break_at_spaces_on_a_terminal(demo: Program, columns: int) -> None:
    """No line is wider than the terminal, no word is cut, and a pipe gets whole sentences."""
    shown = {"COLUMNS": f"{columns}", "LANG": "C.UTF-8"}
    for command in ("faults", "why"):
        _, drawn = on_terminal([command, "--url", _url(demo)], shown)
        lines = drawn.splitlines()
        assert max(len(line) for line in lines) <= columns
        piped = run(command, "--url", _url(demo), environment={"LANG": "C.UTF-8"}).stdout
        assert "pod serving/chat-7c9d5b8f4-x2x6q and pod serving/embed-0\n" in piped
        assert set(drawn.split()) == set(piped.split())


def test_a_poor_terminal_gets_ascii(demo: Program) -> None:
    """Without a locale of UTF-8 nothing else is printed, and nothing is coloured in a pipe."""
    for command in ("status", "faults", "ps", "why", "doctor"):
        text = run(command, "--url", _url(demo), environment={"LC_ALL": "C"}).stdout
        assert text.isascii(), command
        assert "\x1b" not in text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ((), "GPU 5 has fallen off the bus"),
        (("gpu5",), "GPU 5 on "),
        (("GPU 5",), "GPU 5 on "),
        (("41000",), "process python3 (41000) on "),
        (("llama-train-0",), "workload ml/llama-train-0/trainer on "),
        (("ml/llama-train-0",), "workload ml/llama-train-0/trainer on "),
        (("eth0", "--all"), "network eth0 on "),
    ],
)
def test_why_knows_what_is_meant(demo: Program, name: tuple[str, ...], sentence: str) -> None:
    """A pid, a component by name or id, a pod with or without its namespace, or the node."""
    ended = run("why", *name, "--url", _url(demo))
    assert ended.returncode == 0
    assert sentence in ended.stdout


@pytest.mark.parametrize("name", ["nobody", "99999999", "99999999999999", "GPU 99", "a\nb", "-1x"])
def test_why_of_nothing_is_a_sentence(demo: Program, name: str) -> None:
    """What is not known here is said so, with exit code 3; a wrong option with 2."""
    ended = run("why", name, "--url", _url(demo))
    assert ended.returncode == (2 if name.startswith("-") else 3)
    assert ended.stdout == ""


def test_what_a_model_is_asked_names_nobody(demo: Program) -> None:
    """Names of the node and of workloads, UUIDs and addresses are replaced; nothing is sent."""
    prompt = run("why", "--show-prompt", "--url", _url(demo)).stdout
    status = demo.get("/status").document
    private = [status["node"], "llama-train-0", *(gpu["uuid"] for gpu in status["gpus"])]
    assert [name for name in private if f'"{name}"' in prompt or f" {name} " in prompt] == []
    assert "gpu_lost" in prompt
    assert "pcie_link_down" in prompt


def test_equal_names_stay_equal_in_the_prompt() -> None:
    """What belongs together can still be seen; what only looks like a name stays."""
    uuid = "GPU-0ed7578a-96f8-fe92-8280-3337f5f48ac0"
    workload = {"hw_type": "workload", "hw_id": "ml/a/b", "hw_name": "ml/a/b"}
    document: dict[str, Any] = {"node": "gpu-7", "affected": [workload, workload], "text": uuid}
    prompt = build_prompt({**document, "again": f"{uuid} of ml/a/b on gpu-7 at 10.0.0.7"})
    assert prompt.count("workload-1") == 5
    assert prompt.count("uuid-1") == 2
    assert "node-1 at address-1" in prompt


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b'{"choices": [{"message": {"content": "reseat \\u001b[31mit"}}]}', 0),
        (b'{"choices": []}', 1),
        (b"[]", 1),
        (b"no", 1),
    ],
)
def test_the_answer_of_a_model_is_marked(demo: Program, answer: bytes, code: int) -> None:
    """Who wrote it is said first, what a terminal would obey is not printed."""
    with answering(answer) as url:
        ended = run("why", "--ask", f"http://{url}/v1", "--url", _url(demo))
    assert ended.returncode == code
    if not code:
        assert ended.stdout.startswith(
            f"What follows was written by a language model at http://{url}"
        )
        assert ended.stdout.rstrip().endswith("reseat ?[31mit")


@pytest.mark.parametrize("command", READING)
def test_one_reading_is_enough(tmp_path: Path, command: str) -> None:
    """On a node without GPUs and without an exporter every command says what there is."""
    ended = run(command, cwd=tmp_path)
    assert ended.returncode in (0, 1, 2), ended.stderr
    assert ended.stdout
    assert READING[command] in ended.stdout
    assert ended.stderr == ""


def test_one_reading_shows_simulated_gpus(tmp_path: Path) -> None:
    """The GPUs of the configured backend are read by the command itself."""
    text = run("status", cwd=tmp_path, environment=DEMO).stdout
    assert "8 x NVIDIA H100" in text or "8 × NVIDIA H100" in text
    assert len(re.findall(r"^  \d  .*%", text, re.MULTILINE)) == 8


def test_the_gpus_of_a_library_are_shown(
    tmp_path: Path, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi
) -> None:
    """Beside an exporter that reads NVML, and on its own with the same environment."""
    node = GpuNode(tmp_path, nvml, nvidia_smi)
    with node.start() as program:
        program.page_with('backend="nvml",reason="ok"')
        asked = run("status", "--json", "--url", _url(program)).stdout
        assert len(json.loads(asked)["gpus"]) == 8
    environment = {**nvml.environment, "APP__GPU__DRIVER_MARKERS": str(node.marker)}
    alone = run("status", "--json", cwd=tmp_path, environment=environment).stdout
    assert [gpu["state"] for gpu in json.loads(alone)["gpus"]] == ["ok"] * 8


@pytest.mark.parametrize("command", READING)
def test_nonsense_is_a_sentence(command: str) -> None:
    """Whatever answers there: no traceback, and exit code 3 unless it could be read."""
    for body in NONSENSE:
        with answering(body) as url:
            ended = run(command, "--url", url)
        assert ended.returncode in ((3,) if command == "faults" else (0, 1, 2, 3))
        assert len(ended.stderr.splitlines()) <= 1
    assert run(command, "--url", "127.0.0.1:1").returncode == 3


def test_the_configuration_is_shown_without_secrets(tmp_path: Path) -> None:
    """Every key is there, as TOML that can be read again; hashes of passwords are not."""
    pytest.importorskip("bcrypt")
    password = "$2b$04$" + "a" * 53
    text = f'[server]\nport = 1234\n[server.auth.basic_users]\nada = "{password}"\n'
    text += f'"ada.b" = "{password}"\n"é c" = "{password}"\n'
    (tmp_path / "my.toml").write_text(text)
    shown = run(
        "config",
        "show",
        "--config",
        "my.toml",
        cwd=tmp_path,
        environment={"APP__SERVER__PORT": "77"},
    )
    assert "port = 77" in shown.stdout
    users = tomllib.loads(shown.stdout)["server"]["auth"]["basic_users"]
    assert users == dict.fromkeys(("ada", "ada.b", "é c"), "…")
    assert "$2b$" not in shown.stdout
    as_json = run("config", "show", "--json", "--config", "my.toml", cwd=tmp_path)
    assert json.loads(as_json.stdout)["metrics"]["collect_interval_secs"] == 15
    assert run("config", "check", cwd=tmp_path).stdout == "the configuration is valid\n"
    wrong = run("config", "check", cwd=tmp_path, environment={"APP__SERVER__PORT": "x"})
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)


def test_assets_are_written_once(tmp_path: Path) -> None:
    """Dashboards, alerts, manifests, chart, stack and runbooks; nothing is overwritten."""
    written = run("assets", "out", cwd=tmp_path)
    assert written.returncode == 0
    for name in (
        "dashboards/hw-node.json",
        "prometheus/alerts.yml",
        "runbooks/pcie.md",
        "compose/compose.yml",
        "grafana/provisioning/datasources/hw-exporter.yml",
        "helm/hw-exporter/files/rbac.yaml",
    ):
        assert (tmp_path / "out" / name).stat().st_size > 100
        assert not (tmp_path / "out" / name).is_symlink()
    again = run("assets", "out", cwd=tmp_path)
    assert (again.returncode, "is there already" in again.stderr) == (1, True)
    nowhere = run("assets", "/proc/nowhere", cwd=tmp_path)
    assert (nowhere.returncode, len(nowhere.stderr.splitlines())) == (1, 1)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_name_every_command(shell: str) -> None:
    """They are made from the parser, so that none is forgotten."""
    text = run("completion", shell).stdout
    parser = build_parser()
    (choices,) = (action.choices for action in parser._actions if action.dest == "command")
    assert choices is not None
    assert [name for name in choices if not re.search(rf"\b{name}\b", text)] == []
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    ("typed", "offered", "not_offered"),
    [
        (("",), {"status", "rules", "--config"}, {"check", "--json", "--since"}),
        (("status", ""), {"--json", "--url"}, {"--since", "rules", "--port"}),
        (("--config", "rules", "faults", ""), {"--since", "--npd"}, {"check"}),
        (("rules", ""), {"check", "list", "replay"}, {"--json", "show"}),
        (("rules", "check", ""), {"--json"}, {"--config", "list", "--rules"}),
        (("config", "check", "--"), {"--json", "--config"}, {"--rules"}),
        (("rules", "check", "status", ""), {"--json"}, {"--url"}),
        (("run", "--log-level", ""), {"debug", "error"}, {"--port"}),
        (("completion", ""), {"bash", "zsh", "fish"}, {"status"}),
    ],
)
def test_bash_offers_what_may_follow(
    typed: tuple[str, ...], offered: set[str], not_offered: set[str]
) -> None:
    """The flags and commands of the level that was reached, and no value is taken for one."""
    script = f"""{run("completion", "bash").stdout}
COMP_WORDS=(hw-exporter {" ".join(word or "''" for word in typed)}); COMP_CWORD={len(typed)}
_hw_exporter; echo "${{COMPREPLY[@]}}"
"""
    ended = subprocess.run(["bash"], input=script, text=True, capture_output=True, check=True)
    words = set(ended.stdout.split())
    assert (offered <= words, not_offered & words) == (True, set()), ended


def test_fish_offers_what_may_follow() -> None:
    """Flags of a command below a command depend on both."""
    lines = run("completion", "fish").stdout.splitlines()
    both = "__fish_seen_subcommand_from rules; and __fish_seen_subcommand_from"
    assert f"complete -c hw-exporter -n '{both} replay' -l rules -r" in lines
    assert [line for line in lines if f"{both} check" in line and "-l config" in line] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "--jsn"),
        ("faults", "--npd", "x"),
        ("completion", "tcsh"),
        ("config",),
        ("why", "a", "b"),
    ],
)
def test_wrong_use_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    """One sentence says what is wrong, and where to read on."""
    ended = run(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"hw-exporter: .+; see hw-exporter[ a-z]* --help\n", ended.stderr)


def test_top_needs_a_terminal(demo: Program) -> None:
    """In a pipe it says what to use instead."""
    ended = run("top", "--url", _url(demo))
    assert (ended.returncode, "status" in ended.stderr) == (1, True)


def test_top_draws_obeys_and_leaves(demo: Program) -> None:
    """On a terminal of 80 by 24 it draws what fits, and q gives the terminal back."""
    screen = {"TERM": "vt100", "COLUMNS": "80", "LINES": "24"}
    keys = ((b"q quit", b"\x1b[B1"), (b"evidence", b"q"))
    code, drawn = on_terminal(["top", "--url", _url(demo)], screen, keys)
    assert code == 0
    assert "GPU 5" in drawn
    assert "Traceback" not in drawn
    assert "\x1b[?1049l" in drawn


def test_top_shows_no_old_numbers() -> None:
    """Where nobody answers there is a sentence and the keys, and nothing else."""
    lines = draw(None, "http://n does not answer", TopView(), Screen(), 24)
    assert (len(lines), lines[0], lines[-1][:6]) == (24, "http://n does not answer", "q quit")
    assert not any(lines[1:-1])


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 3), (20, 1)])
def test_top_fits_its_terminal(demo: Program, size: tuple[int, int]) -> None:
    """As many lines as there are, none longer than the terminal where it is wide enough."""
    columns, rows = size
    status = demo.get("/status").document
    for view in (TopView(), TopView(offset=1000), TopView(fault=1), TopView(fault=9)):
        lines = draw(status, "", view, Screen(columns, unicode=False), rows)
        assert len(lines) == max(2, rows)
        assert len(lines[-1]) <= columns
        assert columns < 80 or max(len(line) for line in lines) <= columns


def test_keys_do_what_they_say() -> None:
    """Also those that arrive in one read, and those that nobody knows."""
    assert KEY.findall("\x1b[B\x1bOBq\x1b[5~1") == ["\x1b[B", "\x1bOB", "q", "\x1b[5~", "1"]
    assert TopView().after("\x1b[B", 20) == TopView(1)
    assert TopView(5).after("\x1b[5~", 20) == TopView(0)
    assert TopView().after("3", 20) == TopView(0, 3)
    assert TopView(7, 3).after("0", 20) == TopView()
    assert TopView(2, 1).after("x", 20) == TopView(2, 1)
    assert TopView().after("q", 20) is None


def test_a_command_in_an_advice_is_broken_at_spaces_alone() -> None:
    """It can be copied as it stands."""
    words = ["reset", "it", "with", "nvidia-smi", "--gpu-reset,", "then", "look"]
    assert " ".join(wrap(" ".join(words), 20)).split() == words
