"""The shipped ways to monitor many nodes, started together in the time of the pager.

Addresses, targets and times are replaced in the shipped files, nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from tests.fakes.pager import SPEED, Replay, moved, paths_at, quicker
from tests.fakes.prometheus import RULES, Prometheus, free_port, prometheus_agent, prometheus_of

RULE_FILES = ("recording.yml", "alerts.yml", "clusters.yml")
SHARDS = 2
_EVERY = re.compile(
    r"(?m)^(\s*(?:- )?(?:scrape_interval|evaluation_interval|batch_send_deadline): )(\d+)s$"
)


def in_racks(replays: Sequence[Replay], racks: int) -> list[Replay]:
    """The same nodes, in so many racks of equal size."""
    size = -(-len(replays) // racks)
    return [replace(it, rack=f"r{number // size}") for number, it in enumerate(replays)]


def later(replay: Replay, secs: float) -> Replay:
    """The same so many seconds later; before it the node is as it was at first."""
    pages = tuple((at + secs, moved(page, secs)) for at, page in replay.pages)
    return replace(
        replay,
        pages=((0.0, replay.pages[0][1]), *pages),
        first_root=None if replay.first_root is None else replay.first_root + secs,
        ended=None if replay.ended is None else replay.ended + secs,
    )


def well(replay: Replay) -> Replay:
    """The same node as it was at first, for as long."""
    (_, page), (last, _) = replay.pages[0], replay.pages[-1]
    return replace(replay, pages=((0.0, page), (last, page)), first_root=None, roots=())


@contextmanager
def shards(
    folder: Path, nodes: str, manager: str, replays: Sequence[Replay]
) -> Iterator[Sequence[Prometheus]]:
    """Two shards by shard.yml, and above.yml above them."""
    ports = [free_port() for _ in range(SHARDS)]
    with ExitStack() as stack:
        started = []
        for number, port in enumerate(ports):
            config = _scraping(_shipped("shard.yml", manager), nodes, replays, number)
            place = _written(folder / f"shard{number}", config)
            started.append(stack.enter_context(prometheus_of(place, place.parent, port=port)))
        above = _shipped("above.yml", manager)
        for job in above["scrape_configs"]:
            job["static_configs"] = [{"targets": [f"127.0.0.1:{port}" for port in ports]}]
        place = _written(folder / "above", above)
        started.append(stack.enter_context(prometheus_of(place, place.parent)))
        yield started


@contextmanager
def agents(
    folder: Path, nodes: str, manager: str, replays: Sequence[Replay]
) -> Iterator[Sequence[Prometheus]]:
    """Two agents by agent.yml, and the receiver of what they write by receiver.yml."""
    port = free_port()
    with ExitStack() as stack:
        place = _written(folder / "receiver", _shipped("receiver.yml", manager))
        takes = "--web.enable-remote-write-receiver"
        receiver = stack.enter_context(prometheus_of(place, place.parent, takes, port=port))
        for number in range(SHARDS):
            config = _scraping(_shipped("agent.yml", manager), nodes, replays, number)
            config["remote_write"][0]["url"] = f"http://127.0.0.1:{port}/api/v1/write"
            place = _written(folder / f"agent{number}", config)
            stack.enter_context(prometheus_agent(place, place.parent))
        yield [receiver]


@contextmanager
def one(
    folder: Path, nodes: str, manager: str, replays: Sequence[Replay]
) -> Iterator[Sequence[Prometheus]]:
    """One Prometheus by prometheus.yml."""
    config = _scraping(_shipped("prometheus.yml", manager), nodes, replays)
    place = _written(folder / "one", config)
    with prometheus_of(place, place.parent) as started:
        yield [started]


def _shipped(name: str, manager: str) -> dict[str, Any]:
    """A shipped configuration in the time of the pager, with this Alertmanager."""
    text = _EVERY.sub(
        lambda it: f"{it[1]}{round(1000 * int(it[2]) / SPEED)}ms", (RULES / name).read_text()
    )
    config: dict[str, Any] = yaml.safe_load(text)
    if "alerting" in config:
        config["alerting"]["alertmanagers"] = [{"static_configs": [{"targets": [manager]}]}]
    return config


def _scraping(
    config: dict[str, Any], nodes: str, replays: Sequence[Replay], shard: int = 0
) -> dict[str, Any]:
    """The configuration with the replays as targets, as the shard of this number."""
    (job,) = config["scrape_configs"]
    job["static_configs"] = [
        {"targets": [it.name], "labels": {"cluster": it.cluster, "rack": it.rack}} for it in replays
    ]
    relabel = job.setdefault("relabel_configs", [])
    for rule in relabel:
        if rule.get("action") == "keep":
            rule["regex"] = str(shard)
    relabel += paths_at(nodes)
    return config


def _written(folder: Path, config: dict[str, Any]) -> Path:
    """The file of the configuration, beside all shipped rules."""
    folder.mkdir(parents=True)
    for name in RULE_FILES:
        (folder / name).write_text(quicker((RULES / name).read_text()))
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config))
    return file
