"""Memory: use, paging, NUMA nodes, errors of DIMMs."""
