"""One notification for an incident: recordings through a real Prometheus and Alertmanager."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from exporter.collectors.demo.script import INCIDENTS, LINK_ERRORS
from exporter.collectors.everything import rule_book
from tests.corpus.cases import CASES as RECORDINGS
from tests.corpus.cases import Case
from tests.fakes.pager import (
    AGAIN_SECS,
    LATEST_SECS,
    Notified,
    Replay,
    demo_replay,
    in_a_cluster,
    notifications,
    replay_of,
    silence_replay,
    twice_replay,
)
from tests.fakes.prometheus import RULES, needs
from tests.fakes.promtool import (
    gives,
    input_series,
    needs_promtool,
    samples,
    trial,
    tried,
)

LONGEST_SECS = 900
SILENT_SECS = 240
LONGEST_IN_REAL_TIME_SECS = 720
FABRIC, NODES_OF_FABRIC = "fabric", 20
CASES = {case.name: case for case in RECORDINGS}

pytestmark = [pytest.mark.slow, needs("prometheus", "prometheus-alertmanager")]


@pytest.fixture(scope="module")
def recorded() -> tuple[list[Replay], list[Replay]]:
    """What notifies: the demo's incidents, and recordings that are short enough; what may not."""
    lengths = {case.name: _length(case) for case in CASES.values()}
    short = [case for case in CASES.values() if lengths[case.name] <= LONGEST_SECS]
    some = [case for case in short if case.is_incident][:: max(1, len(short) // 56)]
    told = [case for case in some if lengths[case.name] <= LONGEST_IN_REAL_TIME_SECS]
    book = rule_book()
    logging.disable()
    try:
        broken = [demo_replay(book, incident) for incident in INCIDENTS]
        broken += [replay_of(case, book) for case in told]
        port = next(case for case in CASES.values() if case.root == ("ib_port_down@mlx5_0/1",))
        broken += in_a_cluster(replay_of(port, book), FABRIC, NODES_OF_FABRIC)
        quiet = [case for case in short if not case.is_incident][::2]
        well = [replay_of(case, book) for case in quiet]
        broken.append(twice_replay(book, LINK_ERRORS))
    finally:
        logging.disable(logging.NOTSET)
    return broken, well


def _length(case: Case) -> float:
    """Tell how many seconds a recording lasts, without judging it."""
    at = 0.0
    for row in map(json.loads, case.recording()):
        at = row.get("at", at) + row.get("wait", 0)
    return at


@pytest.fixture(scope="module")
def silence() -> Replay:
    """A node whose only fault is silenced at first."""
    return silence_replay("silenced", SILENT_SECS)


@pytest.fixture(scope="module")
def got(
    recorded: tuple[list[Replay], list[Replay]],
    silence: Replay,
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, Notified]:
    """What the on-call engineer was notified of, by recording."""
    return notifications([*recorded[0], silence], tmp_path_factory.mktemp("pager"))


@pytest.fixture(scope="module")
def incidents(recorded: tuple[list[Replay], list[Replay]]) -> list[Replay]:
    """Those in which one thing is broken, with what follows from it."""
    return [it for it in recorded[0] if len(it.roots) == 1 and not it.cluster]


def test_every_incident_of_the_demo_is_among_them(incidents: list[Replay]) -> None:
    """All that goes wrong in the demo is replayed, beside thirty recordings and more."""
    names = {replay.name for replay in incidents}
    of_demo = {f"demo_{incident.name}" for incident in INCIDENTS}
    assert of_demo <= names
    assert len(names - of_demo) >= 30


def test_an_incident_is_one_notification_of_the_highest_severity(
    incidents: list[Replay], got: Mapping[str, Notified]
) -> None:
    """No incident notifies twice with its highest severity, at its recovery neither."""
    twice = {
        replay.name: got[replay.name].names for replay in incidents if got[replay.name].gravest > 1
    }
    assert twice == {}


def test_the_notification_names_the_root(
    incidents: list[Replay], got: Mapping[str, Notified]
) -> None:
    """What the engineer is told with the highest severity is the root, as it is labelled."""
    wrong = {
        replay.name: (replay.roots, got[replay.name].names)
        for replay in incidents
        if got[replay.name].names and not replay.is_root_named(got[replay.name])
    }
    assert wrong == {}


def test_nothing_is_new_at_recovery(incidents: list[Replay], got: Mapping[str, Notified]) -> None:
    """When what was broken has gone, the resolve is all that is sent."""
    new = {replay.name: replay.after_end(got[replay.name]) for replay in incidents}
    assert {name: names for name, names in new.items() if names} == {}
    assert sum(replay.ended is not None for replay in incidents) >= 8


def test_the_demo_notifies(got: Mapping[str, Notified]) -> None:
    """Each incident of the demo is told once, and once that it is over."""
    told = {it.name: got[f"demo_{it.name}"] for it in INCIDENTS}
    counts = {name: (sum(it.firing.values()), it.resolved) for name, it in told.items()}
    assert counts == dict.fromkeys(counts, (1, 1))


def test_the_same_link_notifies_again(got: Mapping[str, Notified]) -> None:
    """A second incident of an NVLink that was well again is a second notification."""
    told = got[f"{LINK_ERRORS}_twice"]
    (first, _, name), (second, _, again) = told.names
    assert name == again
    assert name.startswith("nvlink_fatal@")
    assert second - first > AGAIN_SECS
    assert told.resolved >= 1


def test_a_silenced_fault_notifies_when_its_silence_ends(
    silence: Replay, got: Mapping[str, Notified]
) -> None:
    """Nothing is sent while it is silenced, and one notification comes after that."""
    told = got[silence.name]
    ((at, _, name),) = told.names
    assert name == "disk_io_errors@nvme0n1"
    assert at >= SILENT_SECS


@needs_promtool
def test_it_comes_within_ninety_seconds(
    incidents: list[Replay], got: Mapping[str, Notified], tmp_path: Path
) -> None:
    """From the judgement of the root to the notification, in the time of the replay.

    By promtool, whose clock does not depend on how busy this machine is; scrapes come as late as
    they can, and so does the evaluation. An incident that ends by itself before that need not be
    told.
    """
    latest = LATEST_SECS - sum(_shipped_waits()[1:])
    told = [
        it
        for it in incidents
        if it.first_root is not None and got[it.name].names
        if it.ended is None or it.ended >= it.first_root + latest
    ]
    assert len(told) >= 30
    _simulate(
        told,
        {
            f"min(min_over_time(timestamp({_loud(it)})[2h:15s])) - {it.first_root} <= bool {latest}"
            for it in told
        },
        1,
        tmp_path,
    )


@needs_promtool
def test_a_healthy_node_is_silent(
    recorded: tuple[list[Replay], list[Replay]], tmp_path: Path
) -> None:
    """No alert that notifies fires on healthy and noisy nodes."""
    assert len(recorded[1]) >= 30
    expressions = {f"count(max_over_time({_loud(it)}[2h])) or vector(0)" for it in recorded[1]}
    _simulate(recorded[1], expressions, 0, tmp_path)


def _simulate(
    replays: Iterable[Replay], expressions: Iterable[str], value: int, folder: Path
) -> None:
    """Let promtool scrape these nodes; each expression gives this value at the end."""
    scrape, evaluation, _ = _shipped_waits()
    series = (row for it in replays for row in input_series(list(_late_scrapes(it, scrape))))
    expected = (gives(expression, 30, value) for expression in expressions)
    test = trial(series, *expected, interval=f"{scrape}s")
    tried(folder, test, evaluated=f"{evaluation}s")


def _loud(replay: Replay) -> str:
    return f'ALERTS{{alertstate="firing",severity=~"critical|warning",node="{replay.name}"}}'


def _late_scrapes(replay: Replay, scrape: int) -> Iterator[Mapping[str, float]]:
    """What a scrape sees that comes almost a whole interval after each judgement."""
    for second in range(0, int(replay.pages[-1][0]) + LATEST_SECS, scrape):
        yield samples(replay.page_at(second - scrape + 1).decode())


def _shipped_waits() -> tuple[int, int, int]:
    """Between scrapes, between evaluations, and what Alertmanager waits for a group."""
    settings = yaml.safe_load((RULES / "prometheus.yml").read_text())["global"]
    route = yaml.safe_load((RULES / "alertmanager.yml").read_text())["route"]
    times = (settings["scrape_interval"], settings["evaluation_interval"], route["group_wait"])
    scrape, evaluation, group_wait = (int(each.removesuffix("s")) for each in times)
    return scrape, evaluation, group_wait


def test_a_cause_across_nodes_is_one_notification(got: Mapping[str, Notified]) -> None:
    """A fabric that fails on twenty nodes notifies once, and none of the nodes does."""
    assert [name for _, _, name in got[FABRIC].names] == ["HwManyLinksDown@"]
    nodes = [got[f"{FABRIC}_{number}"].names for number in range(NODES_OF_FABRIC)]
    assert nodes == [[]] * NODES_OF_FABRIC
