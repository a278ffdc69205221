"""The one list of all labelled recordings."""

from tests.corpus import (
    healthy_gpus,
    healthy_nodes,
    incidents_gpu_bus,
    incidents_gpu_memory,
    incidents_gpu_work,
    incidents_mixed,
    incidents_node,
    incidents_storage_network,
)

CASES = (
    *incidents_gpu_memory.CASES,
    *incidents_gpu_bus.CASES,
    *incidents_gpu_work.CASES,
    *incidents_mixed.CASES,
    *incidents_node.CASES,
    *incidents_storage_network.CASES,
    *healthy_gpus.CASES,
    *healthy_nodes.CASES,
)
