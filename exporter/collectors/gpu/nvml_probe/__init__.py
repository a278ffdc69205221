"""The NVML probe: reads every GPU in one pass and prints it as one JSON line.

Runs as its own process (`python -m exporter.collectors.gpu.nvml_probe`), because NVML calls may
hang, crash, or stay broken after a driver upgrade until the process ends.
Calls: https://docs.nvidia.com/deploy/nvml-api/
"""
