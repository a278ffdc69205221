"""A simulated GPU node with incidents on a script: speaks as the NVML probe does.

Runs as its own process (`python -m exporter.collectors.demo`). Nothing of it is random but what the
seed decides, so that the same seed shows the same node.
"""
