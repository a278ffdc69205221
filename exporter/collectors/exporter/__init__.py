"""The exporter itself: its sources, and what its processes use."""
