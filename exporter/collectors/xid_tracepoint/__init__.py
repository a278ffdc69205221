"""Xids by the tracepoint of the NVIDIA driver."""
