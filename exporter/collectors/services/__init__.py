"""Services of systemd that GPUs and pods depend on, and units that failed."""
