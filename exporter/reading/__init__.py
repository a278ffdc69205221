"""Reads files of the kernel with limits and deadlines; the interface of sources."""
