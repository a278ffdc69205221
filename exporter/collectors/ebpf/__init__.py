"""Calls of other processes, counted in the kernel by bpftrace.

Libraries are found in the memory maps of processes; bpftrace attaches to the file, so that every
process that maps it is counted, also in containers. Docs: docs/ebpf.md.
"""
