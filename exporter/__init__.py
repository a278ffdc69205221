"""hw-exporter: what a node's hardware is, how it is doing, what is broken, and why."""
