"""All recordings of the thirteenth batch."""

from tests.corpus.thirteenth import (
    disks,
    filesystems,
    gpu_bus,
    gpu_memory,
    gpu_work,
    heat_and_power,
    network,
    node_itself,
    quiet_cards,
    quiet_nodes,
    quiet_starts,
    several,
)

CASES = (
    *gpu_memory.CASES,
    *gpu_bus.CASES,
    *gpu_work.CASES,
    *heat_and_power.CASES,
    *network.CASES,
    *disks.CASES,
    *filesystems.CASES,
    *node_itself.CASES,
    *several.CASES,
    *quiet_cards.CASES,
    *quiet_nodes.CASES,
    *quiet_starts.CASES,
)
