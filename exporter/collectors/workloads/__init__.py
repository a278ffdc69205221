"""Processes on GPUs, and the containers, pods and jobs that own them."""
