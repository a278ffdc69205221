"""Which containers the kubelet has given GPUs to, asked over its pod-resources socket.

https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
Fields: https://github.com/kubernetes/kubelet/blob/master/pkg/apis/podresources/v1/api.proto.
"""

from pathlib import Path

from exporter.blocking import CallBlocking
from exporter.model.label import clean_text
from exporter.sources.interface import SourceFailed
from exporter.sources.workloads.kubelet import Allocation, gpus_among
from exporter.sources.workloads.kubelet_grpc import CallFailed, call
from exporter.sources.workloads.protobuf_wire import parts, texts

SOCKET = "var/lib/kubelet/pod-resources/kubelet.sock"
LIST = "/v1.PodResourcesLister/List"
TIMEOUT_SECS = 0.5

POD_RESOURCES = 1
POD_NAME, POD_NAMESPACE, POD_CONTAINERS = 1, 2, 3
CONTAINER_NAME, CONTAINER_DEVICES = 1, 2
RESOURCE_NAME, DEVICE_IDS = 1, 2


class PodResources:
    """Asks anew each time, so that a kubelet that was restarted is found again."""

    def __init__(
        self, host_root: Path, call_blocking: CallBlocking, timeout_secs: float = TIMEOUT_SECS
    ) -> None:
        self._socket = host_root / SOCKET
        self._call_blocking = call_blocking
        self._timeout_secs = timeout_secs

    async def read(self) -> tuple[Allocation, ...] | None:
        """All allocations; None where there is no socket. Raises SourceFailed."""
        if not await self._call_blocking(self._socket.is_socket):
            return None
        try:
            message = await call(self._socket, LIST, self._timeout_secs)
        except CallFailed as failed:
            raise SourceFailed(f"{self._socket}: {failed}") from failed
        return await self._call_blocking(lambda: parse_list(message))


def parse_list(message: bytes) -> tuple[Allocation, ...]:
    """The allocations of a ListPodResourcesResponse; raises SourceFailed when it is none."""
    try:
        found = [it for pod in parts(message, POD_RESOURCES) for it in _allocations(pod)]
    except ValueError as error:
        raise SourceFailed(f"the kubelet's answer is garbled: {error}") from error
    return tuple(found)


def _allocations(pod: bytes) -> list[Allocation]:
    name, namespace = _first(pod, POD_NAME), _first(pod, POD_NAMESPACE)
    found = []
    for container in parts(pod, POD_CONTAINERS):
        devices = [
            device
            for given in parts(container, CONTAINER_DEVICES)
            for device in gpus_among(_first(given, RESOURCE_NAME), texts(given, DEVICE_IDS))
        ]
        if devices and name:
            container_name = _first(container, CONTAINER_NAME)
            unique = tuple(dict.fromkeys(devices))
            found.append(Allocation(container_name, unique, namespace=namespace, pod=name))
    return found


def _first(message: bytes, number: int) -> str:
    return clean_text(next(iter(texts(message, number)), ""))
