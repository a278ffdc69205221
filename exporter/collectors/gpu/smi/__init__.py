"""nvidia-smi: run it, and parse its XML document."""
