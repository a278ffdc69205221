"""Exposition to Prometheus: the one list of all families, in the order of the page."""

from exporter.exposition import (
    clock,
    cpu,
    disk,
    faults,
    filesystem,
    gpu,
    gpu_fields,
    gpu_identity,
    gpu_xids,
    health,
    infiniband,
    kernel_log,
    live,
    memory,
    network,
    network_stack,
    node,
    nvme,
    pcie,
    pressure,
    probes,
    processes,
    raid,
    sensors,
    traced,
    truncated,
    unusual,
    workloads,
)
from exporter.exposition.family import Family
from exporter.model.probe import names_taken
from exporter.model.snapshot import Snapshot

FAMILIES: tuple[Family, ...] = (
    *node.FAMILIES,
    *cpu.FAMILIES,
    *memory.FAMILIES,
    *pressure.FAMILIES,
    *processes.FAMILIES,
    *clock.FAMILIES,
    *disk.FAMILIES,
    *filesystem.FAMILIES,
    *nvme.FAMILIES,
    *raid.FAMILIES,
    *network.FAMILIES,
    *network_stack.FAMILIES,
    *infiniband.FAMILIES,
    *pcie.FAMILIES,
    *sensors.FAMILIES,
    *truncated.FAMILIES,
    *gpu.FAMILIES,
    *gpu_identity.FAMILIES,
    *gpu_fields.FAMILIES,
    *gpu_xids.FAMILIES,
    *gpu_identity.MIG_FAMILIES,
    *workloads.FAMILIES,
    *unusual.FAMILIES,
    *probes.FAMILIES,
    *traced.FAMILIES,
    *kernel_log.FAMILIES,
    *faults.FAMILIES,
    *health.FAMILIES,
)

LIVE_FAMILIES = live.live_families(live.Moment(boottime=0.0))
"""Those of any one moment: their names, HELP, types and labels are always the same."""

_TYPES = {row.name: row.type for row in (*FAMILIES, *LIVE_FAMILIES)}

NAMES = frozenset(_TYPES)

TAKEN = frozenset(taken for name, kind in _TYPES.items() for taken in names_taken(name, kind.value))
"""The names that external probes cannot take."""


def families_of(snapshot: Snapshot) -> tuple[Family, ...]:
    """Our families, and those that external probes have named in this snapshot."""
    return (*FAMILIES, *probes.named_by_probes(snapshot))
