"""The kernel lines that become events, by subsystem."""
