"""Communicators as components: who waits for whom, and what ends with them."""

from exporter.collectors.ebpf.values import Communicator, TracedCalls
from exporter.collectors.everything import TRAITS
from exporter.collectors.workloads.values import GpuClient, ProcessUse, Workload, Workloads
from tests.faults.entities.looks import edges, entity, fields, seen

JOB = Workload("ml", "train-0", "main")
RING = Communicator("c1", JOB, 3, 3, pids=(7, 8, 9), missing="rank 1, 2", missing_pids=(8, 9))
CLIENTS = (
    GpuClient(7, (ProcessUse("GPU-a", "compute"),), name="train"),
    GpuClient(8, (ProcessUse("GPU-b", "compute"), ProcessUse("GPU-b", "graphics"))),
)


def test_a_communicator_waits_for_ranks_that_are_missing_and_for_their_gpus() -> None:
    """Its users run in its job; who is late is waited for as well, each once."""
    scene = seen(TracedCalls(communicators=(RING,)), Workloads("ok", clients=CLIENTS))
    ring, job = ("communicator", "c1"), ("workload", "ml/train-0/main")
    assert entity(scene, ring).name == "ml/train-0/main (c1)"
    assert fields(scene, ring, "ranks", "missing") == {"ranks": 3, "missing": "rank 1, 2"}
    assert edges(scene, "waits_on") == {
        ("waits_on", ring, ("process", "8")),
        ("waits_on", ring, ("process", "9")),
        ("waits_on", ring, ("gpu", "GPU-b")),
    }
    assert edges(scene, "runs_in") == {("runs_in", ("process", n), job) for n in ("7", "8", "9")}
    assert ("consumes", ("process", "9"), ring) in edges(scene, "consumes")
    assert {e.evidence for e in scene.edges if e.relation == "waits_on"} == {
        "rank 1, 2 is waited for"
    }


def test_a_communicator_waits_for_the_rank_that_is_late() -> None:
    """Also where nobody knows which GPUs there are, and which job it is."""
    late = Communicator("c2", Workload("", "", ""), None, 1, pids=(7,), late="rank 0", late_pid=7)
    scene = seen(TracedCalls(communicators=(late,)))
    assert entity(scene, ("communicator", "c2")).name == "job (c2)"
    assert [(e.target, e.evidence) for e in scene.edges if e.relation == "waits_on"] == [
        (("process", "7"), "rank 0 is waited for")
    ]


def test_a_communicator_ends() -> None:
    """Its faults end with it."""
    assert "communicator" in TRAITS.traits.ending
