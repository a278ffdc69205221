"""The page of the workloads, compared byte by byte; `make golden` rewrites it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from exporter.collectors.gpu.values import Gpu, GpuBackend, GpuProcess, Gpus, GpuState, MigInstance
from exporter.collectors.sharing.mps import MpsControl
from exporter.collectors.sharing.schedulers import Schedulers
from exporter.collectors.workloads.families import FAMILIES
from exporter.collectors.workloads.source import WorkloadSource
from exporter.collectors.workloads.values import Workloads
from exporter.config import Config, Processes
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Snapshot
from tests.collectors.node_tree import NodeTree, device_entry
from tests.fakes.source_context import call_now, source_context

READ_AT = 1000.0
GIB = 2**30
TRAINER_UID = "3b1f0f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"
SERVER_UID = "77770f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"
TRAINER_ID, SERVER_ID, SIDECAR_ID = "4f" * 32, "5e" * 32, "6d" * 32
SLICES = (MigInstance(1, 0, "MIG-a", "1g.10gb"), MigInstance(2, 0, "MIG-b", "1g.10gb"))


def _node(folder: Path) -> NodeTree:
    """A pod that trains, one that serves beside it, a user, a service and a dead process."""
    tree = NodeTree(folder)
    tree.pod("ml", "train-0", TRAINER_UID, "trainer", "sidecar")
    tree.container_log("ml", "train-0", "trainer", TRAINER_ID)
    tree.pod("serving", "chat-7c9d", SERVER_UID, "server")
    tree.container_log("serving", "chat-7c9d", "server", SERVER_ID)
    tree.process(10, f"0::/kubepods/pod{TRAINER_UID}/{TRAINER_ID}", name="python3")
    tree.process(11, f"0::/kubepods/pod{TRAINER_UID}/{TRAINER_ID}", name="python3")
    tree.process(20, f"0::/kubepods/burstable/pod{SERVER_UID}/{SERVER_ID}", name="vllm")
    tree.process(30, "0::/user.slice/user-1000.slice/session-3.scope", name="blender")
    tree.process(40, "0::/system.slice/display-manager.service", name="Xorg")
    tree.checkpoint(
        device_entry(TRAINER_UID, "trainer", ["GPU-0", "GPU-1"]),
        device_entry(SERVER_UID, "server", ["GPU-0::1"]),
        device_entry(SERVER_UID, "server", ["MIG-b"], "nvidia.com/mig-1g.10gb"),
    )
    return tree


def _gpus(read_at: float, joules: float) -> Gpus:
    """A shared GPU, one that is held and idle, one that is cut into instances."""
    shared = (
        GpuProcess(10, "compute", 30 * GIB, 41.0, 20.0, 0.0, 0.0),
        GpuProcess(20, "mps", 12 * GIB, 17.0, 5.0, 0.0, 3.0),
        GpuProcess(30, "compute", 2 * GIB, 0.0, 0.0, 0.0, 0.0),
        GpuProcess(40, "graphics", None),
        GpuProcess(99, "compute", GIB, 0.0),
    )
    on_slice = GpuProcess(11, "compute", 4 * GIB, gpu_instance=1, compute_instance=0)
    gpus = (
        Gpu(0, "GPU-0", "H100", energy_joules_total=joules, processes=shared),
        Gpu(1, "GPU-1", "H100", energy_joules_total=joules, processes=()),
        Gpu(2, "GPU-2", "A100", mig_instances=SLICES, processes=(on_slice,)),
        Gpu(3, "GPU-3", "T4"),
    )
    states = tuple(GpuState(gpu, read_at) for gpu in gpus)
    return Gpus(GpuBackend("nvml", "ok"), states)


async def _page(folder: Path) -> str:
    tree, now = _node(folder), READ_AT
    mps = MpsControl(source_context(boottime=lambda: now))
    config = Config(sources=tree.sources, processes=Processes(per_pid=True, top_n=2))
    ctx = source_context(config, boottime=lambda: now)
    source = WorkloadSource(ctx, lambda root: Schedulers(root, mps, call_now))
    snapshot = Snapshot("n", 1, 0.0, now, 0.0)
    for step in (0, 1):
        now = READ_AT + 15.0 * step
        gpus: MappingProxyType[type, object] = MappingProxyType(
            {Gpus: _gpus(now, 50_000.0 + 9_000.0 * step)}
        )
        snapshot = replace(snapshot, readings=gpus)
        workloads = (await source.read_after(snapshot)).value
        snapshot = replace(snapshot, readings=MappingProxyType({**gpus, Workloads: workloads}))
    return render(FAMILIES, snapshot, Format.TEXT).body.decode()


async def test_the_whole_page_is_as_expected(
    tmp_path: Path, is_as_expected: Callable[[str, str], None]
) -> None:
    """Every name, label, order, type and value, after two readings fifteen seconds apart."""
    is_as_expected("workloads.prom", await _page(tmp_path))
