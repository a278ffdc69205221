"""A switch fails under eight of twenty nodes: told once, in each shipped way to monitor many."""

from pathlib import Path

import pytest

from exporter.collectors.everything import rule_book
from tests.corpus.cases import CASES
from tests.fakes.many_nodes import agents, in_racks, later, one, shards, well
from tests.fakes.pager import Replay, Start, in_a_cluster, notifications, replay_of
from tests.fakes.prometheus import why_not

NEEDED = ("prometheus", "prometheus-alertmanager")
CLUSTER, NODES, RACKS = "fabric", 20, 2
LOST_AFTER_SECS = (0, 1, 2, 5, 9, 40, 80, 115)
"""When the eight nodes lose their link: most with the switch, the last after its retries."""

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(why_not(*NEEDED) is not None, reason=f"{why_not(*NEEDED)}"),
]


@pytest.fixture(scope="module")
def staged() -> list[Replay]:
    """Twenty nodes in two racks; eight of the first lose their link."""
    case = next(case for case in CASES if case.root == ("ib_port_down@mlx5_0/1",))
    nodes = in_racks(in_a_cluster(replay_of(case, rule_book()), CLUSTER, NODES), RACKS)
    lost = [later(it, secs) for it, secs in zip(nodes, LOST_AFTER_SECS, strict=False)]
    return [*lost, *(well(it) for it in nodes[len(lost) :])]


@pytest.mark.parametrize("start", [one, shards, agents])
def test_a_switch_is_one_notification(staged: list[Replay], start: Start, tmp_path: Path) -> None:
    """The links of a rack are told once, and no node of it is, wherever the rules are evaluated."""
    got = notifications(staged, tmp_path, start)
    assert [name for _, _, name in got[CLUSTER].names] == ["HwManyLinksDown@"]
    assert {it.name: got[it.name].names for it in staged if got[it.name].names} == {}
