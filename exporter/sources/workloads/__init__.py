"""Which process, container, pod and job uses which GPU."""
