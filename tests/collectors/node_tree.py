"""Fake roots of a node with processes, pods and the kubelet's files, built in a folder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from exporter.config import Sources

TICKS = 100


class NodeTree:
    """A proc root and a host root under one folder; a host until told otherwise."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.root = folder / "root"
        self.root.mkdir(parents=True)
        self.process(1, "0::/init.scope", name="systemd", started=0.0)
        self.process(2, "0::/", name="kthreadd", started=0.0)

    @property
    def sources(self) -> Sources:
        """The configuration of this tree."""
        return Sources(proc_root=str(self.proc), host_root=str(self.root))

    def process(
        self,
        pid: int,
        cgroup: str,
        *,
        name: str = "python3",
        started: float = 100.0,
        state: str = "S",
        uid: int = 1000,
    ) -> None:
        """A process that began at this boot time in seconds."""
        folder = self.proc / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        fields = [state, *["0"] * 18, str(int(started * TICKS)), *["0"] * 32]
        (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n", "utf-8")
        (folder / "cgroup").write_text(cgroup + "\n", "utf-8")
        (folder / "status").write_text(f"Name:\tx\nUid:\t0\t{uid}\t0\t0\n", "utf-8")

    def ends(self, pid: int) -> None:
        """The process is gone."""
        for file in (self.proc / str(pid)).iterdir():
            file.unlink()
        (self.proc / str(pid)).rmdir()

    def pod(self, namespace: str, pod: str, uid: str, *containers: str) -> None:
        """A pod whose containers have logged."""
        folder = self.root / "var/log/pods" / f"{namespace}_{pod}_{uid}"
        folder.mkdir(parents=True)
        for container in containers:
            (folder / container).mkdir()

    def container_log(self, namespace: str, pod: str, container: str, container_id: str) -> None:
        """The link that the kubelet makes for each container."""
        folder = self.root / "var/log/containers"
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / f"{pod}_{namespace}_{container}-{container_id}.log"
        link.symlink_to(f"/var/log/pods/{namespace}_{pod}_x/{container}/0.log")

    def checkpoint(
        self,
        *entries: Mapping[str, object],
        registered: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """The kubelet's device-plugin checkpoint: what is given away, and what plugins have."""
        folder = self.root / "var/lib/kubelet/device-plugins"
        folder.mkdir(parents=True, exist_ok=True)
        data = {"PodDeviceEntries": entries, "RegisteredDevices": dict(registered)}
        document = {"Data": data, "Checksum": 1}
        (folder / "kubelet_internal_checkpoint").write_text(json.dumps(document), "utf-8")


def device_entry(
    uid: str, container: str, ids: Sequence[str], resource: str = "nvidia.com/gpu"
) -> dict[str, object]:
    """One entry of the checkpoint as kubelets since 1.20 write it."""
    return {
        "PodUID": uid,
        "ContainerName": container,
        "ResourceName": resource,
        "DeviceIDs": {"0": list(ids)},
        "AllocResp": "",
    }
