"""Pushes the metrics over OTLP; off by default, and then not imported."""
