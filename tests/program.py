"""The real program as a child process, and small clients for it."""

import http.client
import json
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_SECS = 20.0
QUIET: dict[str, dict[str, Any]] = {
    "server": {"host": "127.0.0.1", "port": 0},
    "sources": {"cpu_model_probe": False},
    "kernel_log": {"enabled": False},
    "gpu": {"driver_markers": ["/nowhere/driver"], "smi_paths": ["/nowhere/nvidia-smi"]},
}
"""A configuration that touches nothing but this machine's own files."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program answered; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def document(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def value_of(page: str, series: str) -> float | None:
    """The value of the first sample of a family, or of a series that begins so; None without."""
    start = re.escape(series if "{" in series else f"{series}{{")
    found = re.search(rf"^{start}.*\}} (\S+)$", page, re.MULTILINE)
    return float(found[1]) if found else None


class Program:
    """`python -m exporter run` in a folder of its own, ended when the block ends.

    `changes` are merged into QUIET, section by section; `probes` are external ones. The log is a
    file; `stderr` gives it another one, and then `port` has to say what it listens on.
    `descriptors` is the limit of open files it runs under.
    """

    def __init__(
        self,
        folder: Path,
        changes: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        probes: Sequence[Mapping[str, Any]] = (),
        environment: Mapping[str, str] | None = None,
        stderr: int | None = None,
        descriptors: int | None = None,
        port: int | None = None,
        command: Sequence[str] = (sys.executable, "-m", "exporter", "run"),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log_file = folder / "program.log"
        config = folder / "program.toml"
        config.write_text(_toml(changes or {}, probes))
        self.started = time.monotonic()
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--config", str(config)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log if stderr is None else stderr,
                preexec_fn=None if descriptors is None else _limit(descriptors),  # noqa: PLW1509 - the limit is for the child alone
                start_new_session=True,
            )
        self._port = port

    def __enter__(self) -> "Program":  # noqa: PYI034 - Self is not in typing of Python 3.10
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        # One with a thread asleep in the kernel cannot be killed: a test that leaves it must fail.
        self.process.wait(PATIENCE_SECS)

    @property
    def port(self) -> int:
        """The port it listens on, waited for."""
        if self._port is None:
            self._port = wait_for(self._listening_port, "the program to listen")
        return self._port

    @property
    def log_lines(self) -> list[dict[str, Any]]:
        """What it logged so far."""
        return [json.loads(line) for line in self.log_file.read_text().splitlines()]

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """The answer to a request; `Accept_Encoding="gzip"` is a header."""
        connection = self._connection()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, headers=named)
            response = connection.getresponse()
            lower = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, lower, response.read())
        finally:
            connection.close()

    def first_page(self) -> Answer:
        """`/metrics`, as soon as there is one."""
        return self.page_with("hw_")

    def page_with(self, text: str) -> Answer:
        """`/metrics`, as soon as it holds this text."""

        def look() -> Answer | None:
            try:
                answer = self.get("/metrics")
            except ConnectionRefusedError:
                return None  # it does not listen yet
            return answer if answer.status == 200 and text in answer.text else None

        return wait_for(look, f"{text!r} on the page")

    def value(self, series: str) -> float:
        """The value of this family or series on the page now; zero where there is none."""
        return value_of(self.get("/metrics").text, series) or 0.0

    def collections(self) -> float:
        """How many collections there were."""
        return self.value("hw_exporter_collections_total")

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Its exit code after this signal, and the seconds it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_SECS)
        return code, time.monotonic() - began

    def obeys(self, number: int) -> bool:
        """Whether it has said what is to be done at this signal."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        caught = int(re.findall(r"SigCgt:\s+([0-9a-f]+)", status)[0], 16)
        # Python itself catches SIGINT from its start on, to raise KeyboardInterrupt.
        return bool(caught & 1 << (signal.SIGTERM - 1)) and bool(caught & 1 << (number - 1))

    def descriptor_count(self) -> int:
        """How many files it holds open."""
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    def resident_bytes(self) -> int:
        """Its resident memory, its children left out."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024

    def child_pids(self) -> list[int]:
        """Its children that have not been waited for."""
        found: list[int] = []
        for thread in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(FileNotFoundError):  # the thread has ended
                found += map(int, (thread / "children").read_text().split())
        return found

    def _connection(self) -> http.client.HTTPConnection:
        """A connection as the program speaks; its certificate is not looked at."""
        port, text = self.port, self.log_file.read_text()
        if "listening on https:" not in text:
            return http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECS)
        context = ssl._create_unverified_context()  # noqa: S323 - a certificate of this test
        return http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=PATIENCE_SECS, context=context
        )

    def _listening_port(self) -> int | None:
        assert self.process.poll() is None, f"it has ended: {self.log_file.read_text()}"
        found = re.search(r"listening on https?://[^ \"]*:(\d+)", self.log_file.read_text())
        return int(found[1]) if found else None


def wait_for(look: Callable[[], T | None], what: str, secs: float = PATIENCE_SECS) -> T:
    """What `look` gives once that is true or not empty; fails after so many seconds.

    It looks often at first, and after a second ten times a second: a look may cost a whole page.
    """
    began = time.monotonic()
    while not (found := look()):
        waited = time.monotonic() - began
        assert waited < secs, f"waited {secs:g} s for {what}"
        time.sleep(min(0.1, 0.01 + waited / 10))
    return found


def exchange(port: int, data: bytes) -> bytes:
    """All that comes back on one connection for these bytes, until the program closes it."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECS) as sock:
        received = []
        try:
            sock.sendall(data)
            while chunk := sock.recv(65536):
                received.append(chunk)
        except (ConnectionResetError, BrokenPipeError):
            pass  # closed before it took everything: what came until then counts
        return b"".join(received)


def _limit(descriptors: int) -> Callable[[], None]:
    def apply() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    return apply


def _toml(changes: Mapping[str, Mapping[str, Any]], probes: Sequence[Mapping[str, Any]]) -> str:
    tables = [
        (f"[{name}]", {**QUIET.get(name, {}), **changes.get(name, {})})
        for name in {**QUIET, **changes}
    ]
    lines = []
    for head, section in (*tables, *(("[[probes]]", probe) for probe in probes)):
        lines.append(head)
        lines += [f"{key} = {json.dumps(value)}" for key, value in section.items()]
    return "\n".join(lines) + "\n"
