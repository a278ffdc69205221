"""NVIDIA GPUs: NVML, nvidia-smi, the cache, Xids."""
