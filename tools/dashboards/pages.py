"""The one list of dashboards."""

from tools.dashboards.clusters import CLUSTER
from tools.dashboards.gpus import GPU_PAGE
from tools.dashboards.health import EXPORTER, FAULTS
from tools.dashboards.nodes import NODE_PAGE
from tools.dashboards.workloads import WORKLOAD

DASHBOARDS = (CLUSTER, NODE_PAGE, GPU_PAGE, WORKLOAD, FAULTS, EXPORTER)
