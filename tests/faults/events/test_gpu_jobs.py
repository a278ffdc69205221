"""Whose process an Xid or a crash names."""

from types import MappingProxyType

import pytest

from exporter.collectors.workloads.jobs import MAX_REMEMBERED, GpuJobs
from exporter.collectors.workloads.values import GpuClient, Workload, Workloads
from exporter.model.snapshot import Snapshot
from tests.faults.scenes import event

PROCESS = ("process", "7")


def jobs(*clients: GpuClient) -> GpuJobs:
    """Return what is remembered after one look at these processes and one at none."""
    known = GpuJobs()
    for number, found in enumerate((clients, ())):
        readings: dict[type, object] = {Workloads: Workloads("ok", clients=found)}
        seen = MappingProxyType(readings)
        known.see(Snapshot("n", number, 1e9, float(number), 0.0, seen, ()))
    return known


def test_a_job_stays_the_same_under_new_pids() -> None:
    """Two processes of one container are one job, also after their end."""
    job = Workload("ml", "trainer-0", "main")
    known = jobs(GpuClient(7, (), workload=job), GpuClient(8, (), workload=job))
    named = [
        known.interpret(event("xid", 0, code="31", pid=pid)).fields["job"] for pid in ("7", "8")
    ]
    assert named == ["ml/trainer-0/main"] * 2


def test_a_pid_that_is_used_again_is_of_another_process() -> None:
    """Hours after the end of a process its pid says nothing of a job, or of a GPU."""
    known = jobs(GpuClient(7, (), name="train", workload=Workload("ml", "trainer-0", "main")))
    in_time = event("xid", 3600.0, code="31", pid="7")
    assert known.interpret(in_time).fields["job"] == "ml/trainer-0/main"
    late = event("xid", 3601.0, code="31", pid="7", name="infer")
    assert known.interpret(late).fields["job"] == "infer"
    crash = event("segfault", 3601.0, PROCESS, pid="7")
    assert known.interpret(crash).fields["on_gpu"] == "no"


def test_without_a_workload_the_program_is_the_job() -> None:
    """On a node without containers it is the name that stays; nothing is made up without one."""
    assert (
        jobs().interpret(event("xid", 0, code="31", pid="7", name="train")).fields["job"] == "train"
    )
    assert "job" not in jobs().interpret(event("xid", 0, code="31", pid="7")).fields
    unknown = event("xid", 0, code="31", pid="<unknown>", name="train")
    assert "job" not in jobs().interpret(unknown).fields


def test_a_pod_that_has_no_workload_yet_is_the_job() -> None:
    """Its uid says more than the name of a program; that says more than the pid."""
    seven = event("xid", 0, code="31", pid="7")
    in_pod = GpuClient(7, (), name="python3", pod_uid="a-pod")
    assert jobs(in_pod).interpret(seven).fields["job"] == "a-pod"
    assert jobs(GpuClient(7, (), name="python3")).interpret(seven).fields["job"] == "python3"
    assert jobs(GpuClient(7, ())).interpret(seven).fields["job"] == "7"


def test_a_crash_is_one_on_a_gpu_or_is_not() -> None:
    """A process that used a GPU is known by its pid, one that crashed in CUDA by the library."""
    crash = event("segfault", 0, PROCESS, pid="7")
    assert jobs(GpuClient(7, ())).interpret(crash).fields["on_gpu"] == "yes"
    assert jobs(GpuClient(8, ())).interpret(crash).fields["on_gpu"] == "no"
    in_cuda = event("segfault", 0, PROCESS, pid="7", library="libcuda.so.550.54")
    assert jobs().interpret(in_cuda).fields["on_gpu"] == "yes"


@pytest.mark.parametrize(
    ("workload", "job"),
    [
        (Workload("", "", "train"), "train"),
        (Workload("", "", "3f1c0a9be7d2"), "train"),
        (Workload("ml", "vllm-6d5f7c9b84-x2k4q", "main"), "ml/vllm/main"),
        (Workload("ml", "bench-7kx9w", "main"), "ml/bench/main"),
        (Workload("ml", "trainer-0", "main"), "ml/trainer-0/main"),
    ],
    ids=["program", "container", "pod of a deployment", "pod of a job", "pod"],
)
def test_a_process_that_was_not_seen_is_of_the_job_of_its_name(
    workload: Workload, job: str
) -> None:
    """A program that fails at each start is seen now and then, and is no second job."""
    known = jobs(GpuClient(7, (), workload=workload, name="train"))
    named = [
        known.interpret(event("xid", 0, code="31", pid=pid, name=name)).fields["job"]
        for pid, name in (("7", "train"), ("8", "train"), ("9", "infer"))
    ]
    assert named == [job, job, "infer"]


def test_the_name_in_the_kernel_log_may_be_that_of_a_thread() -> None:
    """What the driver called a known process is remembered for its job, too."""
    known = jobs(GpuClient(7, (), workload=Workload("ml", "trainer-0", "main"), name="train"))
    events = [event("xid", 0, code="31", pid=pid, name="pt_main") for pid in ("7", "8")]
    assert {known.interpret(each).fields["job"] for each in events} == {"ml/trainer-0/main"}


def test_of_two_jobs_with_processes_of_one_name_the_later_is_meant() -> None:
    """An Xid of the first, hours ago, does not decide whose a later process is."""
    first, second = Workload("ml", "old-0", "main"), Workload("ml", "new-0", "main")
    known = jobs(GpuClient(7, (), workload=first, name="train"))
    known.interpret(event("xid", 0, code="31", pid="7", name="train"))
    readings: dict[type, object] = {
        Workloads: Workloads("ok", clients=(GpuClient(8, (), workload=second, name="train"),))
    }
    known.see(Snapshot("n", 2, 1e9, 2.0, 0.0, MappingProxyType(readings), ()))
    unseen = known.interpret(event("xid", 0, code="31", pid="9", name="train"))
    assert unseen.fields["job"] == "ml/new-0/main"


def test_jobs_are_remembered_up_to_a_bound() -> None:
    """The one seen first is forgotten first."""
    known = GpuJobs()

    def see(pid: int) -> None:
        clients = (GpuClient(pid, (), name=f"job{pid}"),)
        readings: dict[type, object] = {Workloads: Workloads("ok", clients=clients)}
        known.see(Snapshot("n", pid, 1e9, 0.0, 0.0, readings))

    def job_of(pid: int) -> str | None:
        return known.interpret(event("xid", 1.0, code="31", pid=str(pid))).fields.get("job")

    for pid in range(MAX_REMEMBERED):
        see(pid)
    assert (MAX_REMEMBERED, job_of(0)) == (5000, "job0")
    see(5000)
    assert (job_of(0), job_of(1), job_of(5000)) == (None, "job1", "job5000")


def test_other_events_have_no_job() -> None:
    """They stay as they are, also where they name a process on a GPU."""
    other = event("hung_task", 1.0, pid="7")
    assert jobs(GpuClient(7, ())).interpret(other) is other
