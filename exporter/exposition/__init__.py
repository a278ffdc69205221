"""How a snapshot is said to Prometheus."""
