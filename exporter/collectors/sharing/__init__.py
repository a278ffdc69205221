"""GPU sharing: MPS, HAMi, time slicing, schedulers."""
