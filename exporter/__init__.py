"""hw-exporter: the hardware of a node, its state, its faults and their causes."""
