"""What the node itself says of the node."""

from exporter.collectors.node.values import Host
from exporter.faults.entities.node import NodeFields

FIELDS = NodeFields(readings=(("", Host),))
