"""Optional conditions and Events of the exporter's own Kubernetes node."""
