"""Names of pods and containers, from the names of the kubelet's log files.

/var/log/pods/NAMESPACE_POD_UID/CONTAINER and /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
(https://kubernetes.io/docs/concepts/cluster-administration/logging/). Only names are read: no
file is opened and no link followed, whatever a tenant may have put there.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType

from exporter.collectors.workloads.values import PodUid, Workload
from exporter.record import dataclass

PODS = "var/log/pods"
CONTAINERS = "var/log/containers"
MAX_ENTRIES = 20_000

_NAME = r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"
_POD_FOLDER = re.compile(rf"({_NAME})_({_NAME})_([0-9a-f-]{{32,36}})")
_CONTAINER_LOG = re.compile(rf"({_NAME})_({_NAME})_({_NAME})-([0-9a-f]{{64}})\.log")
_CONTAINER_NAME = re.compile(_NAME)


@dataclass(frozen=True, slots=True)
class PodNames:
    """Pods by uid and containers by id; none where the folders cannot be read."""

    pods: Mapping[str, PodUid] = field(default_factory=lambda: MappingProxyType({}))
    containers: Mapping[str, Workload] = field(default_factory=lambda: MappingProxyType({}))


def parse_pod_folder(folder: str) -> PodUid | None:
    """Parse the pod of a folder `NAMESPACE_POD_UID`; None when it is not one."""
    match = _POD_FOLDER.fullmatch(folder)
    return None if match is None else PodUid(match[1], match[2], match[3])


def parse_container_log(file: str) -> tuple[str, Workload] | None:
    """Parse id and names of a file `POD_NAMESPACE_CONTAINER-ID.log`; None when it is not one."""
    match = _CONTAINER_LOG.fullmatch(file)
    return None if match is None else (match[4], Workload(match[2], match[1], match[3]))


class PodNameReader:
    """Lists the folders under the root of the node."""

    def __init__(self, host_root: Path) -> None:
        self._pods = host_root / PODS
        self._containers = host_root / CONTAINERS

    def read(self) -> PodNames:
        """Read all names now; empty where there is no kubelet or its folders cannot be read."""
        folders = (parse_pod_folder(name) for name in _entries(self._pods))
        pods = {pod.pod_uid: pod for pod in folders if pod is not None}
        logs = (parse_container_log(name) for name in _entries(self._containers))
        return PodNames(pods, dict(log for log in logs if log is not None))

    def containers_of(self, pod: PodUid) -> tuple[str, ...]:
        """List the containers that have logged in this pod."""
        path = self._pods / f"{pod.namespace}_{pod.pod}_{pod.pod_uid}"
        names = () if path.is_symlink() else tuple(_entries(path))
        return tuple(sorted(name for name in names if _CONTAINER_NAME.fullmatch(name)))


def _entries(path: Path) -> Iterator[str]:
    """List the names in a folder, bounded; none where it cannot be read."""
    try:
        with os.scandir(path) as entries:
            for count, entry in enumerate(entries):
                if count >= MAX_ENTRIES:
                    return
                yield entry.name
    except OSError:
        return  # names are a bonus: without them the ids are shown
