"""The real program over days: silences and clears, and the history of faults."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.commands.running import Ended, run
from tests.fakes.kmsg import KernelLog
from tests.program import Program, exchange, value_of, wait_for
from tests.system.test_faults import GPU, LOST, faults, settings, wait_for_fault

ORDER = {"rule": "gpu_lost", "for": "2h", "reason": "swap the riser", "by": "ada"}
SENTENCE = "by ada: swap the riser"


@contextmanager
def lost_gpu(
    tmp_path: Path,
    log: KernelLog,
    more: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    *,
    says: bool = True,
) -> Iterator[Program]:
    """A program with a state directory whose kernel log tells of a lost GPU."""
    (tmp_path / "state").mkdir(exist_ok=True)
    changes = {**settings(log), "state": {"dir": str(tmp_path / "state")}, **more}
    with Program(tmp_path / "program", changes) as program:
        program.page_with("hw_node_healthy")
        if says:
            log.say(LOST)
        wait_for_fault(program, "gpu_lost")
        yield program


def command(program: Program, *arguments: str) -> Ended:
    """Run a command about this program."""
    return run(*arguments, "--url", f"127.0.0.1:{program.port}")


def healthy(program: Program, value: int) -> str:
    """The page, as soon as the node is healthy (1) or not (0)."""

    def look() -> str | None:
        text = program.get("/metrics").text
        return text if value_of(text, "hw_node_healthy") == value else None

    return wait_for(look, f"hw_node_healthy {value}")


def ask(program: Program, method: str, path: str, body: bytes = b"", *headers: str) -> str:
    """The status line and body of a raw request of a local client."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    request = "\r\n".join([*lines, "Connection: close", *headers, "", ""]).encode() + body
    return exchange(program.port, request).decode()


def silence(program: Program, document: object) -> str:
    """The answer to an order for a silence."""
    return ask(program, "POST", "/silences", json.dumps(document).encode())


def test_a_silenced_fault_is_shown_everywhere_and_counts_nowhere(
    tmp_path: Path, kernel_log: KernelLog
) -> None:
    """Gauges, verdict, pages and commands agree; a restart keeps it; its end ends it."""
    with lost_gpu(tmp_path, kernel_log) as program:
        healthy(program, 0)
        order = ("--component", GPU, "--for", "2h", "--reason", "swap the riser", "--by", "ada")
        made = command(program, "silence", *order)
        assert made.returncode == 0, made.stderr
        assert SENTENCE in made.stdout
        page = healthy(program, 1)
        assert f'hw_fault_silenced{{node="{_node(page)}",fault="gpu_lost",hw_type="gpu"' in page
        assert "hw_fault_active{" in page
        for path in ("/faults", "/why", "/status"):
            for form in ("text", "html"):
                assert SENTENCE in program.get(f"{path}?format={form}").text, (path, form)
        said = command(program, "faults")
        assert said.returncode == 0
        assert "Healthy: no other active faults; 1 silenced" in said.stdout
        program.stop(9)
    with lost_gpu(tmp_path, kernel_log, says=False) as program:
        page = healthy(program, 1)
        (row,) = program.get("/silences").document["silences"]
        assert (row["component"], row["by"], row["file"]) == (GPU, "ada", None)
        assert SENTENCE in command(program, "silence", "--list").stdout
        assert command(program, "silence", "--end", row["id"]).returncode == 0
        assert "hw_fault_silenced{" not in healthy(program, 0)


def _node(page: str) -> str:
    return page.partition('hw_node_healthy{node="')[2].partition('"')[0]


def test_silences_in_a_file_follow_the_file(tmp_path: Path, kernel_log: KernelLog) -> None:
    """A file that appears silences, one that goes ends it; a mistake is one line of the log."""
    folder = tmp_path / "silences"
    folder.mkdir()
    more: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 0.5},
        "faults": {"silences_dirs": [str(folder)]},
    }
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    with lost_gpu(tmp_path, kernel_log, more) as program:
        healthy(program, 0)
        rule = f'[[silence]]\nrule = "gpu_lost"\nuntil = {end}\nreason = "rollout"\n'
        (folder / "a.toml").write_text(f'{rule}[[silence]]\nrule = "gpu_lots"\nuntil = {end}\n')
        healthy(program, 1)
        (row,) = program.get("/silences").document["silences"]
        assert (row["by"], row["file"]) == ("a.toml", str(folder / "a.toml"))
        wrong = [it["message"] for it in program.log_lines if "silence 2" in it["message"]]
        assert len(wrong) == 1
        (folder / "a.toml").unlink()
        healthy(program, 0)


def test_a_cleared_fault_comes_back_with_new_evidence_only(
    tmp_path: Path, kernel_log: KernelLog
) -> None:
    """Its old line of the log is acknowledged, also over a restart; a new line is a new fault."""

    def gone() -> bool:
        return not [it for it in faults(program) if it["state"] == "active"]

    with lost_gpu(tmp_path, kernel_log) as program:
        done = command(program, "clear", "gpu_lost", "--component", GPU)
        assert (done.returncode, done.stdout) == (0, f"cleared: gpu_lost of {GPU}\n")
        wait_for(gone, "the end of the fault")
        wait_for(lambda: "cleared" in _kept(tmp_path), "the state to be written")
        program.stop(9)
    changes = {**settings(kernel_log), "state": {"dir": str(tmp_path / "state")}}
    with Program(tmp_path / "again", changes) as program:
        program.page_with("hw_node_healthy")
        assert gone()
        kernel_log.say(LOST)
        wait_for_fault(program, "gpu_lost")


def test_a_fault_that_stands_for_several_is_cleared_with_them(
    tmp_path: Path, kernel_log: KernelLog
) -> None:
    """Five GPUs are lost at once: the fault that stands for all, cleared by its name, is gone."""

    def active() -> list[dict[str, Any]]:
        return [it for it in faults(program) if it["state"] == "active"]

    def joined() -> str | None:
        roots = [it["entity"]["hw_name"] for it in active() if it["root"]]
        return roots[0] if len(roots) == 1 and len(active()) > 4 else None

    with lost_gpu(tmp_path, kernel_log) as program:
        for number in range(4):
            kernel_log.say(LOST.replace("3b", f"{number:02x}"))
        name = wait_for(joined, "one fault for all")
        done = command(program, "clear", "gpu_lost", "--component", name)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("0000:") == 5
        assert active() == []


def _kept(tmp_path: Path) -> str:
    document = json.loads((tmp_path / "state/faults.json").read_text())
    return "cleared" if document["cleared"] and not document["faults"] else ""


def test_what_cannot_be_done_is_one_sentence(tmp_path: Path, kernel_log: KernelLog) -> None:
    """Wrong names, times and options end with code 2, and change nothing."""
    with lost_gpu(tmp_path, kernel_log) as program:
        long = ("--for", "2h", "--reason", "x")
        for arguments, sentence in (
            (("silence",), "give --reason and either --for or --until, or --list"),
            (("silence", "--list", *long), "--list and --end take no other option"),
            (("silence", "--rule", "gpu_lots", *long), "did you mean gpu_lost"),
            (("silence", "--component", "gpu99", *long), "there is no component 'gpu99'"),
            (("silence", "--until", "noon", "--reason", "x"), "until must be a time"),
            (("silence", "--component", "", "--for", "1h", "--reason", "x"), "component is empty"),
            (("silence", "--rule", " ", "--for", "1h", "--reason", "x"), "rule is empty"),
            (("clear", "gpu_lost", "--component", ""), "component is empty"),
            (("silence", "--end", "7"), "there is no silence '7'"),
            (("clear", "gpu_lots"), "there is no rule 'gpu_lots'; did you mean gpu_lost"),
            (("clear", "gpu_overheat"), "gpu_overheat ends when its evidence does; silence it"),
            (("clear", "gpu_xid_critical"), "no fault gpu_xid_critical is active"),
        ):
            ended = command(program, *arguments)
            assert (ended.returncode, ended.stdout) == (2, ""), arguments
            assert sentence in ended.stderr
            assert ended.stderr.count("\n") == 1
        assert program.get("/silences").document == {"silences": []}
        healthy(program, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")
def test_another_user_is_told_why(tmp_path: Path) -> None:
    """No signal is advised where it does something else: SIGUSR1 releases the GPUs."""
    with Program(tmp_path) as program:
        program.first_page()
        os.seteuid(65534)
        try:
            silenced = silence(program, ORDER)
            reloaded = ask(program, "POST", "/-/reload")
        finally:
            os.seteuid(0)
    assert silenced.endswith('{"error": "only programs of root can request this"}')
    assert "root can request this; or send SIGHUP to the exporter" in reloaded


def test_nobody_else_silences(tmp_path: Path, kernel_log: KernelLog) -> None:
    """No page in a browser, no proxy, no bad body; every reader may list."""
    body = json.dumps(ORDER).encode()
    with lost_gpu(tmp_path, kernel_log) as program:
        for header in ("Origin: http://evil.example", "Via: 1.1 proxy", "Sec-Fetch-Site: none"):
            assert " 403 " in ask(program, "POST", "/silences", body, header), header
            assert " 403 " in ask(program, "DELETE", "/silences?id=1", b"", header), header
            assert " 403 " in ask(program, "POST", "/clear", b'{"rule": "gpu_lost"}', header)
        for wrong in (b"", b"{", b"[]", b"5", b'{"reason": 1e999}', b"[" * 4000, b"\xff", b"nul"):
            assert " 400 " in ask(program, "POST", "/silences", wrong), wrong
        large = ask(program, "POST", "/silences", b" " * 5000)
        assert "at most 4096 bytes" in large
        assert " 400 " in ask(program, "POST", "/silences?x=1", body)
        assert " 400 " in ask(program, "DELETE", "/silences")
        assert " 405 " in ask(program, "PUT", "/silences", body)
        assert " 405 " in ask(program, "GET", "/clear")
        assert program.get("/silences").document == {"silences": []}
        answers = [silence(program, ORDER) for _ in range(101)]
        assert sum(" 200 " in answer for answer in answers) == 100
        assert "there are 100 silences already" in answers[-1]
        assert program.resident_bytes() < 128 * 2**20


def test_the_history_survives_a_kill_and_a_damaged_file(
    tmp_path: Path, kernel_log: KernelLog
) -> None:
    """Began, cleared, killed, damaged: pages and commands still tell what happened and when."""
    file = tmp_path / "state/fault_history.jsonl"
    with lost_gpu(tmp_path, kernel_log) as program:
        assert command(program, "clear", "gpu_lost").returncode == 0
        wait_for(lambda: "ended" in file.read_text(), "the end in the file")
        program.stop(9)
    with file.open("ab") as torn:
        torn.write(b"\xff[17000000")
    with lost_gpu(tmp_path, kernel_log) as program:
        document = program.get("/faults?since=7d&rule=gpu_lost").document
        assert [row["change"] for row in document["history"]] == ["began", "ended", "began"]
        assert [fault["times"] for fault in document["faults"]] == [2]
        assert program.get("/faults?since=7d&until=1d").document["history"] == []
        assert program.get("/faults?since=7d&rule=gpu_overheat").document["history"] == []
        unknown = program.get("/faults?rule=gpu_hot")
        assert unknown.status == 400
        assert "there is no rule 'gpu_hot'; did you mean" in unknown.text
        assert program.get("/faults?until=2001-01-01T00:00:00Z").document["faults"] == []
        assert "history" not in program.get("/faults").document
        for wrong in ("since=yesterday", "until=5", "rule=", "since=1d&since=2d"):
            assert program.get(f"/faults?{wrong}").status == 400, wrong
        text = command(program, "faults", "--since", "7d", "--rule", "gpu_lost").stdout
        assert "second time in 14 days" in text
        assert text.count("began critical gpu_lost of GPU") == 2
        assert "Faults of the last 14 days" in program.get("/", Accept="text/html").text
        wait_for(lambda: file.read_text().count("began") == 2, "the file to be whole")


def _names_the_rule(file: Path) -> bool:
    return file.exists() and "gpu_lost" in file.read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a filesystem")
def test_a_full_disk_costs_no_state(tmp_path: Path, kernel_log: KernelLog) -> None:
    """Faults, history and silences that could not be written are written when there is room."""
    state = tmp_path / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", state], check=True)
    try:
        (state / "filler").write_bytes(b"x" * 60 * 1024)
        often = {"metrics": {"collect_interval_secs": 0.5}}
        with lost_gpu(tmp_path, kernel_log, often) as program:
            assert program.get("/faults?since=1h").document["history"]
            refused = silence(program, {"rule": "gpu_lost", "for": "1h", "reason": "x"})
            assert '"kept":false' in refused.replace(" ", "")
            (state / "filler").unlink()
            for name in ("faults.json", "fault_history.jsonl", "silences.json"):
                file = state / name
                wait_for(partial(_names_the_rule, file), name)
    finally:
        subprocess.run(["umount", state], check=True)
