"""From processes on GPUs to the workloads they belong to, over fake trees of nodes."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from exporter.collectors.gpu.values import Gpu, GpuBackend, GpuProcess, Gpus, GpuState, MigInstance
from exporter.collectors.workloads.aggregate import MAX_ROWS
from exporter.collectors.workloads.kubelet import SOCKET
from exporter.collectors.workloads.source import KEPT_SECS, MAX_PROCESSES, WorkloadSource
from exporter.collectors.workloads.values import PodUid, Workload, Workloads, WorkloadUse
from exporter.config import Config, Processes
from exporter.model.reading import Reading
from exporter.model.snapshot import Snapshot
from exporter.reading.source import SourceAbsent
from tests.collectors.node_tree import NodeTree, device_entry
from tests.collectors.workloads.kubelet import Kubelet, list_response, say_nothing, speak
from tests.fakes.source_context import source_context

CID = "4f" * 32
OTHER_CID = "5e" * 32
OUTER = "0d" * 32
UID = "3b1f0f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"
OTHER_UID = "77770f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"
UID_ = UID.replace("-", "_")
READ_AT = 1000.0
TRAINER = Workload("ml", "train-0", "trainer")
GIB = 2**30


class Node:
    """A source over a fake tree, and what it is asked to look closer at."""

    def __init__(self, tree: NodeTree, **settings: Any) -> None:
        self.now = READ_AT
        config = Config(sources=tree.sources, processes=Processes(**settings))
        self.source = WorkloadSource(source_context(config, boottime=lambda: self.now))

    async def read(self, *states: GpuState) -> Workloads:
        return (await self.reading(*states)).value

    async def reading(self, *states: GpuState) -> Reading[Workloads]:
        gpus = Gpus(GpuBackend("nvml", "ok"), states)
        readings: MappingProxyType[type, object] = MappingProxyType({Gpus: gpus})
        return await self.source.read_after(Snapshot("n", 1, 0.0, self.now, 0.0, readings))


def _gpu(*processes: GpuProcess, index: int = 0, read_at: float = READ_AT) -> GpuState:
    gpu = Gpu(index, f"GPU-{index}", "H100", utilization_percent=50.0, processes=processes)
    return GpuState(gpu, read_at)


def _process(pid: int, memory: int | None = GIB, sm: float | None = 10.0) -> GpuProcess:
    return GpuProcess(pid, "compute", memory, sm)


def _use(workloads: Workloads, workload: Workload, index: int = 0) -> WorkloadUse:
    (found,) = [
        use for use in workloads.uses if use.workload == workload and use.gpu_uuid == f"GPU-{index}"
    ]
    return found


@pytest.fixture
def tree(tmp_path: Path) -> NodeTree:
    """A host with one pod that trains."""
    tree = NodeTree(tmp_path)
    tree.pod("ml", "train-0", UID, "trainer", "sidecar")
    tree.container_log("ml", "train-0", "trainer", CID)
    tree.container_log("ml", "train-0", "sidecar", OTHER_CID)
    return tree


SYSTEMD = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID_}.slice"
CGROUPFS = f"/kubepods/burstable/pod{UID}"


@pytest.mark.parametrize(
    "cgroup",
    [
        f"0::{SYSTEMD}/cri-containerd-{CID}.scope",
        f"12:pids:/\n4:memory:/docker/{OUTER}/kubelet{CGROUPFS}/{CID}",
    ],
    ids=["version 2", "version 1, in kind"],
)
async def test_a_process_is_found_in_its_container(tree: NodeTree, cgroup: str) -> None:
    """The process counts for its namespace and pod; cgroups.toml has every layout of groups."""
    tree.process(4242, cgroup)
    (tree.proc / "self").mkdir(exist_ok=True)
    (tree.proc / "self/cgroup").write_text(cgroup)  # we are a pod of the same kubelet
    workloads = await Node(tree).read(_gpu(_process(4242)))
    use = _use(workloads, TRAINER)
    assert (use.processes, use.memory_used_bytes, use.sm_utilization_percent) == (1, GIB, 10.0)
    assert (workloads.reason, workloads.attribution_ratio) == ("ok", 1.0)


@pytest.mark.parametrize(
    ("cgroup", "workload"),
    [
        (f"0::/mine/docker/{CID}", Workload("", "", CID[:12])),
        (f"0::/mine/cri-containerd-{CID}.scope", Workload("", "", CID[:12])),
        (f"0::/lxc/web{CGROUPFS}/{CID}", Workload("", "", "lxc/web")),
        (f"0::/mine.slice{SYSTEMD}/cri-containerd-{CID}.scope", Workload("", "", "python3")),
        (f"0::/kubepods/pod{OTHER_UID}/{CID}", Workload("ml", "other-0", CID[:12])),
    ],
)
async def test_a_containers_id_names_no_pod_that_its_path_does_not(
    tree: NodeTree, cgroup: str, workload: Workload
) -> None:
    """Ids can be read in /proc by everybody: only below the pod itself is one its container's."""
    tree.pod("ml", "other-0", OTHER_UID, "a", "b")
    tree.process(4242, cgroup)
    workloads = await Node(tree).read(_gpu(_process(4242)))
    assert [use.workload for use in workloads.uses] == [workload]


@pytest.mark.parametrize(
    ("cgroup", "container"),
    [
        ("0::/system.slice/triton.service", "triton.service"),
        ("0::/user.slice/user-1000.slice/session-3.scope", "user-1000.slice"),
        ("0::/", "python3"),
        (f"0::/system.slice/docker-{CID}.scope", CID[:12]),
        (f"0::/machine.slice/libpod-{CID}.scope/container", CID[:12]),
        ("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", "slurm/job_7"),
    ],
)
async def test_outside_pods_the_unit_the_user_or_the_command_counts(
    tmp_path: Path, cgroup: str, container: str
) -> None:
    """A process outside any pod has no namespace and no pod, and still a name to count under."""
    tree = NodeTree(tmp_path)
    tree.process(4242, cgroup)
    workloads = await Node(tree).read(_gpu(_process(4242)))
    assert [use.workload for use in workloads.uses] == [Workload("", "", container)]
    assert workloads.attribution_ratio == 1.0


async def test_a_shared_gpu_is_divided_and_never_copied(tree: NodeTree) -> None:
    """Two pods on one GPU have what their own processes use; the sum stays within the GPU."""
    tree.pod("ml", "infer-1", OTHER_UID, "server")
    tree.container_log("ml", "infer-1", "server", "6d" * 32)
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    tree.process(11, f"0::/kubepods/pod{UID}/{CID}")
    tree.process(20, f"0::/kubepods/pod{OTHER_UID}/{'6d' * 32}")
    workloads = await Node(tree).read(
        _gpu(_process(10, 3 * GIB, 20.0), _process(11, GIB, 5.0), _process(20, 2 * GIB, 60.0))
    )
    server = _use(workloads, Workload("ml", "infer-1", "server"))
    trainer = _use(workloads, TRAINER)
    assert (trainer.processes, trainer.memory_used_bytes) == (2, 4 * GIB)
    assert (server.memory_used_bytes, server.sm_utilization_percent) == (2 * GIB, 60.0)
    assert trainer.sm_utilization_percent == 25.0
    assert len(workloads.uses) == 2


async def test_mig_instances_keep_their_ids_and_owners(tree: NodeTree) -> None:
    """A process on two instances of one GPU is one process, and its workload names both."""
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    one = replace(_process(10, GIB, None), gpu_instance=1, compute_instance=0)
    two = replace(_process(10, GIB, None), gpu_instance=2, compute_instance=0)
    use = _use(await Node(tree).read(_gpu(one, two)), TRAINER)
    assert (use.processes, use.memory_used_bytes) == (1, 2 * GIB)
    assert use.instances == ((1, 0), (2, 0))
    assert use.sm_utilization_percent is None


async def test_a_mig_instance_has_its_holder_without_a_process(tree: NodeTree) -> None:
    """The kubelet gives out instances by their UUID; each is found on its GPU."""
    tree.checkpoint(device_entry(UID, "trainer", ["MIG-b"], "nvidia.com/mig-1g.10gb"))
    slices = (MigInstance(1, 0, "MIG-a", "1g.10gb"), MigInstance(2, 0, "MIG-b", "1g.10gb"))
    state = _gpu()
    state = replace(state, gpu=replace(state.gpu, mig_instances=slices, utilization_percent=None))
    use = _use(await Node(tree).read(state), TRAINER)
    assert (use.instances, use.is_allocated, use.processes) == (((2, 0),), True, 0)


async def test_energy_is_shared_and_adds_up(tree: NodeTree) -> None:
    """What workloads, idle time and ended ones are given is the GPU's own counter."""
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    tree.process(11, "0::/system.slice/b.service")
    node, joules = Node(tree), 5000.0
    both = (_process(10, GIB, 30.0), _process(11, GIB, 50.0))
    for processes in (both, both, both[:1], ()):
        joules += 1000.0
        state = _gpu(*processes)
        state = replace(state, gpu=replace(state.gpu, energy_joules_total=joules))
        workloads = await node.read(state)
        given = [use.energy_joules for use in workloads.uses]
        totals = workloads.totals[0]
        assert None not in given
        assert totals.idle_energy_joules is not None
        assert totals.ended_energy_joules is not None
        known = sum(value for value in given if value is not None)
        assert known + totals.idle_energy_joules + totals.ended_energy_joules == pytest.approx(
            joules
        )
    assert totals.ended_energy_joules == pytest.approx(2 * 300.0 + 500.0)


@pytest.mark.parametrize(
    ("pid", "sm", "whole", "idle"),
    [(10, None, None, 0.0), (10, None, 50.0, 0.0), (10, None, 0.0, 100.0), (66, 30.0, 50.0, 70.0)],
    ids=["MIG", "no process utilization", "an idle GPU", "a process of nobody"],
)
async def test_idle_energy_is_not_that_of_a_process(
    tree: NodeTree, pid: int, sm: float | None, whole: float | None, idle: float
) -> None:
    """What a process uses is idle energy neither while its share is unknown nor its workload."""
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    node, found = Node(tree), []
    for joules in (0.0, 100.0):
        state = _gpu(_process(pid, GIB, sm))
        gpu = replace(state.gpu, energy_joules_total=joules, utilization_percent=whole)
        workloads = await node.read(replace(state, gpu=gpu))
        found.append(workloads.totals[0].idle_energy_joules)
    assert found == [0.0, idle]


async def test_memory_that_is_not_said_makes_no_sum(tree: NodeTree) -> None:
    """A part of the memory is not shown as the whole."""
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    tree.process(11, f"0::/kubepods/pod{UID}/{CID}")
    use = _use(await Node(tree).read(_gpu(_process(10), _process(11, None))), TRAINER)
    assert (use.memory_used_bytes, use.processes) == (None, 2)


async def test_a_reused_pid_is_never_given_to_the_wrong_pod(tree: NodeTree) -> None:
    """A process that began after the driver was asked is not the one that the driver named."""
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}", started=READ_AT + 0.01)
    workloads = await Node(tree).read(_gpu(_process(10)))
    assert workloads.uses == ()
    assert workloads.clients[0].name is None
    assert workloads.attribution_ratio == 0.0


async def test_a_process_that_ended_leaves_no_series(tree: NodeTree) -> None:
    """A pid that is gone has no workload with the next look, and is not an error."""
    node = Node(tree)
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    assert (await node.read(_gpu(_process(10)))).uses
    tree.ends(10)
    assert (await node.read(_gpu())).uses == ()


async def test_without_the_hosts_pids_nobody_is_blamed(tree: NodeTree) -> None:
    """In a container's own pid namespace the numbers mean other processes: nothing is said."""
    tree.ends(2)
    tree.process(1, "0::/", name="hw-exporter")
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    (tree.proc / "self/ns").mkdir(parents=True)
    (tree.proc / "self/ns/pid").symlink_to("pid:[4026532999]")
    workloads = await Node(tree).read(_gpu(_process(10)))
    assert (workloads.reason, workloads.attribution_ratio) == ("no_host_pids", 0.0)
    assert workloads.uses == ()
    assert workloads.clients[0].workload is None


async def test_pids_that_exist_nowhere_are_said_once(tmp_path: Path) -> None:
    """When no pid that the driver names exists, the reason says so and no memory is orphaned."""
    tree = NodeTree(tmp_path)
    tree.ends(2)
    workloads = await Node(tree).read(_gpu(_process(4000), _process(4001)))
    assert (workloads.reason, workloads.attribution_ratio) == ("pids_not_found", 0.0)
    assert workloads.totals[0].orphan_memory_bytes is None


async def test_without_names_a_pod_is_not_invented(tmp_path: Path) -> None:
    """Where the kubelet's folders are not mounted the process belongs to nobody."""
    tree = NodeTree(tmp_path)
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    workloads = await Node(tree).read(_gpu(_process(10)))
    assert (workloads.uses, workloads.reason) == ((), "no_pod_names")


@pytest.mark.parametrize(
    ("containers", "entries", "container"),
    [
        (("trainer",), (), "trainer"),
        (("trainer", "sidecar"), (device_entry(UID, "trainer", ["GPU-0"]),), "trainer"),
        (("trainer", "sidecar"), (), CID[:12]),
    ],
)
async def test_a_container_without_a_log_is_named_only_when_there_is_no_doubt(
    tmp_path: Path,
    containers: tuple[str, ...],
    entries: tuple[dict[str, object], ...],
    container: str,
) -> None:
    """The pod's only container, or the only one with a GPU, or else the id: never a guess."""
    tree = NodeTree(tmp_path)
    tree.pod("ml", "train-0", UID, *containers)
    tree.checkpoint(*entries)
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    workloads = await Node(tree).read(_gpu(_process(10)))
    assert [use.workload for use in workloads.uses] == [Workload("ml", "train-0", container)]


async def test_who_holds_a_gpu_is_known_without_a_process(tree: NodeTree) -> None:
    """The kubelet's checkpoint names the holder; time without activity counts from first table."""
    tree.checkpoint(
        device_entry(UID, "trainer", ["GPU-0", "GPU-0::3"]),
        device_entry(OTHER_UID, "gone", ["GPU-0"]),
        device_entry(UID, "trainer", ["1"]),
        device_entry(UID, "trainer", ["0000:3b:00.0"], "intel.com/sriov"),
    )
    node = Node(tree)
    await node.read(_gpu(), _gpu(index=1))
    node.now += 60.0
    workloads = await node.read(_gpu(), _gpu(index=1))
    assert len(workloads.uses) == 2
    for index in (0, 1):
        use = _use(workloads, TRAINER, index)
        assert (use.processes, use.is_allocated, use.idle_allocated_secs) == (0, True, 60.0)
        assert use.memory_used_bytes is None


async def test_the_kubelets_socket_is_asked_first(short_path: Path) -> None:
    """It names pods itself; where it is garbled or silent, the checkpoint is read instead."""
    tree = NodeTree(short_path)
    tree.pod("ml", "train-0", UID, "trainer")
    tree.checkpoint(device_entry(UID, "trainer", ["GPU-0"]))
    (tree.root / SOCKET).parent.mkdir(parents=True)
    answer = list_response(("ns2", "infer-9", "server", "nvidia.com/gpu", ("GPU-0",)))
    async with Kubelet(tree.root / SOCKET, speak(answer)):
        workloads = await Node(tree).read(_gpu())
    assert [use.workload for use in workloads.uses] == [Workload("ns2", "infer-9", "server")]
    async with Kubelet(tree.root / SOCKET, say_nothing):
        reading = await Node(tree).reading(_gpu())
    assert [use.workload for use in reading.value.uses] == [TRAINER]
    assert [missing.field for missing in reading.missing] == ["pod_resources"]


async def test_a_kubelet_that_is_silent_has_taken_no_gpu_away(short_path: Path) -> None:
    """A holder keeps its GPU and its idle time while the kubelet is restarted or overloaded."""
    tree = NodeTree(short_path)
    (tree.root / SOCKET).parent.mkdir(parents=True)
    node, holder = Node(tree), Workload("ns2", "infer-9", "server")
    answer = list_response(("ns2", "infer-9", "server", "nvidia.com/gpu", ("GPU-0",)))
    async with Kubelet(tree.root / SOCKET, speak(answer)):
        await node.read(_gpu())
    async with Kubelet(tree.root / SOCKET, say_nothing):
        node.now += KEPT_SECS - 1
        reading = await node.reading(_gpu())
        assert _use(reading.value, holder).idle_allocated_secs == KEPT_SECS - 1
        assert [it.field for it in reading.missing] == ["pod_resources", "allocations"]
    assert _use(await node.read(_gpu()), holder).is_allocated  # the socket is gone
    async with Kubelet(tree.root / SOCKET, say_nothing):
        node.now += 1
        assert (await node.read(_gpu())).uses == ()


async def test_a_device_file_is_not_the_place_among_the_gpus(short_path: Path) -> None:
    """GKE's plugin gives out files in /dev, whose numbers are in another order than NVML's."""
    tree = NodeTree(short_path)
    (tree.root / SOCKET).parent.mkdir(parents=True)
    answer = list_response(("ml", "train-0", "trainer", "nvidia.com/gpu", ("nvidia0/vgpu1",)))
    states = [
        replace(it, gpu=replace(it.gpu, minor_number=minor))
        for it, minor in ((_gpu(), 2), (_gpu(index=1), 0))
    ]
    async with Kubelet(tree.root / SOCKET, speak(answer)):
        workloads = await Node(tree).read(*states)
    assert [(it.gpu_uuid, it.workload) for it in workloads.allocated] == [("GPU-1", TRAINER)]


async def test_activity_ends_the_idle_time(tree: NodeTree) -> None:
    """A workload that computes again begins its idle time anew; unknown activity says nothing."""
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    node = Node(tree)
    seen = []
    for sm, step in ((0.0, 15.0), (0.0, 15.0), (40.0, 15.0), (0.0, 15.0)):
        use = _use(await node.read(_gpu(_process(10, GIB, sm))), TRAINER)
        seen.append(use.idle_allocated_secs)
        node.now += step
    assert seen == [0.0, 15.0, 0.0, 15.0]
    stale = replace(_gpu(_process(10)), stale=True)
    assert _use(await node.read(stale), TRAINER).idle_allocated_secs is None


async def test_memory_of_a_dead_process_is_an_orphan_at_the_second_sight(tree: NodeTree) -> None:
    """One that just ends is none; one that still holds memory in the next pass is."""
    node = Node(tree)
    tree.process(11, "0::/system.slice/a.service")
    first = await node.read(_gpu(_process(10, 2 * GIB), _process(11)))
    second = await node.read(_gpu(_process(10, 2 * GIB), _process(11), read_at=READ_AT + 15))
    assert first.totals[0].orphan_memory_bytes == 0
    assert second.totals[0].orphan_memory_bytes == 2 * GIB
    assert second.reason == "processes_ended"


async def test_memory_of_a_pod_that_is_gone_is_an_orphan(tree: NodeTree) -> None:
    """A process that outlives its pod belongs to no live pod."""
    tree.process(10, f"0::/kubepods/pod{OTHER_UID}/{'6d' * 32}")
    node = Node(tree)
    await node.read(_gpu(_process(10)))
    workloads = await node.read(_gpu(_process(10), read_at=READ_AT + 15))
    assert workloads.totals[0].orphan_memory_bytes == GIB
    assert workloads.reason == "pod_unknown"


async def test_a_process_that_a_freezer_holds_is_stopped(tree: NodeTree) -> None:
    """The freezer of cgroup v1 (`docker pause`) shows D, and no storage is waited for."""
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}", state="D")
    (tree.proc / "10/wchan").write_text("__refrigerator")
    (client,) = (await Node(tree).read(_gpu(_process(10)))).clients
    assert (client.state, client.waits_since_boottime) == ("stopped", None)


async def test_a_process_that_waits_is_seen_to_wait(tree: NodeTree) -> None:
    """Uninterruptible sleep counts from the first of consecutive looks."""
    node = Node(tree, users=True)
    (tree.root / "etc").mkdir()
    (tree.root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nada:x:1000:1000::/:/bin/sh\n")
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}", state="D")
    (tree.proc / "10/wchan").write_text("io_schedule")
    await node.read(_gpu(_process(10)))
    node.now += 15
    (client,) = (await node.read(_gpu(_process(10)))).clients
    assert (client.state, client.waits_since_boottime) == ("uninterruptible", READ_AT)
    assert (client.user, client.wait_channel) == ("ada", "io_schedule")
    (tree.proc / "10/wchan").write_text("0")
    (client,) = (await node.read(_gpu(_process(10)))).clients
    assert client.wait_channel is None
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}", state="R")
    (client,) = (await node.read(_gpu(_process(10)))).clients
    assert (client.state, client.waits_since_boottime) == ("running", None)


async def test_users_are_not_told_unless_asked_for(tree: NodeTree) -> None:
    """User names are off by default."""
    tree.process(10, "0::/")
    (client,) = (await Node(tree).read(_gpu(_process(10)))).clients
    assert client.user is None


async def test_names_can_be_hidden_and_still_told_apart(tree: NodeTree) -> None:
    """What is redacted is a hash: holder and process of a pod stay one row, others another."""
    tree.checkpoint(device_entry(UID, "trainer", ["GPU-0"]))
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    tree.process(11, f"0::/kubepods/pod{UID}/{OTHER_CID}")
    hidden = ("process", "namespace", "pod", "container")
    workloads = await Node(tree, redact=hidden).read(_gpu(_process(10), _process(11)))
    assert sorted(use.is_allocated for use in workloads.uses) == [False, True]
    told = repr(workloads)
    assert not [word for word in ("ml", "train", "sidecar", "python3") if f"'{word}" in told]
    (pod,) = {use.workload.pod for use in workloads.uses}
    assert len(pod) == 10
    (kept,) = {
        (use.workload.namespace, use.workload.container)
        for use in (await Node(tree, redact=("pod",)).read(_gpu(_process(10)))).uses
    }
    assert kept == ("ml", "trainer")


async def test_uids_of_pods_are_told_when_asked_for(tree: NodeTree) -> None:
    """Each pod with a process is there once; a redacted pod has none that would name it."""
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    tree.process(11, f"0::/kubepods/pod{UID}/{CID}")
    tree.process(12, "0::/", name="alone")
    seen = _gpu(*map(_process, (10, 11, 12)))
    assert (await Node(tree, pod_uids=True).read(seen)).pods == (PodUid("ml", "train-0", UID),)
    assert (await Node(tree).read(seen)).pods == ()
    assert (await Node(tree, pod_uids=True, redact=("pod",)).read(seen)).pods == ()


async def test_a_pod_that_only_holds_a_gpu_has_its_uid_from_the_checkpoint(tree: NodeTree) -> None:
    """Only of GPUs that are here and pods that the kubelet knows; a redacted pod has none."""
    tree.checkpoint(
        device_entry(UID, "trainer", ["GPU-0"]),
        device_entry(OTHER_UID, "gone", ["GPU-0"]),
        device_entry(UID.replace("3b", "4b"), "elsewhere", ["GPU-7"]),
    )
    tree.pod("ml", "elsewhere-0", UID.replace("3b", "4b"), "elsewhere")
    held = (PodUid("ml", "train-0", UID),)
    assert (await Node(tree, pod_uids=True).read(_gpu())).pods == held
    assert (await Node(tree).read(_gpu())).pods == ()
    assert (await Node(tree, pod_uids=True, redact=("pod",)).read(_gpu())).pods == ()


@pytest.mark.parametrize(
    ("entry", "uids"),
    [
        ((UID, "trainer", ["GPU-0"]), {UID}),
        ((UID, "trainer", ["GPU-0::3", "GPU-1"]), {UID}),
        ((OTHER_UID, "trainer", ["GPU-0"]), set()),  # its successor has the device
        ((UID, "sidecar", ["GPU-0"]), set()),
        ((UID, "trainer", ["GPU-1"]), set()),
        (None, set()),
    ],
    ids=["the same", "a replica", "another pod", "another container", "another GPU", "none"],
)
async def test_the_socket_must_confirm_a_uid(
    short_path: Path, entry: tuple[str, str, list[str]] | None, uids: set[str]
) -> None:
    """It names no UID, so pod, container and device of the checkpoint must be those it names."""
    tree = NodeTree(short_path)
    tree.pod("ml", "train-0", UID, "trainer")
    tree.pod("ml", "train-1", OTHER_UID, "trainer")
    if entry is not None:
        tree.checkpoint(device_entry(*entry))
    (tree.root / SOCKET).parent.mkdir(parents=True)
    answer = list_response(("ml", "train-0", "trainer", "nvidia.com/gpu", ("GPU-0",)))
    async with Kubelet(tree.root / SOCKET, speak(answer)):
        reading = await Node(tree, pod_uids=True).reading(_gpu(), _gpu(index=1))
    assert {pod.pod_uid for pod in reading.value.pods} == uids
    assert [use.workload for use in reading.value.uses] == [TRAINER]
    assert [it.field for it in reading.missing] == ([] if entry else ["pod_uids"])


async def test_series_of_single_processes_are_capped(tree: NodeTree) -> None:
    """The largest processes have series of their own, the rest of a GPU is one more."""
    for pid in range(10, 16):
        tree.process(pid, f"0::/kubepods/pod{UID}/{CID}")
    processes = [_process(pid, pid * GIB, 1.0) for pid in range(10, 16)]
    rows = (await Node(tree, per_pid=True, top_n=2).read(_gpu(*processes))).per_pid
    assert [(row.pid, row.memory_used_bytes) for row in rows] == [
        ("15", 15 * GIB),
        ("14", 14 * GIB),
        ("other", (10 + 11 + 12 + 13) * GIB),
    ]
    assert rows[-1].sm_utilization_percent == 4.0
    assert (await Node(tree).read(_gpu(*processes))).per_pid == ()


async def test_ten_thousand_processes_stay_bounded(tmp_path: Path) -> None:
    """However many processes use a GPU, the rows are capped and nothing is counted twice."""
    tree = NodeTree(tmp_path)
    for pid in range(100, 100 + MAX_PROCESSES):
        tree.process(pid, "0::/", name=f"job{pid}")
    everything = [_process(pid, 1024) for pid in range(100, 10_100)]
    workloads = await Node(tree, per_pid=True, top_n=50).read(_gpu(*everything))
    assert len(workloads.uses) == MAX_ROWS + 1
    assert sum(use.processes for use in workloads.uses) == 10_000
    assert sum(use.memory_used_bytes or 0 for use in workloads.uses) == 10_000 * 1024
    assert len(workloads.per_pid) == 51
    assert sum(row.memory_used_bytes or 0 for row in workloads.per_pid) == 10_000 * 1024
    assert workloads.totals[0].orphan_memory_bytes == 0
    assert workloads.attribution_ratio == MAX_PROCESSES / 10_000


async def test_only_processes_on_gpus_are_looked_at(tree: NodeTree) -> None:
    """Processes that use no GPU are never read, however many there are."""
    for pid in range(100, 400):
        (tree.proc / str(pid)).mkdir()
        (tree.proc / str(pid) / "stat").mkdir()  # reading it would fail
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    workloads = await Node(tree).read(_gpu(_process(10)))
    assert [client.pid for client in workloads.clients] == [10]


async def test_a_broken_checkpoint_costs_only_itself(tree: NodeTree) -> None:
    """Attribution goes on, and what is missing is said with its reason."""
    tree.checkpoint()
    (tree.root / "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint").write_text("{")
    tree.process(10, f"0::/kubepods/pod{UID}/{CID}")
    reading = await Node(tree).reading(_gpu(_process(10)))
    assert _use(reading.value, TRAINER).processes == 1
    assert [missing.field for missing in reading.missing] == ["allocations"]


async def test_absent_without_gpus(tree: NodeTree) -> None:
    """Without a GPU there is nothing to look closer at: absent, not failed."""
    with pytest.raises(SourceAbsent):
        await Node(tree).read()


@pytest.mark.parametrize(
    "name", ["slurm/job_1009", "user-1000.slice", "ssh.service", "4f4f4f4f4f4f", "other", "a.scope"]
)
async def test_a_name_a_process_gave_itself_is_nobody_elses(tree: NodeTree, name: str) -> None:
    """Outside of all units its own name is shown, in brackets where it reads like an owner's."""
    tree.process(10, "0::/", name=name)
    (use,) = (await Node(tree).read(_gpu(_process(10)))).uses
    assert use.workload == Workload("", "", f"({name})")


async def test_without_a_list_of_processes_gpus_in_use_are_counted_by_their_use(
    tree: NodeTree,
) -> None:
    """What the count of GPUs in use rests on is told beside the reason."""
    gpu = Gpu(0, "GPU-0", "H100", utilization_percent=97.0, processes=None)
    workloads = await Node(tree).read(GpuState(gpu, READ_AT))
    assert (workloads.used_count_by, workloads.attribution_ratio) == ("utilization", None)
    seen = await Node(tree).read(_gpu())
    assert seen.used_count_by == "processes"
