"""A GPU node on which there is something to see for every right that a pod can have."""

import json
import re
import secrets
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from exporter.collectors.workloads import kubelet, pod_logs
from tests.fakes.fuse import StuckFiles
from tests.fakes.host_tree import HostTree, gpu_node
from tests.fakes.nvml_library import CAPTURES, NvmlLibrary

# Made anew for each run: two runs on one machine make their cgroups side by side.
TRAINING, IDLE = str(uuid.uuid4()), str(uuid.uuid4())
CONTAINER_ID = secrets.token_hex(32)
IDLE_GPU = 2
ADA = 61_815
CAPTURE = "h100x8.scenario"
HIERARCHIES = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/systemd")
MIB = 1024**2


@dataclass(frozen=True, slots=True)
class BusyNode:
    """What all pods on it share: the driver, the processes that compute, the disks."""

    nvml: NvmlLibrary
    disks: Path

    def tree(self, folder: Path, *, has_checkpoint: bool = True) -> HostTree:
        """The files of the node, in a folder of their own."""
        tree = gpu_node(folder)
        tree.write(names())
        if has_checkpoint:
            tree.write({f"/{kubelet.CHECKPOINT}": _checkpoint()})
            tree.at(f"/{kubelet.CHECKPOINT}").chmod(0o600)
        tree.write({"/etc/passwd": f"root:x:0:0::/root:/bin/sh\nada:x:{ADA}:{ADA}::/:/bin/sh\n"})
        # As the kernel and the kubelet make them: for root alone.
        tree.at("/sys/class/powercap/intel-rapl:0/energy_uj").chmod(0o400)
        for path in (Path(f"/{kubelet.CHECKPOINT}").parent, f"/{pod_logs.PODS}"):
            tree.at(str(path)).mkdir(parents=True, exist_ok=True)
            tree.at(str(path)).chmod(0o750)
        shutil.rmtree(tree.at("/dev"))
        tree.at("/dev").symlink_to(self.disks)
        for mount_point in ("sys", "proc/driver"):
            (tree.host / mount_point).mkdir(parents=True)
        return tree


def cgroup_hierarchy() -> Path | None:
    """Where a cgroup can be made on this machine; None where it cannot."""
    return next((Path(at) for at in HIERARCHIES if Path(at, "cgroup.procs").exists()), None)


def idle_uuid() -> str:
    """The GPU that the kubelet has given to a pod which does not compute."""
    (pattern, *_) = re.findall(r"uuid = (GPU-\S+)", (CAPTURES / CAPTURE).read_text())
    return str(pattern).replace("{device}", str(IDLE_GPU))


def own_sys(tree: HostTree, place: Path) -> Path:
    """What a network namespace of its own leaves of the node's /sys."""
    shutil.copytree(tree.sys, place, symlinks=True)
    for name in ("net", "infiniband"):
        shutil.rmtree(place / "class" / name)
    (place / "class/net").mkdir()
    return place


@contextmanager
def busy_node(folder: Path, library_dir: Path) -> Iterator[BusyNode]:
    """A pod computes on GPU 0, a user outside of pods on GPU 1, an idle pod holds a third."""
    for name in ("nvml", "dev"):
        (folder / name).mkdir()
    with ExitStack() as stack:
        pids = (stack.enter_context(process_in_a_pod()), stack.enter_context(_process_of(ADA)))
        nvml = NvmlLibrary(library_dir, folder / "nvml")
        busy = (f"device.{card}.compute_processes = {pid}:{MIB}" for card, pid in enumerate(pids))
        nvml.say(*busy, capture=CAPTURE)
        disks = StuckFiles(folder / "dev")
        stack.callback(disks.close)
        disks.disk("nvme0", _health_log())
        yield BusyNode(nvml, folder / "dev")


def names() -> dict[str, str]:
    """Return the log files by which pods and containers are known."""
    return {
        f"/{pod_logs.PODS}/ml_train-0_{TRAINING}/trainer/0.log": "",
        f"/{pod_logs.PODS}/ml_train-0_{TRAINING}/sidecar/0.log": "",
        f"/{pod_logs.PODS}/ml_notebook-0_{IDLE}/main/0.log": "",
        f"/{pod_logs.CONTAINERS}/train-0_ml_trainer-{CONTAINER_ID}.log": "",
    }


def _checkpoint() -> str:
    entry = {
        "PodUID": IDLE,
        "ContainerName": "main",
        "ResourceName": "nvidia.com/gpu",
        "DeviceIDs": {"0": [idle_uuid()]},
        "AllocResp": "",
    }
    return json.dumps(
        {"Data": {"PodDeviceEntries": [entry], "RegisteredDevices": {}}, "Checksum": 1}
    )


def _health_log() -> bytes:
    log = bytearray(512)
    log[1:3] = (308).to_bytes(2, "little")
    log[3], log[4], log[5] = 100, 10, 3
    return bytes(log)


@contextmanager
def process_in_a_pod() -> Iterator[int]:
    """Run a process in the control group of the pod that trains."""
    hierarchy = cgroup_hierarchy()
    assert hierarchy is not None
    pod = hierarchy / f"kubepods-pod{TRAINING.replace('-', '_')}.slice"
    scope = pod / f"cri-containerd-{CONTAINER_ID}.scope"
    scope.mkdir(parents=True)
    try:
        with _process_of(0) as pid:
            (scope / "cgroup.procs").write_text(str(pid))
            yield pid
    finally:
        scope.rmdir()
        pod.rmdir()


@contextmanager
def _process_of(uid: int) -> Iterator[int]:
    with subprocess.Popen(["sleep", "600"], user=uid, group=uid) as process:
        try:
            yield process.pid
        finally:
            process.kill()
