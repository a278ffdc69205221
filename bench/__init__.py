"""Measures the program against its budgets, beside Debian's node exporter in the same run."""
