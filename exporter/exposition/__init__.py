"""How a snapshot is said to Prometheus: the one list of all families, in the order of the page."""

from exporter.exposition import (
    cpu,
    disk,
    filesystem,
    gpu,
    health,
    live,
    memory,
    network,
    node,
    pressure,
    workloads,
)
from exporter.exposition.family import Family

FAMILIES: tuple[Family, ...] = (
    *node.FAMILIES,
    *cpu.FAMILIES,
    *memory.FAMILIES,
    *pressure.FAMILIES,
    *disk.FAMILIES,
    *filesystem.FAMILIES,
    *network.FAMILIES,
    *gpu.FAMILIES,
    *workloads.FAMILIES,
    *health.FAMILIES,
)

LIVE_FAMILIES = live.LIVE_FAMILIES
