"""The one list of dashboards."""

from tools.dashboards_of_gpus import GPU_PAGE, WORKLOAD
from tools.dashboards_of_health import EXPORTER, FAULTS
from tools.dashboards_of_nodes import CLUSTER, NODE_PAGE

DASHBOARDS = (CLUSTER, NODE_PAGE, GPU_PAGE, WORKLOAD, FAULTS, EXPORTER)
