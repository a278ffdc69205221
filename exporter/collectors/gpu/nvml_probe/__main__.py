"""`python -m exporter.collectors.gpu.nvml_probe`: the probe as a process."""

from exporter.collectors.gpu.nvml_probe.serving import main

main()
