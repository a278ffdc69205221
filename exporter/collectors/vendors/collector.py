"""The collector of GPUs of other vendors, which are read with those of NVIDIA as one source."""

from exporter.collector import Collector
from exporter.collectors.vendors.together import with_other_vendors

COLLECTOR = Collector("vendors", extends={"gpu": with_other_vendors})
