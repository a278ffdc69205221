"""GPUs: NVML, then nvidia-smi, then the cache."""
