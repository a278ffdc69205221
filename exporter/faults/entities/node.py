"""The node as an entity: all readings about the whole node, by the names of their families."""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from exporter.faults.entities.kind import (
    FieldsOf,
    Getter,
    Kind,
    getters_of,
    labels_of,
    names_of,
    of_labels,
    prefixed,
)
from exporter.faults.values import Entity, FieldType, Type, Value
from exporter.model.clock import Clock
from exporter.model.disk import Disks
from exporter.model.gpu import Gpus
from exporter.model.kernel_log import KernelLog
from exporter.model.memory_errors import MemoryErrors
from exporter.model.network import Network, NetworkStack
from exporter.model.node import Cpu, CpuHealth, Host, Memory, Paging
from exporter.model.our_processes import OurProcesses
from exporter.model.pci import pci_address
from exporter.model.pcie import VIRTUAL_ADAPTER_DRIVERS, Pcie
from exporter.model.pressure import Pressures
from exporter.model.process_counts import ProcessCounts
from exporter.model.snapshot import Outcome, Snapshot, SourceReport
from exporter.model.workload import Workloads

GRAPHICS_DRIVERS = frozenset({"amdgpu", "i915", "radeon", "xe"})
"""Drivers of GPUs that need not be accelerators: those count that are read."""

SILENT = ("hung", "crashes")
"""A GPU that does not answer for one of these reasons is there: `gpu_hung` is about it."""

READINGS: tuple[tuple[str, type], ...] = (
    ("", Host),
    ("cpu_", Cpu),
    ("memory_", Memory),
    ("memory_", Paging),
    ("cpu_", CpuHealth),
    ("kernel_log_", KernelLog),
    ("", ProcessCounts),
    ("", NetworkStack),
    ("clock_", Clock),
    ("workload_", Workloads),
    ("exporter_", OurProcesses),
)
"""What is put in front of the fields of each reading."""


def _of(kind: type, say: Callable[[Any], Value]) -> Getter:
    """Return what is said of the reading of this class; nothing where it was not read."""

    def value_of(snapshot: object) -> Value:
        reading = snapshot.reading(kind) if isinstance(snapshot, Snapshot) else None
        return None if reading is None else say(reading)

    return value_of


def _on_bus(kind: str) -> Getter:
    """Count the devices of a kind: also those that are given to a virtual machine are there.

    Adapters that a hypervisor attaches are not counted: they come and go on request.
    """

    def count(pcie: Pcie) -> Value:
        devices = (device for device in pcie.devices if device.kind == kind)
        return sum(device.driver not in VIRTUAL_ADAPTER_DRIVERS for device in devices)

    return _of(Pcie, count)


def _passed_through_gpus(pcie: Pcie) -> Value:
    return sum(device.kind == "gpu" and device.is_passed_through for device in pcie.devices)


def _gpus_on_bus(snapshot: object) -> Value:
    """Count the GPUs that should answer; graphics of a processor that nobody reads are none."""
    if not isinstance(snapshot, Snapshot):
        return None
    pcie, gpus = snapshot.reading(Pcie), snapshot.reading(Gpus)
    if pcie is None:
        return None
    known = {pci_address(state.gpu.pci_bus_id) for state in (gpus.states if gpus else ())}
    return sum(
        device.kind == "gpu"
        and not device.is_passed_through
        and (device.driver not in GRAPHICS_DRIVERS or device.device in known)
        for device in pcie.devices
    )


def _disks(disks: Disks) -> Value:
    return None if disks.truncated else len(disks.disks)


def _interfaces(network: Network) -> Value:
    """Count the node's own interfaces; unknown where only those of a pod can be seen."""
    is_whole = network.namespace == "host" and not network.truncated
    return len(network.interfaces) if is_whole else None


def _up_gpus(gpus: Gpus) -> Value:
    if any(state.stale and state.up for state in gpus.states):
        return None
    return sum(state.up or state.reason in SILENT for state in gpus.states)


def _pressure(resource: str, kind: str, average: str) -> Getter:
    def share(pressures: Pressures) -> Value:
        found: float | None = getattr(pressures.of(resource, kind), average, None)
        return found

    return _of(Pressures, share)


_PRESSURES: Mapping[str, Getter] = {
    f"pressure_{resource}_{kind}_{average}": _pressure(resource, kind, average)
    for resource in ("cpu", "memory", "io", "irq")
    for kind in ("some", "full")
    for average in ("avg10", "avg60", "avg300")
}

_GETTERS: Mapping[str, Getter] = {
    **_PRESSURES,
    **{
        f"{prefix}{name}": _of(kind, get)
        for prefix, kind in READINGS
        for name, get in getters_of(kind).items()
    },
    "gpu_backend": _of(Gpus, attrgetter("backend.backend")),
    "gpu_backend_reason": _of(Gpus, attrgetter("backend.reason")),
    "gpu_nvml_up": _of(Gpus, attrgetter("backend.nvml_up")),
    "gpu_backend_tried": _of(Gpus, lambda gpus: gpus.backend.tried or None),
    "gpu_releases": _of(Gpus, attrgetter("releases")),
    "gpu_release_overdue": _of(Gpus, attrgetter("release_overdue")),
    "gpu_up_count": _of(Gpus, _up_gpus),
    "gpu_pci_count": _gpus_on_bus,
    "gpu_passthrough_count": _of(Pcie, _passed_through_gpus),
    "gpu_unbound_count": _of(Pcie, lambda pcie: sum(gpu.is_unbound_gpu for gpu in pcie.devices)),
    "network_pci_count": _on_bus("network"),
    "nvme_pci_count": _on_bus("nvme"),
    "disk_count": _of(Disks, _disks),
    "network_volume_count": _of(Disks, lambda disks: sum(d.is_network_volume for d in disks.disks)),
    "memory_controllers": _of(MemoryErrors, lambda errors: len(errors.controllers)),
    "interface_count": _of(Network, _interfaces),
}

_NAMES: Mapping[str, FieldType] = {
    **dict.fromkeys(_PRESSURES, FieldType(Type.NUMBER)),
    **{
        name: found
        for prefix, kind in READINGS
        for name, found in prefixed(prefix, names_of(kind)).items()
    },
    "gpu_backend": FieldType(Type.TEXT),
    "gpu_backend_reason": FieldType(Type.TEXT),
    "gpu_nvml_up": FieldType(Type.TRUTH),
    "gpu_backend_tried": FieldType(Type.TRUTH),
    "gpu_releases": FieldType(Type.NUMBER),
    "gpu_release_overdue": FieldType(Type.TRUTH),
    "gpu_up_count": FieldType(Type.NUMBER),
    "gpu_pci_count": FieldType(Type.NUMBER),
    "gpu_passthrough_count": FieldType(Type.NUMBER),
    "gpu_unbound_count": FieldType(Type.NUMBER),
    "network_pci_count": FieldType(Type.NUMBER),
    "nvme_pci_count": FieldType(Type.NUMBER),
    "disk_count": FieldType(Type.NUMBER),
    "network_volume_count": FieldType(Type.NUMBER),
    "memory_controllers": FieldType(Type.NUMBER),
    "interface_count": FieldType(Type.NUMBER),
}


_LABELED: Mapping[str, tuple[type, str]] = {
    f"{prefix}{name}": (kind, name)
    for prefix, kind in READINGS
    for name, found in names_of(kind).items()
    if found.is_labeled
}


class _NodeFields:
    """The fields of all readings about the node, those with labels included."""

    __slots__ = ("_snapshot", "_values")

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._values = FieldsOf(snapshot, _GETTERS)

    def get(self, name: str, /) -> Value:
        """Return the value of the field, or None when it was not said."""
        field, wanted = labels_of(name)
        if not wanted:
            return self._values.get(name)
        if field not in _LABELED:
            return None
        kind, attribute = _LABELED[field]
        return of_labels(getattr(self._snapshot.reading(kind), attribute, ()), wanted)


def _node(snapshot: Snapshot) -> Iterable[Entity]:
    key = ("node", snapshot.node)
    yield Entity(key, snapshot.node, _NodeFields(snapshot), (("node", ""), key))


def _sources(snapshot: Snapshot) -> Iterable[Entity]:
    for report in snapshot.reports:
        yield Entity(("source", report.source), report.source, FieldsOf(report, _SOURCE_GETTERS))


def _is(outcome: Outcome) -> Getter:
    def value_of(report: object) -> Value:
        return isinstance(report, SourceReport) and report.outcome is outcome

    return value_of


_SOURCE_GETTERS = getters_of(SourceReport) | {
    "stuck": _is(Outcome.STUCK),
    "failed": _is(Outcome.FAILED),
    "absent": _is(Outcome.ABSENT),
}

NODE = Kind("node", "node", _NAMES, _node, Host, related={})
SOURCE = Kind(
    "source",
    "exporter",
    names_of(SourceReport)
    | {name: FieldType(Type.TRUTH) for name in ("stuck", "failed", "absent")},
    _sources,
    SourceReport,
)
