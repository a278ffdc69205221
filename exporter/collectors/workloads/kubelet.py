"""Which containers the kubelet has given GPUs to: asked over its socket, or from its checkpoint.

https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/
Fields: https://github.com/kubernetes/kubelet/blob/master/pkg/apis/podresources/v1/api.proto; in the
checkpoint the kubelet wrote device ids as one list until 1.19 and by NUMA node since.
"""

import json
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from exporter.blocking import CallBlocking
from exporter.collectors.pcie.address import is_pci_address
from exporter.collectors.workloads.kubelet_grpc import CallFailed, call, parts, texts
from exporter.model.label import clean_text
from exporter.reading.files import read_text
from exporter.reading.source import SourceFailed
from exporter.record import dataclass

T = TypeVar("T")
SOCKET = "var/lib/kubelet/pod-resources/kubelet.sock"
LIST = "/v1.PodResourcesLister/List"
ALLOCATABLE = "/v1.PodResourcesLister/GetAllocatableResources"
TIMEOUT_SECS = 0.5

POD_RESOURCES = 1
POD_NAME, POD_NAMESPACE, POD_CONTAINERS = 1, 2, 3
CONTAINER_NAME, CONTAINER_DEVICES, CONTAINER_CLAIMS = 1, 2, 5
CLAIM_RESOURCES = 4
CDI_DEVICES, DRIVER_NAME, DEVICE_NAME = 1, 2, 4
CDI_NAME = 1
RESOURCE_NAME, DEVICE_IDS = 1, 2
ALLOCATABLE_DEVICES = 1

CHECKPOINT = "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
MAX_CHECKPOINT_BYTES = 4 * 1024 * 1024
MAX_DEVICES = 4096
MAX_RESOURCES = 64

_REPLICA = re.compile(r"(?:::|__)\d+$")
_MIG_OF_OLD_DRIVERS = re.compile(r"MIG-(GPU-[0-9a-f-]+)/(\d+)/(\d+)")
_OF_CLAIM = re.compile(r"gpu-(\d{1,3})(?:-mig-[\w.-]+)?")
_CDI_OF_CLAIM = re.compile(rf"k8s\.gpu\.nvidia\.com/(?:claim|device)=(?:.*-)?({_OF_CLAIM.pattern})")
NVIDIA_DRIVER = "gpu.nvidia.com"
_NUMBERED = re.compile(r"(\d{1,3})(?::\d+)?")
_DEVICE_FILE = re.compile(r"nvidia(\d{1,3})(?:/gi\d+)?(?:/vgpu\d+)?")
"""GKE's plugin names the file in /dev, and so the minor number, not the place among the GPUs."""


@dataclass(frozen=True, slots=True)
class DeviceId:
    """A GPU by UUID, number or minor number, or a MIG instance by its UUID.

    Replicas are the same device.
    """

    uuid: str | None = None
    number: int | None = None
    minor: int | None = None


@dataclass(frozen=True, slots=True)
class Replicas:
    """How many replicas of a device a resource has: held by a container, or registered in all."""

    device: DeviceId
    resource: str
    count: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """GPUs of one container; the kubelet's checkpoint says the pod's uid, its socket the names."""

    container: str
    devices: tuple[DeviceId, ...]
    pod_uid: str | None = None
    namespace: str | None = None
    pod: str | None = None
    replicas: tuple[Replicas, ...] = ()


@dataclass(frozen=True, slots=True)
class KubeletDevices:
    """What the kubelet has given to containers, and the replicas that plugins registered."""

    allocations: tuple[Allocation, ...] = ()
    registered: tuple[Replicas, ...] = ()


def read_checkpoint(host_root: Path) -> KubeletDevices:
    """Read the devices of the checkpoint; raise SourceAbsent or SourceFailed."""
    return parse_checkpoint(read_text(host_root / CHECKPOINT, MAX_CHECKPOINT_BYTES))


def parse_checkpoint(text: str) -> KubeletDevices:
    """Parse the devices of a checkpoint of either form; raise SourceFailed."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceFailed("the kubelet's checkpoint is not JSON") from error
    data = document.get("Data") if isinstance(document, dict) else None
    if not isinstance(data, dict):
        raise SourceFailed("the kubelet's checkpoint has no Data")
    entries = data.get("PodDeviceEntries")
    result = (_allocation(entry) for entry in entries) if isinstance(entries, list) else ()
    allocations = tuple(allocation for allocation in result if allocation is not None)
    registered = data.get("RegisteredDevices")
    resources = list(registered.items())[:MAX_RESOURCES] if isinstance(registered, dict) else ()
    found = (it for name, ids in resources for it in replicas_among(name, _device_ids(ids)))
    return KubeletDevices(allocations, tuple(found))


def _allocation(entry: Any) -> Allocation | None:
    if not isinstance(entry, dict):
        return None
    uid, container = entry.get("PodUID"), entry.get("ContainerName")
    if not isinstance(uid, str) or not isinstance(container, str):
        return None
    resource, ids = str(entry.get("ResourceName")), tuple(_device_ids(entry.get("DeviceIDs")))
    devices = gpus_among(resource, ids)
    if not devices:
        return None
    replicas = replicas_among(resource, ids)
    return Allocation(clean_text(container), devices, clean_text(uid), replicas=replicas)


def _device_ids(result: Any) -> Iterator[str]:
    lists: Iterable[Any] = result.values() if isinstance(result, dict) else (result,)
    items = [item for part in lists if isinstance(part, list) for item in part[:MAX_DEVICES]]
    yield from (item for item in items if isinstance(item, str))


def gpus_among(resource: str, device_ids: Iterable[str]) -> tuple[DeviceId, ...]:
    """Choose the GPUs among the devices of one resource, each once."""
    result = (parse_device_id(resource, device_id) for device_id in device_ids)
    return tuple(dict.fromkeys(device for device in result if device is not None))


def replicas_among(resource: str, device_ids: Iterable[str]) -> tuple[Replicas, ...]:
    """Count the replicas of each GPU among the devices of one resource."""
    counts: Counter[DeviceId] = Counter()
    for device_id in device_ids:
        device = parse_device_id(resource, device_id) if _REPLICA.search(device_id) else None
        if device is not None:
            counts[device] += 1
    return tuple(Replicas(device, clean_text(resource), n) for device, n in counts.items())


def parse_device_id(resource: str, device_id: str) -> DeviceId | None:
    """Parse the device that a plugin's id names; None if the id names no GPU.

    Ids are UUIDs, UUIDs with a replica (`…::3`, nvshare's `…__3`), the MIG names of drivers before
    470, and, of resources of nvidia.com only, numbers (`0`) and device files (`nvidia0`,
    `nvidia0/gi1`); those of amd.com are PCI addresses.
    """
    plain = clean_text(_REPLICA.sub("", device_id))
    if resource.startswith("amd.com/"):
        return DeviceId(uuid=plain) if is_pci_address(plain) else None
    old_mig = _MIG_OF_OLD_DRIVERS.fullmatch(plain)
    if old_mig is not None:
        return DeviceId(uuid=old_mig[1])
    if plain.startswith(("GPU-", "MIG-")):
        return DeviceId(uuid=plain)
    if not resource.startswith("nvidia.com/"):
        return None
    file = _DEVICE_FILE.fullmatch(plain)
    if file is not None:
        return DeviceId(minor=int(file[1]))
    numbered = _NUMBERED.fullmatch(plain)
    return None if numbered is None else DeviceId(number=int(numbered[1]))


class PodResources:
    """Asks anew each time, so that a kubelet that was restarted is found again."""

    def __init__(
        self, host_root: Path, call_blocking: CallBlocking, timeout_secs: float = TIMEOUT_SECS
    ) -> None:
        self._socket = host_root / SOCKET
        self._call_blocking = call_blocking
        self._timeout_secs = timeout_secs

    async def read(self) -> KubeletDevices | None:
        """Read all devices; None where there is no socket. Raises SourceFailed.

        What plugins registered is asked for only where a container holds a replica.
        """
        if not await self._call_blocking(self._is_there):
            return None
        allocations = await self._call(LIST, parse_list)
        if not any(allocation.replicas for allocation in allocations):
            return KubeletDevices(allocations)
        try:
            registered = await self._call(ALLOCATABLE, parse_allocatable)
        except SourceFailed:
            registered = ()  # kubelets before 1.23: how many there are in all is not known
        return KubeletDevices(allocations, registered)

    def _is_there(self) -> bool:
        """Tell whether there is a socket; raise SourceFailed where only root may look for it."""
        try:
            return stat.S_ISSOCK(self._socket.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise SourceFailed(f"{self._socket} cannot be reached: {error.strerror}") from error

    async def _call(self, method: str, parse: Callable[[bytes], T]) -> T:
        try:
            answer = await call(self._socket, method, self._timeout_secs)
            return await self._call_blocking(lambda: parse(answer))
        except CallFailed as failed:
            raise SourceFailed(f"{self._socket}: {failed}") from failed
        except ValueError as error:
            raise SourceFailed(f"the kubelet's answer is garbled: {error}") from error


def parse_list(message: bytes) -> tuple[Allocation, ...]:
    """Parse the allocations of a ListPodResourcesResponse; raise ValueError when it is none."""
    return tuple(it for pod in parts(message, POD_RESOURCES) for it in _allocations(pod))


def parse_allocatable(message: bytes) -> tuple[Replicas, ...]:
    """Parse the replicas of an AllocatableResourcesResponse; raise ValueError when it is none."""
    return _replicas(parts(message, ALLOCATABLE_DEVICES))


def _allocations(pod: bytes) -> list[Allocation]:
    name, namespace = _first(pod, POD_NAME), _first(pod, POD_NAMESPACE)
    result = []
    for container in parts(pod, POD_CONTAINERS):
        given = parts(container, CONTAINER_DEVICES)
        devices = [
            device
            for part in given
            for device in gpus_among(_first(part, RESOURCE_NAME), texts(part, DEVICE_IDS))
        ]
        devices += _of_claims(container)
        if devices and name:
            held = Allocation(
                _first(container, CONTAINER_NAME),
                tuple(dict.fromkeys(devices)),
                namespace=namespace,
                pod=name,
                replicas=_replicas(given),
            )
            result.append(held)
    return result


def _of_claims(container: bytes) -> list[DeviceId]:
    """Return the GPUs that DRA allocated: by the device of the driver, else by its CDI name.

    Kubelets report claims since 1.27 with the feature KubeletPodResourcesDynamicResources, which is
    on by default since 1.34; before 1.31 they name CDI devices only. NVIDIA's driver names a GPU by
    its minor number, a MIG instance by that of its GPU.
    """
    found = []
    for claim in parts(container, CONTAINER_CLAIMS):
        for part in parts(claim, CLAIM_RESOURCES):
            named = [_OF_CLAIM.fullmatch(_first(part, DEVICE_NAME))]
            if not _first(part, DRIVER_NAME):
                cdi = (_first(device, CDI_NAME) for device in parts(part, CDI_DEVICES))
                named = [
                    _OF_CLAIM.fullmatch(it[1]) for it in map(_CDI_OF_CLAIM.fullmatch, cdi) if it
                ]
            elif _first(part, DRIVER_NAME) != NVIDIA_DRIVER:
                continue
            found += [DeviceId(minor=int(it[1])) for it in named if it]
    return found


def _replicas(given: Iterable[bytes]) -> tuple[Replicas, ...]:
    """Count the replicas in ContainerDevices, which may name a resource once for each NUMA node."""
    counts: Counter[tuple[DeviceId, str]] = Counter()
    for part in given:
        for it in replicas_among(_first(part, RESOURCE_NAME), texts(part, DEVICE_IDS)):
            counts[it.device, it.resource] += it.count
    return tuple(Replicas(device, resource, n) for (device, resource), n in counts.items())


def _first(message: bytes, number: int) -> str:
    return clean_text(next(iter(texts(message, number)), ""))
