"""What the exporter tells Kubernetes about its own node, where it is asked to."""
