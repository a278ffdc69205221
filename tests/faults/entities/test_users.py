"""Processes and jobs: who uses what, who waits for whom, what ends with them."""

from dataclasses import replace

import pytest

from exporter.collectors.everything import TRAITS, VOCABULARY
from exporter.collectors.gpu.values import Gpu, GpuBackend, Gpus, GpuState
from exporter.collectors.workloads.values import GpuClient, ProcessUse, Workload, Workloads
from tests.faults.entities.looks import edges, entity, fields, seen

JOB = Workload("ml", "train-0", "main")
CLIENTS = (
    GpuClient(7, (ProcessUse("GPU-a", "compute"),), name="train"),
    GpuClient(8, (ProcessUse("GPU-b", "compute"), ProcessUse("GPU-b", "graphics"))),
)


@pytest.mark.parametrize(
    ("state", "since", "secs"),
    [
        ("uninterruptible", 940.0, 60.0),
        ("uninterruptible", 881.0, 119.0),
        ("uninterruptible", 821.0, 120.0),
        ("uninterruptible", 2000.0, 0.0),
        ("running", None, 0.0),
        (None, None, None),
    ],
)
def test_a_process_sleeps_since_all_looks_found_it_asleep(
    state: str | None, since: float | None, secs: float | None
) -> None:
    """Never for less than nothing, after two minutes in whole ones; unseen it is unknown."""
    client = replace(CLIENTS[0], state=state, waits_since_boottime=since)
    scene = seen(Workloads("ok", clients=(client,)))
    assert fields(scene, ("process", "7"), "waiting_secs") == {"waiting_secs": secs}


def test_a_process_that_is_as_it_was_is_the_same_component() -> None:
    """Read anew it changes nothing, also asleep within a minute; awake it is another."""
    asleep = replace(CLIENTS[0], state="uninterruptible", waits_since_boottime=700.0)
    process = ("process", "7")
    found = [entity(seen(Workloads("ok", clients=(replace(asleep),))), process) for _ in "12"]
    awake = seen(Workloads("ok", clients=(replace(CLIENTS[0], state="running"),)))
    assert found[0] is found[1]
    assert fields(awake, process, "waiting_secs") == {"waiting_secs": 0.0}


def test_a_process_is_shown_by_name_and_pid() -> None:
    """By its pid alone where its name cannot be seen; a GPU that it uses twice is one."""
    scene = seen(Workloads("ok", clients=CLIENTS))
    names = [entity(scene, ("process", pid)).name for pid in ("7", "8")]
    assert names == ["train (7)", "8"]
    found = [(e.source, e.target) for e in scene.edges if e.relation == "consumes"]
    assert found == [(("process", "7"), ("gpu", "GPU-a")), (("process", "8"), ("gpu", "GPU-b"))]
    assert edges(scene, "runs_in") == set()


def test_what_ends_takes_its_faults_along() -> None:
    """Processes, jobs and mounts end; hardware that is gone is missing."""
    assert {"process", "workload", "filesystem"} <= TRAITS.traits.ending
    assert "gpu" not in TRAITS.traits.ending


def test_what_rules_can_speak_of_beside_the_component() -> None:
    """Each kind has its node, but the node itself; some have what they are part of."""
    assert VOCABULARY.related["node"] == {}
    assert {words.get("node") for kind, words in VOCABULARY.related.items() if kind != "node"} == {
        "node",
        None,
    }
    assert VOCABULARY.related["filesystem"] == {"node": "node", "disk": "disk"}
    assert "gpu_uuid" not in VOCABULARY.names["workload"]
    assert {"rdma_events", "up"} <= VOCABULARY.names["ib_port"].keys()
    assert "events" not in VOCABULARY.names["ib_port"]
    assert VOCABULARY.names["pcie"]["errors_by_severity"].is_labeled
    assert VOCABULARY.names["gpu"]["probe_value"].is_labeled


CARDS = tuple(
    Gpu(number, f"GPU-{number}", "H100", pci_bus_id=f"00000000:3{number}:00.0")
    for number in range(3)
)
DOWN = (("0", 1), ("7", 0))


def look(*states: GpuState) -> Gpus:
    """GPUs read by NVML."""
    return Gpus(GpuBackend("nvml", "ok"), states)


def test_links_that_are_down_are_part_of_their_gpu() -> None:
    """Only those, of GPUs that were read lately and sit at an address; all linked are peers."""
    linked = [GpuState(replace(card, nvlink_up=DOWN), 1000.0) for card in CARDS]
    nowhere = replace(linked[2], gpu=replace(linked[2].gpu, pci_bus_id=None))
    scene = seen(look(linked[0], replace(linked[1], stale=True), nowhere))
    link = entity(scene, ("nvlink", "0000:30:00.0/7"))
    assert [each.key for each in scene.entities if each.kind == "nvlink"] == [link.key]
    assert (link.fields.get("up"), link.addresses) == (False, (link.key,))
    assert edges(scene, "part_of") == {("part_of", link.key, ("gpu", "GPU-0"))}
    peers = [(e.source[1], e.target[1]) for e in scene.edges if e.relation == "peer"]
    assert peers == [("GPU-0", "GPU-1"), ("GPU-0", "GPU-2"), ("GPU-1", "GPU-2")]
    expired = seen(look(replace(linked[0], expired=True)))
    assert [each.key for each in expired.entities if each.kind == "nvlink"] == []
    alone = seen(look(linked[0], GpuState(CARDS[1], 1000.0)))
    assert edges(alone, "peer") == set()


@pytest.mark.parametrize(
    ("state", "up", "reason", "is_fresh"),
    [
        ({}, True, "", True),
        ({"reason": "throttled"}, True, "throttled", True),
        ({"up": False, "reason": "gpu_lost"}, False, "gpu_lost", True),
        ({"up": False}, False, "", True),
        ({"stale": True, "up": False, "reason": "gpu_lost"}, False, "gpu_lost", False),
        ({"stale": True, "up": False}, None, None, False),
        ({"stale": True, "reason": "stuck"}, None, "stuck", False),
        ({"expired": True}, None, None, False),
    ],
)
def test_a_gpu_is_up_down_or_was_not_asked(
    state: dict[str, object], *, up: bool | None, reason: str | None, is_fresh: bool
) -> None:
    """An old value says neither, unless the GPU refused to answer; its identity stays known."""
    hot = replace(CARDS[0], temperature_celsius=61.0)
    known = replace(GpuState(hot, 1000.0), **state)  # type: ignore[arg-type]  # fields by name
    scene = seen(look(known))
    found = fields(scene, ("gpu", "GPU-0"), "up", "reason", "temperature_celsius", "uuid")
    assert list(found.values()) == [up, reason, 61.0 if is_fresh else None, "GPU-0"]
    assert entity(scene, ("gpu", "GPU-0")).is_fresh is is_fresh
    without = replace(known, gpu=replace(CARDS[0], pci_bus_id=None))
    assert entity(seen(look(without)), ("gpu", "GPU-0")).addresses == (("gpu", "GPU-0"),)
