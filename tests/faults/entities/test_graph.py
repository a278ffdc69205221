"""Who is related to whom: through parts and wholes, ports, peers, users and locks."""

from itertools import pairwise

import pytest

from exporter.collectors.everything import KINDS
from exporter.faults.entities.graph import MAX_NAMES, AliasIndex, Graph
from exporter.faults.values import Entity
from exporter.model.verdict import Edge, Key

GPU, CARD, SWITCH, ROOT = ("gpu", "a"), ("pcie", "card"), ("pcie", "switch"), ("pcie", "root")
OTHER, BESIDE = ("gpu", "b"), ("pcie", "beside")
USER, OWNER, LAST = ("process", "7"), ("process", "8"), ("process", "9")
JOB, DISK, NODE = ("workload", "ml"), ("disk", "sda"), ("node", "n")
KEYS = (GPU, CARD, SWITCH, ROOT, OTHER, BESIDE, USER, OWNER, LAST, JOB, DISK, NODE)
EDGES = (
    Edge("part_of", GPU, CARD),
    Edge("part_of", OTHER, BESIDE),
    Edge("part_of", ("nvlink", "a/7"), GPU),
    Edge("below", CARD, SWITCH),
    Edge("below", BESIDE, SWITCH),
    Edge("below", SWITCH, ROOT),
    Edge("below", ROOT, SWITCH),  # what reads like a circle ends all the same
    Edge("peer", GPU, OTHER),
    Edge("consumes", USER, GPU),
    Edge("runs_in", USER, JOB),
    Edge("waits_on", USER, OWNER, "a lock"),
    Edge("waits_on", OWNER, LAST, "a lock"),
    Edge("waits_on", LAST, USER, "a lock"),
    Edge("waits_on", LAST, DISK, "slow"),
    Edge("part_of", DISK, ("md_array", "md0")),
)


@pytest.mark.parametrize(
    ("key", "relation", "expected"),
    [
        (GPU, "same", {GPU, CARD, ("nvlink", "a/7")}),
        (("nvlink", "a/7"), "same", {("nvlink", "a/7"), GPU, CARD}),
        (GPU, "upstream_of", {CARD, SWITCH, ROOT}),
        (SWITCH, "upstream_of", {SWITCH, ROOT}),
        (GPU, "port_shared", {CARD, BESIDE, OTHER, GPU, ("nvlink", "a/7"), ROOT}),
        (DISK, "port_shared", set()),
        (GPU, "link_peer", {OTHER, BESIDE}),
        (OTHER, "link_peer", {GPU, CARD, ("nvlink", "a/7")}),
        (USER, "consumes", {GPU}),
        (CARD, "consumes", {USER}),
        (
            USER,
            "waits_on",
            {OWNER, LAST, USER, DISK, ("md_array", "md0")},
        ),
        (JOB, "waits_on", {OWNER, LAST, USER, DISK, ("md_array", "md0")}),
        (GPU, "waits_on", {OWNER, LAST, USER, DISK, ("md_array", "md0")}),
        (DISK, "waits_on", {USER, DISK, OWNER, LAST, ("md_array", "md0")}),
        (USER, "runs_in", {JOB}),
        (JOB, "runs_in", {USER}),
        (("source", "gpu"), "depends_on", {GPU, OTHER, NODE, ("source", "gpu")}),
        (NODE, "waits_on", set(KEYS)),
        (USER, "node", set(KEYS)),
        (USER, "hosts", set(KEYS)),
    ],
)
def test_who_may_be_the_cause(key: Key, relation: str, expected: set[Key]) -> None:
    """By each relation that rules can name; circles end."""
    assert set(Graph(KEYS, EDGES, KINDS.traits).related(key, relation)) == expected


def test_the_way_to_the_root_has_a_bound() -> None:
    """Sixteen ports at most: more are a bus that was misread."""
    ports = [("pcie", str(number)) for number in range(20)]
    chain = [Edge("below", low, high) for low, high in pairwise(ports)]
    assert list(Graph(ports, chain, KINDS.traits).above(ports[0])) == ports[:16]


def test_users_are_those_of_all_its_parts() -> None:
    """Who uses a GPU uses its card; edges are counted by relation."""
    graph = Graph(KEYS, EDGES, KINDS.traits)
    assert graph.users(CARD) == [USER]
    assert (graph.count("waits_on"), graph.count("nothing")) == (4, 0)
    assert graph.targets("runs_in", USER) == [JOB]


def aliases() -> AliasIndex:
    """Names of one GPU by UUID and by PCI address."""
    index = AliasIndex({"gpu": "gpu", "node": "node", "physical_disk": "disk"})
    index.add_all([Entity(GPU, "GPU 0", addresses=(("gpu", "a"), ("gpu", "0000:3b:00.0")))])
    return index


def test_a_name_leads_to_what_is_known_by_it() -> None:
    """All its names are found by any of them; what was never seen is known by its own."""
    index = aliases()
    assert index.key_of(("gpu", "0000:3b:00.0")) == GPU
    assert index.known_key(("gpu", "0000:3b:00.0")) == GPU
    assert index.addresses_of(("gpu", "0000:3b:00.0")) == (("gpu", "0000:3b:00.0"), GPU)
    assert index.addresses_of(GPU) == (GPU, ("gpu", "0000:3b:00.0"))
    assert index.key_of(("physical_disk", "sda")) == DISK
    assert index.known_key(("physical_disk", "sda")) is None
    assert [index.key_of(each) for each in (NODE, ("colour", "red"))] == [None, None]
    assert index.addresses_of(("colour", "red")) == (("colour", "red"),)


def test_the_first_to_have_a_name_keeps_it() -> None:
    """A second one is found by its other names only."""
    index = aliases()
    index.add(("gpu", "0000:3b:00.0"), OTHER)
    assert index.key_of(("gpu", "0000:3b:00.0")) == GPU


def test_names_are_remembered_up_to_a_bound() -> None:
    """The one that was learnt first goes, with the other names of its owner."""
    index = aliases()
    for number in range(MAX_NAMES - 1):
        index.add(("gpu", f"pci{number}"), ("gpu", f"u{number}"))
    assert (MAX_NAMES, index.key_of(("gpu", "0000:3b:00.0"))) == (20_000, GPU)
    index.add(("gpu", "pci"), ("gpu", "new"))
    index.add(("gpu", "pci"), ("gpu", "new"))
    assert index.known_key(("gpu", "0000:3b:00.0")) is None
    assert index.addresses_of(GPU) == (GPU,)
    assert index.key_of(("gpu", "pci0")) == ("gpu", "u0")
