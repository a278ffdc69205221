"""The one list of dashboards."""

from tools.dashboards_of_clusters import CLUSTER
from tools.dashboards_of_gpus import GPU_PAGE
from tools.dashboards_of_health import EXPORTER, FAULTS
from tools.dashboards_of_nodes import NODE_PAGE
from tools.dashboards_of_workloads import WORKLOAD

DASHBOARDS = (CLUSTER, NODE_PAGE, GPU_PAGE, WORKLOAD, FAULTS, EXPORTER)
