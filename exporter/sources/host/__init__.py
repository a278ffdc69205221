"""The node around the GPUs: one module per kernel interface."""
