"""Runs commands of the pages as a reader would: in a shell, in a folder, beside a program."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.documentation.blocks import Command, file_of
from tests.documentation.table import FILES, MORE, PLACEHOLDERS, TRIED, Place, Try
from tests.fakes.prometheus import free_port
from tests.program import ROOT, Program, wait_for

PATIENCE_SECS = 15.0
OF_OTHERS = {"findmnt", "ip", "nstat", "ps"}


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command gave: its exit code, and all it printed."""

    code: int
    output: str


class Reader:
    """Somebody who follows a page in an empty folder; `ports` are those of running programs."""

    def __init__(self, page: str, folder: Path, ports: dict[Place, int]) -> None:
        self._folder = folder
        self._ports = {**ports, Place.ALONE: free_port()}
        self._left_running: list[subprocess.Popen[bytes]] = []
        self._last_code = 0
        _write_command(folder)
        for name, language in FILES.get(page, {}).items():
            path = folder / name
            path.write_text(self._put_in(file_of(page, language), Place.ALONE))
            path.chmod(0o755)

    def follow(self, command: Command) -> None:
        """Run it and compare exit code and output; beside a program, until they are so."""
        how = TRIED[command.page][command.text]
        if _is_not_installed(command):
            return
        if how.stays:
            self._start(self._put_in(command.text.removesuffix("&"), how.place))
            return
        text = f"(exit {self._last_code}); {self._put_in(command.text, how.place)}"
        has_company = self._left_running or how.place is not Place.ALONE
        deadline = time.monotonic() + (PATIENCE_SECS if has_company else 0)
        while problem := _problem(ended := self._run(text), command, how):
            assert time.monotonic() < deadline, f"{command.page}: {command.text}: {problem}"
            time.sleep(0.2)
        self._last_code = ended.code

    def leave(self) -> None:
        """End what is still running; each ends well when asked to."""
        for process in self._left_running:
            os.killpg(process.pid, signal.SIGTERM)
        codes = [process.wait(PATIENCE_SECS) for process in self._left_running]
        self._left_running.clear()
        assert set(codes) <= {0}

    def _put_in(self, text: str, place: Place) -> str:
        for word, other in PLACEHOLDERS.items():
            text = text.replace(
                word, other.format(port=self._ports[place], folder=self._folder, root=ROOT)
            )
        return text

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self._folder / 'bin'}:{os.environ['PATH']}",
            "APP__SERVER__HOST": "127.0.0.1",
            "APP__SERVER__PORT": str(self._ports[Place.ALONE]),
            "APP__METRICS__COLLECT_INTERVAL_SECS": "0.5",
            "TMPDIR": str(self._folder),
        }

    def _run(self, text: str) -> Ended:
        ended = subprocess.run(
            ["bash", "-c", text],
            cwd=self._folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_SECS,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout.decode())

    def _start(self, text: str) -> None:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {text}"],
            cwd=self._folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._left_running.append(process)
        health = f"curl -fs http://127.0.0.1:{self._ports[Place.ALONE]}/health"
        wait_for(lambda: self._run(health).code == 0, f"{text} to answer")


def _write_command(folder: Path) -> None:
    """`hw-exporter` for the PATH: the code that is tested, whatever else is installed."""
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin/hw-exporter"
    run = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m exporter "$@"'
    script.write_text(f"#!/bin/sh\n{run}\n")
    script.chmod(0o755)


def _is_not_installed(command: Command) -> bool:
    """A tool of somebody else's that this machine lacks; ours are always there."""
    name = command.text.split()[0]
    return name in OF_OTHERS and shutil.which(name) is None


def _problem(ended: Ended, command: Command, how: Try) -> str:
    """What is not as the page and the table say; nothing when all is."""
    if ended.code != how.code:
        return f"exit code {ended.code}, not {how.code}: {ended.output[:2000]}"
    for pattern in how.output:
        if not re.search(pattern, ended.output, re.MULTILINE):
            return f"{pattern} is not in {ended.output[:2000]}"
    if command.shown is None:
        return ""
    return _difference(command.shown, ended.output.splitlines())


def _difference(shown: Sequence[str], printed: Sequence[str]) -> str:
    """The first shown line that is not printed, in order; a line … stands for any others."""
    rest = iter(printed)
    for line in shown:
        if line != MORE and not any(_pattern(line).fullmatch(other) for other in rest):
            return f"not printed: {line}"
    if MORE not in shown and len(shown) != len(printed):
        return f"{len(printed)} lines are printed, {len(shown)} are shown"
    return ""


def _pattern(line: str) -> re.Pattern[str]:
    """Any text for …, any moment for a moment, any number for what a metric counts or measures."""
    pattern = ".*".join(re.escape(part) for part in line.split(MORE))
    pattern = re.sub(r"\d{4}\\-\d\d\\-\d\dT\d\d:\d\d:\d\dZ", r"\\S+Z", pattern)
    if line.startswith("hw_") and not line.endswith((" 0", " 1")):
        pattern = re.sub(r"\\ \S+$", r" [0-9.]+", pattern)
    return re.compile(pattern)


@contextmanager
def beside_programs(folder: Path) -> Iterator[dict[Place, int]]:
    """The ports of a simulated node in trouble and of an exporter of this machine."""
    demo = (sys.executable, "-m", "exporter", "demo", "--whole-node", "--start", "838")
    quick = {"metrics": {"collect_interval_secs": 1}}
    named = {"NODE_NAME": "gpu-7", "TMPDIR": str(folder)}
    with (
        Program(
            folder / "demo",
            {"kernel_log": {"enabled": True}, **quick},
            environment=named,
            command=demo,
        ) as simulated,
        Program(folder / "node", quick) as node,
    ):
        simulated.page_with('fault="gpu_lost"')
        simulated.page_with('xid="79"')
        node.first_page()
        yield {Place.DEMO: simulated.port, Place.NODE: node.port}
        assert simulated.stop()[0] == 0
