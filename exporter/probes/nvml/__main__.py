"""`python -m exporter.probes.nvml`: the probe as a process."""

from exporter.probes.nvml.serving import main

main()
