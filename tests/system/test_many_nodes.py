"""Causes across nodes, before the real Prometheus and Alertmanager: each is told once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.collectors.everything import rule_book
from tests.corpus.cases import CASES
from tests.fakes.many_nodes import agents, in_racks, later, one, shards, well
from tests.fakes.pager import Replay, in_a_cluster, notifications, replay_of
from tests.fakes.prometheus import needs

CLUSTER, NODES, RACKS = "fabric", 20, 2
LINK = "ib_port_down@mlx5_0/1"
LOST_AFTER_SECS = (0, 1, 2, 5, 9, 40, 80, 115)
"""When the eight nodes lose their link: most with the switch, the last after its retries."""
CAUSES = {
    "HwManyNodesHot": "node_inlet_hot@*",
    "HwManyNodesPowerLimited": "power_supply_alarm@*",
}
"""A fault that several nodes have together, by the alert about their common cause."""
FEWER_NODES = 10
OF_THE_DRIVER = "gpu_gsp_failure"
DRIVER_RUN_SECS = 750.0
"""A version is blamed when its nodes have had a fault for ten minutes."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.system,
    needs("prometheus", "prometheus-alertmanager"),
]


def _replay(root: str) -> Replay:
    """The first recorded incident with this root alone."""
    return replay_of(next(case for case in CASES if case.root == (root,)), rule_book())


def _staged(root: str, cluster: str, count: int = NODES) -> list[Replay]:
    """So many nodes in two racks; most of the first rack have this fault."""
    nodes = in_racks(in_a_cluster(_replay(root), cluster, count), RACKS)
    when = LOST_AFTER_SECS[: 4 * count // (5 * RACKS)]
    ill = [later(it, secs) for it, secs in zip(nodes, when, strict=False)]
    return [*ill, *(well(it) for it in nodes[len(ill) :])]


def _rolled_out(cluster: str) -> Iterator[Replay]:
    """Four nodes with a new driver, all ill, and eight with the old one, all well."""
    lasting = _replay(f"{OF_THE_DRIVER}@GPU-3b")
    pages = (*lasting.pages, (DRIVER_RUN_SECS, lasting.pages[-1][1]))
    for number, node in enumerate(in_a_cluster(replace(lasting, pages=pages), cluster, 12)):
        version = "580.1" if number < 4 else "570.2"
        line = f'hw_gpu_backend_info{{node="{node.name}",driver_version="{version}"}} 1\n'.encode()
        shown = node if number < 4 else well(node)
        yield replace(shown, pages=tuple((at, page + line) for at, page in shown.pages))


def test_a_switch_is_one_notification(tmp_path: Path) -> None:
    """The links of a rack are told once, and no node of it is, wherever the rules are evaluated."""
    staged = _staged(LINK, CLUSTER)
    with ThreadPoolExecutor() as pool:  # each waits for its Prometheus
        played = {
            start.__name__: pool.submit(notifications, staged, tmp_path / start.__name__, start)
            for start in (one, shards, agents)
        }
    for where, played_there in played.items():
        got = played_there.result()
        assert [name for _, _, name in got[CLUSTER].names] == ["HwManyLinksDown@"], where
        assert {it.name: got[it.name].names for it in staged if got[it.name].names} == {}, where


def test_other_causes_are_one_notification(tmp_path: Path) -> None:
    """Heat and power of a rack mute its nodes, and a driver is named."""
    together = {name: _staged(root, name, FEWER_NODES) for name, root in CAUSES.items()}
    driver = list(_rolled_out("new_driver"))
    shown = [node for nodes in (*together.values(), driver) for node in nodes]
    got = notifications(shown, tmp_path, one)
    for name, nodes in together.items():
        assert [told for _, _, told in got[name].names] == [f"{name}@"]
        assert {it.name: got[it.name].names for it in nodes if got[it.name].names} == {}
    assert [told for _, _, told in got["new_driver"].names] == [f"{OF_THE_DRIVER}@"]
