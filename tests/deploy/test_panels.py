"""Panels before a real Prometheus: a GPU that is lost or stale, and the first screen of a node."""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial

import pytest

from exporter.collectors.demo.script import FELL_OFF, INCIDENTS
from exporter.collectors.everything import rule_book
from exporter.collectors.gpu.values import Gpus
from exporter.model.snapshot import Snapshot
from tests.deploy.dashboards import DASHBOARDS, filled, panels_of
from tests.fakes.prometheus import Prometheus, needs, prometheus
from tests.fakes.virtual_node import cpu_server, demo_node, page_of
from tests.program import wait_for
from tests.serving import replying
from tools.dashboards.parts import OLD

SCREEN = 24
"""Rows that are seen without scrolling, at 1080 lines, and the width of a page."""

CHOSEN = {"cluster": ".*", "gpu": ".*", "namespace": ".*", "instance": "x"}
CHOSEN |= {"__interval": "5s", "__range": "60s", "__rate_interval": "20s"}
HANGS_AT = 40.0
NO_VALUES = re.compile(
    r"hw_(fault|status|node_)\w*|hw_gpu_(up|data_stale|data_age_seconds|info|xid_\w+|workload_info"
    r"|count|used_count|type_count|backend_info|nvml_up|recovery_action|row_remap_pending)"
)
"""What a GPU is or was, and how many there are: not what was measured on it."""

pytestmark = needs("prometheus")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Snapshot]:
    """The last moment of nodes with GPUs: well, one lost, all stale; and of one without."""
    (fell_off,) = (it for it in INCIDENTS if it.name == FELL_OFF)
    folder = tmp_path_factory.mktemp("cpu")
    given = {
        "well": demo_node(0),
        "lost": demo_node(fell_off.starts - 30, fell_off),
        "stale": demo_node(0, hangs_at=HANGS_AT),
        "cpu": cpu_server(folder),
    }
    book = rule_book()
    found = {}
    logging.disable()
    try:
        for name, node in given.items():
            with node as watched:
                found[name] = watched.snapshots(name, 100, book)[-1]
    finally:
        logging.disable(logging.NOTSET)
    return found


@pytest.fixture(scope="module")
def server(
    nodes: Mapping[str, Snapshot], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """A Prometheus that has scraped these pages a few times."""
    with ExitStack() as stack:
        pages = (page_of(it, it.taken_boottime).encode() for it in nodes.values())
        targets = [stack.enter_context(replying(lambda *_, page=it: page)) for it in pages]
        found = stack.enter_context(prometheus(tmp_path_factory.mktemp("prometheus"), targets))
        often = f"count(count_over_time(hw_node_info[1m]) > 4) == {len(nodes)}"
        wait_for(lambda: found.query(often), "five scrapes", 60)
        yield found


def _on(node: str, text: str) -> str:
    """Fill in what is chosen at the top of the page."""
    return filled(text, CHOSEN | {"node": node})


def _measured(expression: str) -> bool:
    """Whether the expression gives what is measured on GPUs."""
    families = re.findall(r"\bhw_\w+", re.sub(r'"[^"]*"', "", expression.replace(OLD, "")))
    return any(name.startswith("hw_gpu_") and not NO_VALUES.fullmatch(name) for name in families)


@pytest.mark.parametrize("node", ["lost", "stale"])
def test_a_gpu_that_is_not_read_shows_no_value(
    node: str, nodes: Mapping[str, Snapshot], server: Prometheus
) -> None:
    """No panel shows what was measured on it before; its state is not ok."""
    gpus = nodes[node].reading(Gpus)
    assert gpus is not None
    gone = {state.gpu.uuid for state in gpus.states if not state.up or state.stale}
    places = {str(state.gpu.index) for state in gpus.states if state.gpu.uuid in gone}
    assert len(gone) == {"lost": 1, "stale": 8}[node]
    shown, asked = set(), 0
    for name, page in DASHBOARDS.items():
        for panel in panels_of(page):
            for target in panel["targets"]:
                if not _measured(target["expr"]):
                    continue
                asked += 1
                for row in server.query(_on(node, target["expr"])):
                    labels = row["metric"]
                    if labels.get("gpu_uuid") in gone or labels.get("gpu_index") in places:
                        shown.add((name, panel["title"], target["expr"]))
    assert shown == set()
    assert asked > 40


@pytest.mark.parametrize("node", ["lost", "stale"])
def test_its_state_is_seen(node: str, nodes: Mapping[str, Snapshot], server: Prometheus) -> None:
    """In the table of GPUs it is failed or stale, never ok."""
    gpus = nodes[node].reading(Gpus)
    assert gpus is not None
    gone = {state.gpu.uuid for state in gpus.states if not state.up or state.stale}
    (table,) = (it for it in panels_of(DASHBOARDS["hw-node"]) if it["title"] == "GPUs")
    states = {
        row["metric"]["gpu_uuid"]: row["value"][1]
        for row in server.query(_on(node, table["targets"][1]["expr"]))
    }
    assert set(states) == {state.gpu.uuid for state in gpus.states}
    assert all((states[uuid] != "0") is (uuid in gone) for uuid in states)


@pytest.mark.parametrize("node", ["well", "cpu"])
@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_a_healthy_node_begins_with_data(name: str, node: str, server: Prometheus) -> None:
    """Not more than half of the first screen is panels that have nothing to show."""
    if node == "cpu" and name in {"hw-gpu", "hw-workload"}:
        return  # such a node cannot be chosen there
    ask = partial(_on, node)
    empty = 0
    for panel in DASHBOARDS[name]["panels"]:
        place = panel["gridPos"]
        height = min(place["h"], SCREEN - place["y"])
        if panel["type"] == "row" or height <= 0:
            continue
        if not any(server.query(ask(target["expr"])) for target in panel["targets"]):
            empty += place["w"] * height
    assert empty <= SCREEN * SCREEN / (3 if name == "hw-node" else 2)


@pytest.mark.parametrize("node", ["well", "cpu"])
def test_most_of_the_node_page_has_data(node: str, server: Prometheus) -> None:
    """On a healthy node at most a third of the open rows is empty, also without a GPU."""
    full = empty = 0
    for panel in DASHBOARDS["hw-node"]["panels"]:
        if panel["type"] == "row":
            continue
        place = panel["gridPos"]
        if any(server.query(_on(node, target["expr"])) for target in panel["targets"]):
            full += place["w"] * place["h"]
        else:
            empty += place["w"] * place["h"]
    assert 2 * empty <= full
