"""Recorded incidents before a real Prometheus and a real Alertmanager, and who was notified.

Time runs faster: one second stands for many, in the scrapes, in the waits of the alerts and in
those of Alertmanager alike.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from exporter.collectors.demo.script import (
    ECC_BURST,
    FELL_OFF,
    INCIDENTS,
    LINK_ERRORS,
    OVERHEATING,
    SLOW_DISK,
    DemoIncident,
)
from exporter.collectors.exporter.fault_families import FAMILIES
from exporter.commands.rules import replayed
from exporter.config import Metrics
from exporter.exposition.render import Format, render
from exporter.faults.entities.silenced import silenced
from exporter.faults.replay.snapshots import START_WALL
from exporter.faults.rules.loader import RuleBook
from exporter.model.silence import Silence
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from tests.corpus.cases import Case
from tests.corpus.scoring import fits
from tests.fakes.prometheus import RULES, Prometheus, alertmanager, prometheus_of, settings_of
from tests.fakes.promtool import METRIC
from tests.fakes.virtual_node import EPOCH, demo_node
from tests.faults.conclusions import CONCLUSIONS
from tests.program import wait_for
from tests.serving import replying

SPEED = 15
"""Recorded seconds in one second."""

LATEST_SECS = 90
"""A notification comes so long after the judgement at most."""

SETTLE_SECS = 90
"""What is recorded last goes on for so long, for alerts and notifications to follow."""

LOOK_SECS = 0.2
ATTEMPTS = 4
"""What a busy machine disturbed is replayed again, beside less each time."""

MOST_LATE_SECS = 1.0
"""So late a scrape may be, or this process: an alert sees one value less at most."""

COLLECT_SECS = Metrics().collect_interval_secs
BEFORE_SECS, AFTER_SECS = 30, 360
"""What is replayed of the demo around an incident; an alert goes on for five minutes after it."""

AGAIN_SECS = 450
"""From the end of an incident to the next one: its alert has gone by then, and its resolve."""

GROUP_SECS = 120
"""How much later Alertmanager tells an alert of a group that it has told of already: it removes
empty groups after 30 seconds, which are not shortened, and tells new ones of others by interval."""

DEMO_ROOTS = {
    OVERHEATING: "gpu_overheat@GPU-*",
    ECC_BURST: "gpu_ecc_uncorrected@GPU-*",
    FELL_OFF: "pcie_link_down@*",
    LINK_ERRORS: "nvlink_fatal@*",
    SLOW_DISK: "disk_stalled@nvme1n1",
}
"""What is broken in each incident of the demo."""

ASKED = METRIC.findall((RULES / "alerts.yml").read_text() + (RULES / "recording.yml").read_text())
SHOWN = [family for family in FAMILIES if family.name in ASKED]
"""What alerts ask for."""

_WAIT = re.compile(
    r"(?m)^(\s+(?:for|keep_firing_for|group_wait|group_interval|repeat_interval): )(\d+)([smh])$"
)
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(slots=True)
class Notified:
    """What a receiver got about one node; `names` are seconds, severities, `fault@component`."""

    firing: Counter[str] = field(default_factory=Counter)
    names: list[tuple[float, str, str]] = field(default_factory=list)
    resolved: int = 0

    @property
    def gravest(self) -> int:
        """How many notifications had the highest severity that there was."""
        return self.firing[min(self.firing)] if self.firing else 0


@dataclass(frozen=True, slots=True)
class Replay:
    """One incident as its node shows it: pages by the recorded second from which they hold.

    Faults on them have begun so many seconds after the recording.

    `first_root` is when the first root was judged, `ended` when it had gone; `roots` are the
    labels of what is broken, as in the corpus, none on a healthy node. Nodes that are in no
    `cluster` together know nothing of each other.
    """

    name: str
    pages: tuple[tuple[float, bytes], ...]
    first_root: float | None
    ended: float | None
    roots: tuple[str, ...]
    cluster: str = ""
    rack: str = ""

    def page_at(self, second: float) -> bytes:
        """The page at this second."""
        return next((page for at, page in reversed(self.pages) if at <= second), b"")

    def wait_of(self, notified: Notified) -> float | None:
        """The seconds from the judgement of the first root to the first notification."""
        if self.first_root is None or not notified.names:
            return None
        return notified.names[0][0] - self.first_root

    def after_end(self, notified: Notified) -> list[str]:
        """What was new for the engineer when what was broken had gone."""
        if self.ended is None:
            return []
        return [name for at, _, name in notified.names if at > self.ended + LATEST_SECS]

    def is_told(self, got: Mapping[str, Notified]) -> bool:
        """Whether each root was told once, at its beginning and end only."""
        notified = got[self.name]
        if self.cluster:
            return not notified.names and len(got[self.cluster].names) == 1
        is_resolved = self.ended is None or notified.resolved == 1
        is_one = notified.gravest == len(self.roots) and self.is_root_named(notified)
        return is_one and is_resolved and not self.after_end(notified)

    def is_root_named(self, notified: Notified) -> bool:
        """Whether one of the highest severity names what is broken; there is none if nothing is."""
        if not notified.firing:
            return not self.roots
        highest = min(notified.firing)
        named = [name for _, severity, name in notified.names if severity == highest]
        return any(fits(root, name) for root in self.roots for name in named)


def replay_of(case: Case, book: RuleBook) -> Replay:
    """The pages of a recording, judged by these rules."""
    return _replay(case.name, case.root, START_WALL, replayed(case.recording(), book))


def demo_replay(book: RuleBook, *incidents: DemoIncident) -> Replay:
    """The pages of the demo's node around one of its incidents, or several of them."""
    start = incidents[0].starts - BEFORE_SECS
    name = f"demo_{incidents[0].name}" if len(incidents) == 1 else "demo_whole_script"
    with demo_node(start, *incidents, interval_secs=COLLECT_SECS) as node:
        snapshots = node.snapshots(name, incidents[-1].ends - start + AFTER_SECS, book)
    judged = ((it.taken_at - EPOCH, it.conclusions) for it in snapshots)
    return _replay(name, tuple(DEMO_ROOTS[it.name] for it in incidents), EPOCH, judged)


def twice_replay(book: RuleBook, name: str) -> Replay:
    """The pages of the demo's node on which the same incident happens again, once it was over."""
    found = next(incident for incident in INCIDENTS if incident.name == name)
    lasts = found.ends - found.starts
    begins = (BEFORE_SECS, BEFORE_SECS + lasts + AGAIN_SECS)
    early = [replace(found, starts=at, ends=at + lasts) for at in begins]
    with demo_node(0, *early, interval_secs=COLLECT_SECS) as node:
        snapshots = node.snapshots(f"{name}_twice", early[1].ends + GROUP_SECS, book)
    judged = ((it.taken_at - EPOCH, it.conclusions) for it in snapshots)
    return _replay(f"{name}_twice", (DEMO_ROOTS[name],) * 2, EPOCH, judged)


def silence_replay(name: str, secs: float) -> Replay:
    """The pages of a node with one fault, which is silenced for its first seconds."""
    root = next(it for it in CONCLUSIONS.faults if it.is_root and it.is_active)
    broken = replace(CONCLUSIONS, faults=(root,), rules_skipped=())
    quiet = silenced(broken, [Silence("1", START_WALL + secs, "me", "test")])
    moments = [*range(0, int(2 * secs), int(COLLECT_SECS))]
    judged = ((START_WALL + at, quiet if at < secs else broken) for at in moments)
    rows = [(at - START_WALL, conclusions) for at, conclusions in judged]
    return _replay(name, (f"{root.rule}@{root.subject.hw_id}",), START_WALL, rows)


def in_a_cluster(replay: Replay, cluster: str, nodes: int) -> list[Replay]:
    """The same on so many nodes at once."""
    before = f'node="{replay.name}"'.encode()
    return [
        replace(
            replay,
            name=name,
            cluster=cluster,
            pages=tuple(
                (at, page.replace(before, f'node="{name}"'.encode())) for at, page in replay.pages
            ),
        )
        for name in (f"{cluster}_{number}" for number in range(nodes))
    ]


def _replay(
    name: str,
    roots: tuple[str, ...],
    epoch: float,
    judged: Iterable[tuple[float, Conclusions | None]],
) -> Replay:
    pages: list[tuple[float, bytes]] = []
    first_root = ended = None
    what: frozenset[str] = frozenset()
    for at, conclusions in judged:
        assert conclusions is not None
        snapshot = Snapshot(name, len(pages), at, at, 0.0, conclusions=conclusions)
        pages.append((at, moved(render(SHOWN, snapshot, Format.TEXT).body, -epoch)))
        loud = [fault for fault in conclusions.active if fault.severity != "info"]
        found = frozenset(f"{it.rule}@{it.subject.hw_id}" for it in loud if it.is_root)
        labelled = frozenset(it for it in found if any(fits(root, it) for root in roots))
        if first_root is None and labelled:
            first_root, what = at, labelled
        if what & {f"{it.rule}@{it.subject.hw_id}" for it in loud}:
            ended = None
        elif what and ended is None:
            ended = at
    return Replay(name, tuple(pages), first_root, ended, roots)


_SINCE = re.compile(rb"(?m)^(hw_fault_since_timestamp_seconds\{.*\}) (\S+)$")


def moved(page: bytes, secs: float, scale: float = 1.0) -> bytes:
    """Let faults have begun at other times: as a recording counts them, or as they are shown."""
    return _SINCE.sub(
        lambda it: b"%s %.3f" % (it[1], float(it[2]) / scale + secs),
        page,
    )


Start = Callable[[Path, str, str, Sequence["Replay"]], AbstractContextManager[Sequence[Prometheus]]]
"""Starts servers that scrape the replays at an address and alert to the Alertmanager at another."""


def notifications(
    replays: Sequence[Replay], folder: Path, start: "Start | None" = None
) -> Mapping[str, Notified]:
    """What Alertmanager's receiver gets while all incidents happen side by side, by node.

    One Prometheus scrapes all of them, unless others are started.

    What was not scraped or judged in time proves no second notification and no wrong one: it is
    replayed again, beside less. The last attempt counts as it is.
    """
    got: dict[str, Notified] = {}
    left = list(replays)
    for attempt in range(ATTEMPTS):
        found, late = _notifications(left, folder / f"{attempt}", start or _prometheus)
        got |= found
        doubted = {it.cluster or it.name for it in left if it.name in late and not it.is_told(got)}
        left = [it for it in left if (it.cluster or it.name) in doubted]
        if not left:
            break
    return got


def _notifications(
    replays: Sequence[Replay], folder: Path, start: Start
) -> tuple[Mapping[str, Notified], Collection[str]]:
    """What the receiver got, and the nodes and clusters that this machine was too busy for."""
    places = {name for replay in replays for name in (replay.name, replay.cluster)}
    got: dict[str, Notified] = {place: Notified() for place in places}
    with ExitStack() as stack:
        clock = _Clock()
        pages = _Nodes(replays, clock)
        nodes = stack.enter_context(replying(pages.answer))
        receiver = stack.enter_context(replying(_Receiver(got, clock).answer))
        url = stack.enter_context(alertmanager(folder / "manager", _routes(folder, receiver)))
        manager = url.removeprefix("http://")
        servers = stack.enter_context(start(folder, nodes, manager, replays))
        wait_for(lambda: _scraped(servers) == len(replays), "the first scrapes", 60)
        clock.begin()
        last = max(replay.pages[-1][0] for replay in replays) + SETTLE_SECS
        is_late = _slept_badly(until=lambda: clock.elapsed() >= last)
        if is_late or any(server.missed_evaluations() for server in servers):
            return got, places
        late = {name for server in servers for name in server.unscraped(last / SPEED)}
        return got, late | {it.name for it in replays if pages.longest_wait(it) > MOST_LATE_SECS}


def _slept_badly(until: Callable[[], bool]) -> bool:
    """Wait; whether this machine once let a program wait for long in the meantime."""
    longest, before = 0.0, time.monotonic()
    while not until():
        time.sleep(LOOK_SECS)
        longest, before = max(longest, time.monotonic() - before), time.monotonic()
    return longest > LOOK_SECS + MOST_LATE_SECS


def _scraped(servers: Iterable[Prometheus]) -> int:
    """How many nodes are scraped; their pages are empty before the incidents begin."""
    counted = (server.query('sum(up{job="hw-exporter"})') for server in servers)
    return sum(int(it["value"][1]) for found in counted for it in found)


class _Clock:
    """Recorded seconds since the incidents began."""

    def __init__(self) -> None:
        self._began: float | None = None

    def begin(self) -> None:
        self._began = time.monotonic()

    def elapsed(self) -> float:
        """A moment before the incidents until they begin."""
        return -1.0 if self._began is None else (time.monotonic() - self._began) * SPEED


class _Nodes:
    """Answers `/NODE` with the page of this moment."""

    def __init__(self, replays: Iterable[Replay], clock: _Clock) -> None:
        self._replays = {replay.name: replay for replay in replays}
        self._clock = clock
        self._asked: dict[str, list[float]] = {name: [] for name in self._replays}

    def longest_wait(self, replay: Replay) -> float:
        """The most seconds from one scrape of a node to the next one, beyond the interval."""
        end = (replay.pages[-1][0] + SETTLE_SECS) / SPEED
        asked = [0.0, *(at for at in self._asked[replay.name] if 0 <= at < end), end]
        return max(then - before for before, then in pairwise(asked)) - 1.0

    def answer(self, path: str, _: bytes) -> bytes:
        replay = self._replays.get(path.strip("/"))
        now = self._clock.elapsed()
        if replay:
            self._asked[replay.name].append(now / SPEED)
        page = replay.page_at(now) if replay else b""
        return moved(page, time.time() - now / SPEED, SPEED)


class _Receiver:
    """Takes Alertmanager's webhook; counts a notification once, by its gravest firing alert."""

    def __init__(self, got: dict[str, Notified], clock: _Clock) -> None:
        self._got = got
        self._clock = clock
        self._seen: set[str] = set()

    def answer(self, _: str, body: bytes) -> bytes:
        alerts = json.loads(body)["alerts"]
        for place in {_place(alert) for alert in alerts}:
            self._take(place, [alert for alert in alerts if _place(alert) == place])
        return b""

    def _take(self, node: str, alerts: list[dict[str, Any]]) -> None:
        notified = self._got[node]
        new = [it for it in alerts if it["status"] == "firing" and self._is_new(it)]
        for alert in new:
            labels = alert["labels"]
            name = f"{labels.get('fault', labels['alertname'])}@{labels.get('hw_id', '')}"
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


def _place(alert: Mapping[str, Any]) -> str:
    """The node that an alert is about, else the cluster."""
    return str(alert["labels"].get("node") or alert["labels"]["cluster"])


def quicker(text: str) -> str:
    """The same rules or routes with every wait shortened as time is."""

    def shorter(match: "re.Match[str]") -> str:
        secs = int(match[2]) * _UNITS[match[3]]
        return f"{match[1]}{max(1, round(1000 * secs / SPEED))}ms"

    return _WAIT.sub(shorter, text)


def _routes(folder: Path, receiver: str) -> Path:
    """The shipped routes in a file of this folder, with a receiver at this address."""
    folder.mkdir(parents=True, exist_ok=True)
    config = yaml.safe_load(quicker((RULES / "alertmanager.yml").read_text()))
    hook = {"url": f"http://{receiver}/", "send_resolved": True}
    for each in config["receivers"]:
        if each["name"] == "on-call":
            each["webhook_configs"] = [hook]
    file = folder / "alertmanager.yml"
    file.write_text(yaml.safe_dump(config))
    return file


def paths_at(address: str) -> list[dict[str, Any]]:
    """Scrape what each target names as a path of this address."""
    return [
        {"source_labels": ["__address__"], "target_label": "__metrics_path__"},
        {"source_labels": ["__address__"], "target_label": "instance"},
        {"target_label": "__address__", "replacement": address},
    ]


@contextmanager
def _prometheus(
    folder: Path, nodes: str, manager: str, replays: Iterable[Replay]
) -> Iterator[Sequence[Prometheus]]:
    (folder / "alerts.yml").write_text(quicker((RULES / "alerts.yml").read_text()))
    targets = [
        {"targets": [it.name], "labels": {"cluster": it.cluster or it.name}} for it in replays
    ]
    rules = (RULES / "recording.yml", folder / "alerts.yml")
    config = settings_of(rules, {"hw-exporter": targets})
    config["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [manager]}]}]}
    config["scrape_configs"][0]["relabel_configs"] = paths_at(nodes)
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    with prometheus_of(folder / "prometheus.yml", folder) as found:
        yield [found]
