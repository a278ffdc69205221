"""Runs a command, here or as a program, and servers that answer what no exporter would."""

import io
import os
import pty
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TypeAlias

from exporter.cli import run_command
from tests.commands.hostile_server import answer, hostile, says
from tests.fakes.waiting import is_readable

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECS = 60.0
NO_EXPORTER = {"APP__SERVER__PORT": "9"}
"""The port that a command looks for the exporter of this machine at: nobody listens there."""

NOT_INSTALLED = Path("/nowhere/config.toml")
QUIET = {
    "APP__KERNEL_LOG__ENABLED": "false",
    "APP__GPU__DRIVER_MARKERS": "/nowhere/driver",
    "APP__SOURCES__CPU_MODEL_PROBE": "false",
}


Ended: TypeAlias = "subprocess.CompletedProcess[str]"
"""How a command ended: its exit code, and what it printed."""


def run(
    *arguments: str,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    installed: Path = NOT_INSTALLED,
) -> Ended:
    """Run a command in this process, as `python -m exporter` does, with pipes for its output.

    `installed` is the configuration of the exporter that is installed on this machine.
    """
    out, err = io.StringIO(), io.StringIO()
    with _working_in(cwd), redirect_stdout(out), redirect_stderr(err):
        values = {**os.environ, **NO_EXPORTER, **QUIET, **(environment or {})}
        code = run_command(arguments, values, installed)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_program(
    *arguments: str,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    under: Sequence[str] = (),
) -> Ended:
    """Run a command as a program of its own; `under` is what starts it, such as unshare."""
    ended = subprocess.run(
        [
            *(shutil.which(under[0]) or under[0] for _ in under[:1]),
            *under[1:],
            sys.executable,
            "-m",
            "exporter",
            *arguments,
        ],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            **NO_EXPORTER,
            **QUIET,
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECS,
        check=False,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


@contextmanager
def answering(
    body: bytes, status: int = 200, context: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Give the address of a server that answers everything with this."""
    with hostile(says(answer(body, str(status).encode())), context) as (url, _):
        yield url


def on_terminal(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    typed: Sequence[tuple[bytes, bytes]] = ((b"q quit", b"q"),),
) -> tuple[int, str]:
    """Run a command on a terminal; return its exit code and all it draws.

    `typed` are texts that are waited for, one after the other, each with the keys pressed then.
    """
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(ROOT)
        given = {**os.environ, **NO_EXPORTER, **QUIET, "TERM": "dumb", **environment}
        os.execve(sys.executable, [sys.executable, "-m", "exporter", *arguments], given)  # noqa: S606 - the child is the program
    seen, looked_at, deadline, left = b"", 0, time.monotonic() + PATIENCE_SECS, list(typed)
    try:
        while time.monotonic() < deadline:
            if is_readable(terminal, 0.1):
                seen += os.read(terminal, 65536)
            if left and left[0][0] in seen[looked_at:]:
                looked_at = len(seen)
                os.write(terminal, left.pop(0)[1])
    except OSError:  # the command has ended
        pass
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode("utf-8", "replace")
