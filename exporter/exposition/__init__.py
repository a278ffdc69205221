"""How a snapshot is said to Prometheus: the one list of all families, in the order of the page."""

from exporter.exposition import gpu, health, live, node
from exporter.exposition.family import Family

FAMILIES: tuple[Family, ...] = (
    *node.FAMILIES,
    *gpu.FAMILIES,
    *health.FAMILIES,
)

LIVE_FAMILIES = live.LIVE_FAMILIES
