"""Exposition to Prometheus: metric families as rows, and the page rendered from a snapshot."""
