"""What the command line can do beside running the exporter."""
