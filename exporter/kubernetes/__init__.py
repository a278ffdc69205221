"""Optional conditions of the exporter's own Kubernetes node."""
