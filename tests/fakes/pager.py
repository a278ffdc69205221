"""Recorded incidents before a real Prometheus and a real Alertmanager, and who was notified.

Time runs faster: one second stands for many, in the scrapes, in the waits of the alerts and in
those of Alertmanager alike.
"""

import http.server
import json
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from exporter.commands.rules import replayed
from exporter.exposition.faults import FAMILIES
from exporter.exposition.render import Format, render
from exporter.faults.rules.loader import RuleBook
from exporter.model.snapshot import Snapshot
from tests.corpus.labels import Case
from tests.fakes.prometheus import RULES, Prometheus, free_port
from tests.program import wait_for

SPEED = 15
"""Recorded seconds in one second."""

SETTLE_SECS = 90
"""What is recorded last goes on for so long, for alerts and notifications to follow."""

_WAIT = re.compile(
    r"(?m)^(\s+(?:for|keep_firing_for|group_wait|group_interval|repeat_interval): )(\d+)([smh])$"
)
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Replay:
    """One incident as its node shows it: pages by the recorded second from which they hold."""

    name: str
    pages: tuple[tuple[float, bytes], ...]
    first_root: float | None

    def page_at(self, second: float) -> bytes:
        """The page at this second."""
        return next((page for at, page in reversed(self.pages) if at <= second), b"")


@dataclass(slots=True)
class Notified:
    """What a receiver got about one node."""

    firing: Counter[str] = field(default_factory=Counter)
    names: list[tuple[float, str, str]] = field(default_factory=list)
    resolved: int = 0


def replay_of(case: Case, book: RuleBook) -> Replay:
    """The pages of a recording, judged by these rules."""
    pages: list[tuple[float, bytes]] = []
    first_root = None
    for at, conclusions in replayed(case.recording(), book):
        snapshot = Snapshot(case.name, len(pages), at, at, 0.0, conclusions=conclusions)
        pages.append((at, render(FAMILIES, snapshot, Format.TEXT).body))
        loud = (fault.is_root and fault.severity != "info" for fault in conclusions.active)
        if first_root is None and any(loud):
            first_root = at
    return Replay(case.name, tuple(pages), first_root)


def notifications(replays: Sequence[Replay], folder: Path) -> Mapping[str, Notified]:
    """What Alertmanager's receiver gets while all incidents happen side by side, by node."""
    got: dict[str, Notified] = {replay.name: Notified() for replay in replays}
    with ExitStack() as stack:
        clock = _Clock()
        nodes = stack.enter_context(_serving(_Nodes(replays, clock)))
        receiver = stack.enter_context(_serving(_Receiver(got, clock)))
        manager = stack.enter_context(_alertmanager(folder, receiver))
        clock.begin()
        stack.enter_context(_prometheus(folder, nodes, manager, [it.name for it in replays]))
        last = max(replay.pages[-1][0] for replay in replays) + SETTLE_SECS
        time.sleep(max(0.0, last / SPEED - clock.elapsed() / SPEED))
    return got


class _Clock:
    """Recorded seconds since the incidents began."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def begin(self) -> None:
        self._began = time.monotonic()

    def elapsed(self) -> float:
        return (time.monotonic() - self._began) * SPEED


class _Nodes:
    """Answers `/NODE` with the page of this moment."""

    def __init__(self, replays: Iterable[Replay], clock: _Clock) -> None:
        self._replays = {replay.name: replay for replay in replays}
        self._clock = clock

    def answer(self, path: str, _: bytes) -> bytes:
        replay = self._replays.get(path.strip("/"))
        return replay.page_at(self._clock.elapsed()) if replay else b""


class _Receiver:
    """Takes Alertmanager's webhook; counts a notification once, by its gravest firing alert."""

    def __init__(self, got: dict[str, Notified], clock: _Clock) -> None:
        self._got = got
        self._clock = clock
        self._seen: set[str] = set()

    def answer(self, _: str, body: bytes) -> bytes:
        alerts = json.loads(body)["alerts"]
        for node in {alert["labels"]["node"] for alert in alerts}:
            self._take(node, [alert for alert in alerts if alert["labels"]["node"] == node])
        return b""

    def _take(self, node: str, alerts: list[dict[str, Any]]) -> None:
        notified = self._got[node]
        new = [it for it in alerts if it["status"] == "firing" and self._is_new(it)]
        for alert in new:
            name = f"{alert['labels']['fault']}@{alert['labels']['hw_id']}"
            notified.names.append((self._clock.elapsed(), alert["labels"]["severity"], name))
        grave = [alert["labels"]["severity"] for alert in new]
        if grave:
            notified.firing[min(grave)] += 1  # critical comes before warning
        notified.resolved += not any(alert["status"] == "firing" for alert in alerts)

    def _is_new(self, alert: dict[str, Any]) -> bool:
        key = f"{alert['fingerprint']} {alert['startsAt']}"
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new


@contextmanager
def _serving(handler: "_Nodes | _Receiver") -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(b"")

        def do_POST(self) -> None:
            self._reply(self.rfile.read(int(self.headers["Content-Length"])))

        def _reply(self, body: bytes) -> None:
            answer = handler.answer(self.path, body)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            with suppress(BrokenPipeError):  # who asked did not wait
                self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def quicker(text: str) -> str:
    """The same rules or routes with every wait shortened as time is."""

    def shorter(match: "re.Match[str]") -> str:
        secs = int(match[2]) * _UNITS[match[3]]
        return f"{match[1]}{max(1, round(1000 * secs / SPEED))}ms"

    return _WAIT.sub(shorter, text)


@contextmanager
def _alertmanager(folder: Path, receiver: str) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    config = yaml.safe_load(quicker((RULES / "alertmanager.yml").read_text()))
    hook = {"url": f"http://{receiver}/", "send_resolved": True}
    for each in config["receivers"]:
        if each["name"] == "on-call":
            each["webhook_configs"] = [hook]
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = (
        *("prometheus-alertmanager", f"--config.file={folder}/alertmanager.yml"),
        *(f"--storage.path={folder}/manager", f"--web.listen-address={address}"),
        "--cluster.listen-address=",
    )
    with _running(command, folder / "alertmanager.log"):
        yield address


@contextmanager
def _prometheus(
    folder: Path, nodes: str, manager: str, names: Sequence[str]
) -> Iterator[Prometheus]:
    (folder / "alerts.yml").write_text(quicker((RULES / "alerts.yml").read_text()))
    relabel = [
        {"source_labels": ["__address__"], "target_label": "__metrics_path__"},
        {"source_labels": ["__address__"], "target_label": "instance"},
        {"target_label": "__address__", "replacement": nodes},
    ]
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES / "recording.yml"), str(folder / "alerts.yml")],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [manager]}]}]},
        "scrape_configs": [
            {
                "job_name": "hw-exporter",
                "honor_labels": True,
                "static_configs": [{"targets": list(names)}],
                "relabel_configs": relabel,
            }
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = (
        *("prometheus", f"--config.file={folder}/prometheus.yml"),
        *(f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"),
    )
    with _running(command, folder / "prometheus.log"):
        found = Prometheus(port)
        wait_for(found.is_ready, "Prometheus to be ready")
        yield found


@contextmanager
def _running(command: Sequence[str], log_file: Path) -> Iterator[None]:
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()
