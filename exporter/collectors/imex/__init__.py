"""The IMEX domain: which nodes of an NVL72 rack can share GPU memory with this one."""
