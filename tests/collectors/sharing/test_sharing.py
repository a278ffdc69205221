"""How GPUs are shared, who may use how much of them, and who uses more."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import pytest

from exporter.blocking import CallBlocking
from exporter.collectors.gpu.values import Gpu, GpuBackend, GpuProcess, Gpus, GpuState, MigInstance
from exporter.collectors.sharing.hami import HamiLimit
from exporter.collectors.sharing.mps import MemoryLimit, MpsControl, MpsServer
from exporter.collectors.sharing.node import CONTEXT_BYTES, NodeSharing
from exporter.collectors.sharing.schedulers import Schedulers, SchedulersSeen
from exporter.collectors.workloads.source import WorkloadSource
from exporter.collectors.workloads.values import GpuShare, Workload, Workloads, WorkloadUse
from exporter.config import Config, GpuConfig, Processes
from exporter.model.reading import Missing, Reading
from exporter.model.snapshot import Snapshot
from tests.collectors.node_tree import NodeTree, device_entry
from tests.fakes.hami import container, region
from tests.fakes.mps import LIMITS, MpsDaemon, control_program
from tests.fakes.source_context import call_now, source_context

T = TypeVar("T")

ME = os.geteuid()
UID = "3b1f0f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"
CID = "4f" * 32
TRAINER = Workload("ml", "train-0", "trainer")
GPU = "GPU-5a1c0d3e-7b42-4c19-9d10-000000000000"
MIB, GIB = 2**20, 2**30
STATE = GpuState(Gpu(0, "GPU-0", "H100", memory_total_bytes=80 * GIB), 1000.0)
FIVE = MemoryLimit(5 * GIB, 6 * GIB - 1)
SERVER = MpsServer(7, 25.0, (("GPU-0", FIVE),))


class Node:
    """A source over a fake tree with one pod, and the schedulers that a test puts there."""

    def __init__(
        self,
        folder: Path,
        mps: MpsControl | None = None,
        redact: str = "",
        call: CallBlocking = call_now,
    ) -> None:
        self.tree = NodeTree(folder)
        self.tree.pod("ml", "train-0", UID, "trainer")
        self.tree.container_log("ml", "train-0", "trainer", CID)
        mps = mps or MpsControl(source_context())
        processes = Processes(redact=(redact,), redact_salt="salt")
        config = Config(sources=self.tree.sources, processes=processes)
        self.source = WorkloadSource(
            source_context(config, boottime=lambda: 1000.0),
            lambda root: Schedulers(root, mps, call, ME, patience_secs=0.05),
        )

    def process(self, pid: int) -> None:
        """A process of the pod."""
        self.tree.process(pid, f"0::/kubepods/pod{UID}/{CID}")

    def register(self, registered: Iterable[str], held: Iterable[str], resource: str) -> None:
        """The kubelet's checkpoint: ids of one resource, and those that the pod holds."""
        self.tree.checkpoint(
            device_entry(UID, "trainer", list(held), resource),
            registered={resource: list(registered)},
        )

    async def read(self, *gpus: Gpu) -> Reading[Workloads]:
        """One look, at GPUs that were just read."""
        states = tuple(GpuState(gpu, 1000.0) for gpu in gpus)
        readings: dict[type, object] = {Gpus: Gpus(GpuBackend("nvml", "ok"), states)}
        return await self.source.read_after(
            Snapshot("n", 1, 0.0, 1000.0, 0.0, MappingProxyType(readings))
        )


def _gpu(*processes: GpuProcess, uuid: str = GPU) -> Gpu:
    return Gpu(0, uuid, "H100", memory_total_bytes=80 * GIB, processes=processes)


@pytest.mark.parametrize(
    ("resource", "ids", "kind"),
    [
        ("nvidia.com/gpu", "{}::{}", "time_slicing"),
        ("nvidia.com/gpu.shared", "{}::{}", "time_slicing"),
        ("nvshare.com/gpu", "{}__{}", "nvshare"),
        ("xpushare.com/gpu", "{}__{}", "xpushare"),
    ],
)
async def test_replicas_of_a_device_plugin(
    tmp_path: Path, resource: str, ids: str, kind: str
) -> None:
    """How many there are, and how many the pod holds, whose GPU has no processes yet."""
    node = Node(tmp_path)
    registered = [ids.format(GPU, n) for n in range(1, 5)]
    node.register(registered, registered[:2], resource)
    workloads = (await node.read(_gpu())).value
    assert workloads.shares == (GpuShare(GPU, kind, 4),)
    (use,) = workloads.uses
    assert (use.workload, use.is_allocated, use.replicas) == (TRAINER, True, 2)
    assert use.quota_memory_bytes is use.quota_sm_percent is None  # time slices limit nothing


async def test_replicas_with_a_daemon_are_clients_of_mps(short_path: Path) -> None:
    """The device plugin runs a daemon for the resource; or the driver names clients on the GPU."""
    node = Node(short_path)
    node.register([f"{GPU}::0", f"{GPU}::1"], [f"{GPU}::0"], "nvidia.com/gpu")
    async with MpsDaemon(node.tree.root / "run/nvidia/mps/nvidia.com/gpu/pipe", {}):
        assert (await node.read(_gpu())).value.shares == (GpuShare(GPU, "mps", 2),)
    assert (await node.read(_gpu())).value.shares == (GpuShare(GPU, "time_slicing", 2),)
    client = GpuProcess(10, "mps", GIB)
    assert (await node.read(_gpu(client))).value.shares == (GpuShare(GPU, "mps", 2),)


async def test_a_gpu_that_is_not_shared_says_nothing(tmp_path: Path) -> None:
    """A whole GPU that is given to a pod has no kind of sharing, no replicas and no quota."""
    node = Node(tmp_path)
    node.process(10)
    node.register([GPU], [GPU], "nvidia.com/gpu")
    workloads = (await node.read(_gpu(GpuProcess(10, "compute", GIB, 50.0)))).value
    assert workloads.shares == ()
    (use,) = workloads.uses
    assert (use.replicas, use.quota_memory_bytes, use.quota_sm_percent) == (None, None, None)
    assert (use.quota_memory_excess_bytes, use.quota_sm_excess_percent) == (None, None)


async def test_hami_limits_are_those_of_its_container(tmp_path: Path) -> None:
    """By the pod's uid in the folder's name; what is used beyond them is said by the driver."""
    node = Node(tmp_path)
    node.process(10)
    container(node.tree.root, UID, "trainer", region({GPU: (8 * GIB, 30)}))
    process = GpuProcess(10, "compute", 10 * GIB, 55.0)
    workloads = (await node.read(_gpu(process))).value
    assert workloads.shares == (GpuShare(GPU, "hami"),)
    (use,) = workloads.uses
    assert (use.quota_memory_bytes, use.quota_sm_percent) == (8 * GIB, 30.0)
    assert use.quota_memory_excess_bytes == 2 * GIB - CONTEXT_BYTES
    assert use.quota_sm_excess_percent == 25.0


async def test_limits_of_a_pod_that_is_gone_are_nobodys(tmp_path: Path) -> None:
    """A folder that HAMi has not removed yet gives no workload a quota."""
    node = Node(tmp_path)
    other = UID.replace("3", "4")
    container(node.tree.root, other, "trainer", region({GPU: (8 * GIB, 30)}))
    workloads = (await node.read(_gpu())).value
    assert (workloads.shares, workloads.uses) == ((), ())


async def test_hidden_names_keep_their_quota(tmp_path: Path) -> None:
    """A name that is shown as a hash is the same hash here and there."""
    node = Node(tmp_path, redact="pod")
    node.process(10)
    container(node.tree.root, UID, "trainer", region({GPU: (8 * GIB, 30)}))
    (use,) = (await node.read(_gpu(GpuProcess(10, "compute", GIB)))).value.uses
    assert use.workload.pod != "train-0"
    assert use.quota_memory_bytes == 8 * GIB


async def test_a_folder_that_hangs_costs_its_limits_only(tmp_path: Path) -> None:
    """A scheduler's folder on a dead file system: who uses the GPUs is said all the same, once."""
    waiting: list[asyncio.Future[Any]] = []

    def never(function: Callable[[], T]) -> Awaitable[T]:  # noqa: ARG001 - it is never called
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        waiting.append(future)
        return future

    node = Node(tmp_path, call=never)
    node.process(10)
    for _ in range(2):
        reading = await node.read(_gpu(GpuProcess(10, "compute", GIB)))
        assert reading.missing[-1] == Missing("schedulers", "a folder does not answer")
        assert [use.workload for use in reading.value.uses] == [TRAINER]
    assert len(waiting) == 1
    waiting[0].set_result(SchedulersSeen())
    reading = await node.read(_gpu())
    assert "schedulers" not in {missing.field for missing in reading.missing}


@pytest.mark.system
async def test_the_limits_of_mps_come_with_a_later_look(short_path: Path) -> None:
    """The daemon is asked beside collections: the first look has no limits, the next has them."""
    programs = (str(control_program(short_path)),)
    context = source_context(
        Config(gpu=GpuConfig(mps_control_paths=programs)), boottime=lambda: 1000.0
    )
    node = Node(short_path, MpsControl(context))
    node.process(10)
    gpu = _gpu(GpuProcess(10, "mps", GIB, 90.0))
    answers = {name.replace("GPU-0", GPU): answer for name, answer in LIMITS.items()}
    async with MpsDaemon(node.tree.root / "tmp/nvidia-mps", dict(answers)):
        before = asyncio.all_tasks()
        (use,) = (await node.read(gpu)).value.uses
        assert use.quota_memory_bytes is None
        await asyncio.wait(asyncio.all_tasks() - before)
        (use,) = (await node.read(gpu)).value.uses
    assert (use.quota_memory_bytes, use.quota_sm_percent) == (20350 * MIB, 25.0)
    assert use.quota_sm_excess_percent is None  # of SMs, not of time
    await node.source.close()
    assert context.children.pids == ()


def _use(processes: int = 1, memory: int | None = GIB, sm: float | None = 10.0) -> WorkloadUse:
    return WorkloadUse("GPU-0", TRAINER, processes, memory, sm)


def test_each_client_of_mps_may_use_its_share() -> None:
    """Two processes may use twice as much; never more than the GPU has, nor than all its SMs."""
    sharing = NodeSharing(mps_servers=(SERVER,))
    use = sharing.with_quota(_use(2), STATE, frozenset({1, 2}))
    assert (use.quota_memory_bytes, use.quota_sm_percent) == (10 * GIB, 50.0)
    use = sharing.with_quota(_use(20), STATE, frozenset(range(20)))
    assert (use.quota_memory_bytes, use.quota_sm_percent) == (80 * GIB, 100.0)


def test_a_limit_that_was_rounded_down_accuses_nobody() -> None:
    """The daemon's 5G may be almost 6: what is surely beyond it and the context is too much."""
    sharing = NodeSharing(mps_servers=(SERVER,))
    most = FIVE.at_most_bytes + CONTEXT_BYTES
    for memory, excess in ((most, 0), (most + 1, 1), (GIB, GIB - most)):
        use = sharing.with_quota(_use(1, memory), STATE, frozenset({1}))
        assert use.quota_memory_excess_bytes == excess
    assert sharing.with_quota(_use(1, None), STATE, frozenset({1})).quota_memory_bytes == 5 * GIB


@pytest.mark.parametrize(
    ("pids", "servers"),
    [
        (frozenset(), (SERVER,)),  # its process is no client
        (frozenset({1, 2}), (SERVER,)),  # not as many as it has processes
        (frozenset({1}), ()),
        (frozenset({1}), (SERVER, replace(SERVER, pid=8))),  # nobody knows whose client it is
        (frozenset({1}), (MpsServer(7, None),)),
    ],
)
def test_what_mps_does_not_limit_has_no_quota(
    pids: frozenset[int], servers: tuple[MpsServer, ...]
) -> None:
    """A quota is that of all its processes, or it is not said."""
    use = NodeSharing(mps_servers=servers).with_quota(_use(), STATE, pids)
    assert use == _use()


def test_of_several_servers_the_clients_own_counts() -> None:
    """Each user's server has limits of its own."""
    servers = (
        replace(SERVER, clients=frozenset({1})),
        MpsServer(8, 50.0, SERVER.memory, frozenset({2})),
    )
    sharing = NodeSharing(mps_servers=servers)
    assert sharing.with_quota(_use(), STATE, frozenset({2})).quota_sm_percent == 50.0


def test_a_slice_of_mig_is_the_quota() -> None:
    """The memory of the GPU instances it has; compute instances of one share it."""
    slices = (
        MigInstance(1, 0, "MIG-a", "3g.40gb", 40 * GIB),
        MigInstance(1, 1, "MIG-b", "3g.40gb", 40 * GIB),
        MigInstance(2, 0, "MIG-c", "1g.10gb", 10 * GIB),
    )
    state = replace(STATE, gpu=replace(STATE.gpu, mig_instances=slices))
    held = replace(_use(), instances=((1, 0), (1, 1)))
    assert NodeSharing().with_quota(held, state, ()).quota_memory_bytes == 40 * GIB
    held = replace(_use(), instances=((1, 0), (2, 0)))
    assert NodeSharing().with_quota(held, state, ()).quota_memory_bytes == 50 * GIB
    held = replace(_use(), instances=((1, 0), (3, 0)))
    assert NodeSharing().with_quota(held, state, ()).quota_memory_bytes is None


def test_a_limit_that_hami_does_not_set_is_no_quota() -> None:
    """Memory without a percentage and the reverse; what is not used cannot be beyond it."""
    key = ("GPU-0", TRAINER)
    limit = HamiLimit(UID, "trainer", "GPU-0", None, 30.0)
    use = NodeSharing(hami={key: limit}).with_quota(_use(1, GIB, None), STATE, ())
    assert (use.quota_memory_bytes, use.quota_sm_percent) == (None, 30.0)
    assert use.quota_memory_excess_bytes is use.quota_sm_excess_percent is None
    limit = HamiLimit(UID, "trainer", "GPU-0", GIB, None)
    use = NodeSharing(hami={key: limit}).with_quota(_use(), STATE, ())
    assert (use.quota_memory_bytes, use.quota_sm_percent) == (GIB, None)
    assert use.quota_memory_excess_bytes == -CONTEXT_BYTES
